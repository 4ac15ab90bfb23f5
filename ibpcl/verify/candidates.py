r"""Which known expressions a missing factor or term is made of.

The matrix :math:`A` that the gradient function implements lies beside the true Jacobian :math:`J`.  Entry by entry
over the pairs (output k, input i), the quotient :math:`A / J` is a factor that is missing or extra, the difference
:math:`J - A` a term that is missing.  Both are sought among products

.. math:: c \; \varphi_1(x_1)^{\pm 1} \, \varphi_2(x_2)^{\pm 1} \, \varphi_3(x_3)^{\pm 1}

of elementary functions of the inputs, the outputs, the cached arrays and what was computed on the way, read off at
``k`` or at ``i``.  The constant must be the same at two points, so a fit is no coincidence.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from ibpcl.verify.trace import bracketed

MOST_PAIRS = 400
MOST_COLUMNS = 600
CORE = 14               # plain arrays that may be a third factor


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "{}": lambda x: x, "{}^2": lambda x: x * x, "sqrt({})": np.sqrt,
    "exp({})": np.exp, "exp(-{})": lambda x: np.exp(-x),
    "log({})": np.log, "1 - {}": lambda x: 1 - x, "1 + {}": lambda x: 1 + x, "1 - {}^2": lambda x: 1 - x * x,
    "1 + {}^2": lambda x: 1 + x * x, "sigmoid({})": _sigmoid, "sigmoid(-{})": lambda x: _sigmoid(-x),
    "tanh({})": np.tanh, "1 - tanh({})^2": lambda x: 1 - np.tanh(x) ** 2, "1 - exp({})": lambda x: -np.expm1(x),
    "1 + exp({})": lambda x: 1 + np.exp(x), "sin({})": np.sin, "cos({})": np.cos, "cosh({})": np.cosh,
    "{}^3": lambda x: x ** 3, "exp(2 {})": lambda x: np.exp(2 * x), "exp({}^2)": lambda x: np.exp(x * x),
    "log(1 - {})": lambda x: np.log(1 - x), "{} > 0": lambda x: x > 0, "{} < 0": lambda x: x < 0,
    "digamma({})": special.digamma, "trigamma({})": lambda x: special.polygamma(1, x),
    "abs({})": np.abs, "sign({})": np.sign, "2 {} - 1": lambda x: 2 * x - 1, "log(1 + exp({}))":
        lambda x: np.logaddexp(0, x),
}


class Match(NamedTuple):
    """A product that fits: how many factors, its text, and the constant before it."""

    factors: int
    words: str
    constant: float


def pool(views, extra):
    """Return the arrays that may occur: name -> list of values, one for each point.

    Parameters
    ----------
    views : list of dict
        For each point, name -> array.
    extra : dict
        The user's own candidates (arrays of the first point).
    """
    names, seen = {}, []
    for name in [*views[0], *extra]:
        arrays = [np.asarray(extra[name]) if name in extra else view.get(name) for view in views]
        if any(a is None or np.asarray(a).dtype.kind not in "fbiu" for a in arrays):
            continue
        arrays = [np.asarray(a, dtype=float) for a in arrays]
        if any(a.size == 0 or a.shape != arrays[0].shape for a in arrays):
            continue
        if not any(a.shape == arrays[0].shape and np.array_equal(a, arrays[0]) for a in seen):
            seen.append(arrays[0])
            names[name] = arrays
    return names


def placements(array, shape):
    """Yield ``array`` broadcast to ``shape`` in every way that fits: trailing, leading, or one axis anywhere."""
    if array.ndim == 0 or array.size == 1:
        yield np.broadcast_to(array.reshape(()), shape)
        return
    for before in range(len(shape) - array.ndim + 1):
        target = array.reshape((1,) * before + array.shape + (1,) * (len(shape) - array.ndim - before))
        if all(a in (1, b) for a, b in zip(target.shape, shape, strict=True)):
            yield np.broadcast_to(target, shape)


class Dictionary:
    """Columns of known values over pairs (k, i), for every point.

    Parameters
    ----------
    arrays : dict of str to list of ndarray
        From :func:`pool`.
    outputs : list of tuple
        Shapes of the outputs, in order.
    shape : tuple
        Shape of the input.
    pairs : (k, i)
        Flat positions in the vector of outputs and in the input.
    """

    def __init__(self, arrays, outputs, shape, pairs):
        k, i = pairs
        starts = np.cumsum([0] + [int(np.prod(s)) for s in outputs])
        which = np.searchsorted(starts, k, side="right") - 1
        self.names, self.columns, self.plain, self._known = [], [], [], set()
        read = [(name + suffix, places) for name, values in arrays.items()
                for suffix, places in self._vectors(values, outputs, shape, which, k - starts[which], i)]
        for name, places in read:                       # all arrays themselves, then functions of the first ones
            self._add(name, FUNCTIONS["{}"], places, True)
        for name, places in read:
            for text, function in list(FUNCTIONS.items())[1:]:
                if len(self.columns) < MOST_COLUMNS:
                    self._add(text.format(name if "({})" in text else bracketed(name)), function, places, False)
        self.matrix = [np.array([c[p] for c in self.columns]) for p in range(len(self.columns[0]))] \
            if self.columns else []

    @staticmethod
    def _vectors(values, outputs, shape, which, within, i):
        """Yield for an array its values at the pairs, for each point, in each way that it can be read off.

        Where reading off at the output k and at the input i differ, the name says which: ``[k]`` or ``[i]``.
        """
        def places(target, at):
            ways = [list(placements(value, target)) for value in values]
            return [[placed.ravel()[at] for placed in way] for way in zip(*ways, strict=True)]

        by_input = places(shape, i)
        by_output = places(outputs[which[0]], within) if len(set(which.tolist())) == 1 else []
        both = bool(by_input and by_output) and not all(
            any(all(map(np.array_equal, a, b)) for b in by_output) for a in by_input)
        for way in by_input:
            yield ("[i]" if both else ""), way
        for way in by_output:
            yield ("[k]" if both else ""), way

    def _add(self, name, function, places, plain):
        """Keep a function of values read off, if it is finite and not zero everywhere."""
        with np.errstate(all="ignore"):
            column = [np.asarray(function(place), dtype=float) for place in places]
        joined = np.concatenate(column)
        size = np.max(np.abs(joined), initial=0.0)
        if not 0 < size < 1e100:                        # also False for NaN
            return
        known = np.round(joined / size, 10).tobytes()   # up to a constant: one of several equal columns is enough
        if known not in self._known:
            self._known.add(known)
            self.names.append(name)
            self.columns.append(column)
            self.plain.append(plain)

    def match(self, target, tolerance, most=3):
        """Return the simplest product equal to ``target`` at every point up to one constant, or None.

        Parameters
        ----------
        target : list of ndarray
            Values at the pairs, for each point.
        tolerance : float
            Relative to the largest value.
        most : int
            Factors at most.
        """
        if not self.columns:
            return None
        joined = np.concatenate(self.matrix, axis=1)
        goal = np.concatenate(target)
        if goal.size < 2 or not np.all(np.isfinite(goal)):
            return None
        nonzero = goal != 0
        exact = self._fit(goal, np.ones_like(goal), tolerance)
        if exact is not None:
            return Match(0, "", exact)
        for row, name in zip(joined, self.names, strict=True):          # zeros (masks) are fine for one factor
            constant = self._fit(goal, row, tolerance)
            if constant is not None:
                return Match(1, name, constant)
        usable = [n for n in range(len(joined)) if np.all(joined[n][nonzero] != 0)]
        masks = [None] if np.all(nonzero) else [n for n in range(len(joined)) if
                                                np.array_equal(joined[n] != 0, nonzero)][:1]
        if most < 2 or not masks or nonzero.sum() < 3 or not usable:
            return None
        return self._products(joined, goal, nonzero, usable, tolerance, most)

    @staticmethod
    def _fit(goal, row, tolerance):
        norm = row @ row
        constant = (goal @ row) / norm if norm > 0 else 0.0
        gap = np.max(np.abs(goal - constant * row))
        return float(constant) if constant != 0 and gap <= tolerance * np.max(np.abs(goal)) else None

    def _products(self, joined, goal, nonzero, usable, tolerance, most):
        """Search products of two and three factors by their logarithms: distances come from a Gram matrix."""
        logs = np.log(np.abs(joined[usable][:, nonzero]))
        logs = logs - logs.mean(axis=1, keepdims=True)
        varies = np.sqrt((logs ** 2).sum(axis=1)) > 1e-12
        logs, usable = logs[varies], [n for n, v in zip(usable, varies, strict=True) if v]
        aim = np.log(np.abs(goal[nonzero]))
        aim = aim - aim.mean()
        if not usable:
            return None
        gram = logs @ logs.T
        thirds = [(None, 0)] + ([(n, s) for n in [m for m, u in enumerate(usable) if self.plain[u]][:CORE]
                                 for s in (1, -1)] if most > 2 and nonzero.sum() > 3 else [])
        for third, sign in thirds:
            rest = aim - sign * logs[third] if third is not None else aim
            along, square, diagonal = logs @ rest, rest @ rest, np.diag(gram)
            for a, b in ((1, 1), (1, -1), (-1, -1)):
                gap = square + diagonal[:, None] + diagonal[None, :] + 2 * a * b * gram \
                    - 2 * a * along[:, None] - 2 * b * along[None, :]
                bound = 1e-9 * (square + diagonal[:, None] + diagonal[None, :])
                for m, n in np.argwhere(gap <= bound)[:40]:
                    chosen = [(usable[m], a), (usable[n], b)] + ([(usable[third], sign)] if third is not None else [])
                    product = np.prod([joined[at][nonzero] ** s for at, s in chosen], axis=0)
                    constant = self._fit(goal[nonzero], product, tolerance)
                    if constant is not None:
                        return Match(len(chosen), self._text(chosen), constant)
        return None

    def _text(self, chosen):
        above = " ".join(bracketed(self.names[at]) for at, s in chosen if s > 0)
        below = " ".join(bracketed(self.names[at]) for at, s in chosen if s < 0)
        return (above or "1") + (f" / ({below})" if " " in below else f" / {below}" if below else "")
