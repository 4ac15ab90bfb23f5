r"""Which known expressions a missing factor or term is made of.

The matrix :math:`A` that the gradient function implements lies beside the true Jacobian :math:`J`.  Entry by entry
over the pairs (output k, input i), the quotient :math:`A / J` is a factor that is missing or extra, the difference
:math:`J - A` a term that is missing.  Both are sought among products

.. math:: c \; \varphi_1(x_1)^{\pm 1} \, \varphi_2(x_2)^{\pm 1} \, \varphi_3(x_3)^{\pm 1}

of elementary functions of the inputs, the outputs, the cached arrays and what was computed on the way, read off at
``k`` or at ``i``.  The constant must be the same at two points, so a fit is no coincidence.
"""

import re
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from ibpcl.verify.elementary import FUNCTIONS, NAMED
from ibpcl.verify.labels import bracketed

MOST_PAIRS = 400
MOST_COLUMNS = 600
CORE = 14               # plain arrays that may be a third factor
MOST_WAYS = 8


class Match(NamedTuple):
    """A product that fits: how many factors, its text, the constant before it, its smallest and its largest value."""

    factors: int
    words: str
    constant: float
    smallest: float
    largest: float

    @property
    def complexity(self):
        """How many names of arrays its text has."""
        return sum(name not in NAMED for name in re.findall(r"[A-Za-z_]\w*", self.words))


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


def _sums(logs, sizes, order, by_order, rest):
    """Yield (m, n, a, b) with rows a logs[m] + b logs[n] = rest, for signs a and b, as far as rounding allows.

    ``order`` holds the rows' products with a random vector, ``by_order`` sorts it: what adds up does so there, too.
    """
    vector = np.random.default_rng(0).standard_normal(logs.shape[1])
    aim, size, ranked = rest @ vector, np.sqrt(rest @ rest), order[by_order]
    slack = 1e-6 * (size + sizes)
    for a, b in ((1, 1), (1, -1), (-1, -1)):
        wanted = (aim - a * order) / b
        low, high = np.searchsorted(ranked, wanted - slack), np.searchsorted(ranked, wanted + slack)
        for m in np.flatnonzero(high > low):
            for n in by_order[low[m]:high[m]]:
                if np.max(np.abs(a * logs[m] + b * logs[n] - rest)) <= 1e-4 * (size + sizes[m] + sizes[n]):
                    yield int(m), int(n), a, b


def _between(values, shape, output, i, k):
    """Yield an array whose axes belong partly to the input and partly to the output, as a weight's do."""
    if not shape or not output:
        return
    sizes = (*shape, *output)
    at = (*np.unravel_index(i, shape), *np.unravel_index(k, output))
    ways = product(*([axis for axis, size in enumerate(sizes) if size == n] for n in values[0].shape))
    for way in islice((way for way in ways if len(set(way)) == len(way)), MOST_WAYS):
        sides = ["i" if axis < len(shape) else "k" for axis in way]
        if len(set(sides)) == 2:
            yield f"[{', '.join(sides)}]", [value[tuple(at[axis] for axis in way)] for value in values]


def _range(values):
    return float(np.min(values)), float(np.max(values))


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
        if not by_input and not by_output and values[0].ndim > 1 and len(set(which.tolist())) == 1:
            yield from _between(values, shape, outputs[which[0]], i, within)

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

    def match(self, target, tolerance, most=3, inverse=False):
        """Return the simplest product equal to ``target`` at every point up to one constant, or None.

        Parameters
        ----------
        target : list of ndarray
            Values at the pairs, for each point.
        tolerance : float
            Relative to the largest value.
        most : int
            Factors at most.
        inverse : bool
            Whether one over a single function may be it, too.
        """
        if not self.columns:
            return None
        joined = np.concatenate(self.matrix, axis=1)
        goal = np.concatenate(target)
        if goal.size < 2 or not np.all(np.isfinite(goal)):
            return None
        nonzero = goal != 0
        exact = self._fit(goal, np.ones_like(goal), tolerance)
        first = len(target[0])
        if exact is not None:
            return Match(0, "", exact, exact, exact)
        for row, name in zip(joined, self.names, strict=True):          # zeros (masks) are fine for one factor
            constant = self._fit(goal, row, tolerance)
            if constant is not None:
                return Match(1, name, constant, *_range(constant * row[:first]))
            if inverse and np.all(row != 0):
                constant = self._fit(goal, 1 / row, tolerance)
                if constant is not None:
                    return Match(1, f"1 / {bracketed(name)}", constant, *_range(constant / row[:first]))
        usable = [n for n in range(len(joined)) if np.all(joined[n][nonzero] != 0)]
        masks = [None] if np.all(nonzero) else [n for n in range(len(joined)) if
                                                np.array_equal(joined[n] != 0, nonzero)][:1]
        if most < 2 or not masks or nonzero.sum() < 3 or not usable:
            return None
        return self._products(joined, goal, nonzero, usable, tolerance, most, first)

    @staticmethod
    def _fit(goal, row, tolerance):
        norm = row @ row
        constant = (goal @ row) / norm if norm > 0 else 0.0
        gap = np.max(np.abs(goal - constant * row))
        return float(constant) if constant != 0 and gap <= tolerance * np.max(np.abs(goal)) else None

    def _products(self, joined, goal, nonzero, usable, tolerance, most, first):
        """Search products of two and three factors by their logarithms; sums are found by sorting a projection."""
        logs = np.log(np.abs(joined[usable][:, nonzero]))
        logs = logs - logs.mean(axis=1, keepdims=True)
        sizes = np.sqrt((logs ** 2).sum(axis=1))
        logs, usable = logs[sizes > 1e-12], [n for n, size in zip(usable, sizes, strict=True) if size > 1e-12]
        aim = np.log(np.abs(goal[nonzero]))
        aim = aim - aim.mean()
        if not usable:
            return None
        sizes = sizes[sizes > 1e-12]
        order = logs @ np.random.default_rng(0).standard_normal(logs.shape[1])
        thirds = [(None, 0)] + ([(n, s) for n in [m for m, u in enumerate(usable) if self.plain[u]][:CORE]
                                 for s in (1, -1)] if most > 2 and nonzero.sum() > 3 else [])
        by_order = np.argsort(order)
        for third, sign in thirds:
            rest = aim - sign * logs[third] if third is not None else aim
            for m, n, a, b in _sums(logs, sizes, order, by_order, rest):
                chosen = [(usable[m], a), (usable[n], b)] + ([(usable[third], sign)] if third is not None else [])
                values = np.prod([joined[at][nonzero] ** s for at, s in chosen], axis=0)
                constant = self._fit(goal[nonzero], values, tolerance)
                if constant is not None:
                    return Match(len(chosen), self._text(chosen), constant,
                                 *_range(constant * values[:np.count_nonzero(nonzero[:first])]))
        return None

    def _text(self, chosen):
        above = " ".join(bracketed(self.names[at]) for at, s in chosen if s > 0)
        below = " ".join(bracketed(self.names[at]) for at, s in chosen if s < 0)
        return (above or "1") + (f" / ({below})" if " " in below else f" / {below}" if below else "")
