r"""All that is measured about a wrong gradient, before anybody guesses why it is wrong.

A hypothesis that fits by coincidence is the danger: a gradient with one entry is always
"proportional" to the right one.  So every hypothesis is tried against three trials: two cotangents
at the point given, and a third at a second point near by.
"""

from functools import cached_property

import numpy as np

from ibpcl.verify.diagnosis.symmetric import mirrored
from ibpcl.verify.judging import entries_to_look_at
from ibpcl.verify.witnesses.witness import measure, refusals

# a hypothesis must explain a gradient to this multiple of the error that a right one may have
SLACK = 30.0
SOME = 20  # entries that differences measure at the second point
ROWS = 300  # unit cotangents at most that are pulled back one by one


class Evidence:
    """Measurements about one pair whose gradient is wrong.

    ``w`` are three cotangents, ``truths`` what the witnesses say at the point given of each input
    that was looked at entry by entry, ``candidates`` the user's own expressions.
    """

    def __init__(self, problem, w, truths, rng, rtol=None, candidates=None):
        self.problem = problem
        self.w = w
        self.rtol = rtol
        self.rng = rng
        self.extra = candidates or {}
        self.problems = [problem]
        self.truths = [dict(truths)]
        near = None if any(truth.triangle for truth in truths.values()) else neighbour(problem, rng)
        if near is not None:
            self.problems.append(near)
            self.truths.append({})
        self._expected = {}
        self.wrong = []
        self.trials = [(0, 0), (0, 1)] + ([(1, 2)] if near is not None else [])

    def truth(self, j, p=0):
        """Return the witnesses' Jacobian of input ``j`` at point ``p``."""
        if j not in self.truths[0]:
            entries = entries_to_look_at(self.problem.shape(j), self.w.shape[1], self.rng)
            self.truths[0][j] = measure(self.problem, j, entries, self.rng, self.rtol)
        if j not in self.truths[p]:
            first = self.truths[0][j]
            some = (
                first.entries
                if first.method == "complex step"
                else first.entries[:: len(first.entries) // SOME + 1]
            )
            self.truths[p][j] = measure(
                self.problems[p], j, some, self.rng, self.rtol, first.method
            )
        return self.truths[p][j]

    @cached_property
    def gradients(self):
        """What the gradient function returned: for each trial a tuple of arrays."""
        pulled = [self.problems[p].gradients(self.w[row]) for p, row in self.trials]
        return [tuple(map(_as_float, gradients)) for gradients in pulled]

    def got(self, j, t):
        """Return the gradient under test of input ``j`` in trial ``t``."""
        return self.gradients[t][self.problem.wrt.index(j)]

    def fits(self, j):
        """Return whether the gradient of input ``j`` is a finite array of numbers of the right
        shape.
        """
        got = self.got(j, 0)
        return (
            got is not None
            and got.dtype.kind == "f"
            and got.shape == self.problem.shape(j)
            and bool(np.all(np.isfinite(got)))
        )

    def expected(self, j, t, w=None):
        """Return the true gradient of input ``j`` and the error allowed, NaN where it is not
        known.
        """
        if w is None and (j, t) in self._expected:
            return self._expected[j, t]
        p, row = self.trials[t]
        truth = self.truth(j, p)
        value, _, allowed = truth.gradient(self.w[row] if w is None else w)
        full = np.full((2, int(np.prod(self.problem.shape(j)))), np.nan)
        full[0, truth.entries[truth.usable]] = value[truth.usable]
        full[1, truth.entries[truth.usable]] = allowed[truth.usable]
        full = full.reshape(2, *self.problem.shape(j))
        if w is None:
            self._expected[j, t] = full
        return full

    def off(self, j):
        """Return where the gradient of input ``j`` is wrong at the point given, and where that is
        known.
        """
        known = ~np.isnan(self.expected(j, 0)[0])
        off = np.zeros(self.problem.shape(j), dtype=bool)
        for t in (0, 1):
            value, allowed = self.expected(j, t)
            off |= known & ~(np.abs(self.got(j, t) - value) <= allowed)
        return off, known

    def explains(self, j, arrays):
        """Return whether ``arrays``, one for each trial, equal the true gradient of input ``j``."""
        for t, array in enumerate(arrays):
            value, allowed = self.expected(j, t)
            if array is None or np.shape(array) != value.shape or not close(array, value, allowed):
                return False
        return True

    def each(self, function):
        """Return ``[function(t) for every trial t]``."""
        return [function(t) for t in range(len(self.trials))]

    def linear(self, j):
        """Return whether the gradient of input ``j`` is linear in the cotangent, as every right one
        is.
        """
        a, b, both = (self._pulled(w, j) for w in (self.w[0], self.w[1], self.w[0] + self.w[1]))
        size = np.abs(a) + np.abs(b)
        return bool(np.all(np.abs(a + b - both) <= 1e-8 * (size + np.max(size, initial=0.0))))

    def missing_pattern(self, j):
        """Return whether nothing flows back from some outputs to some entries, and all else is
        right.
        """
        truth = self.truth(j)
        size = self.w.shape[1]
        rows = (
            range(size)
            if size <= ROWS
            else np.random.default_rng(0).choice(size, ROWS // 4, replace=False)
        )
        claimed = np.array(
            [self._pulled(np.eye(1, size, row)[0], j).ravel()[truth.entries] for row in rows]
        )
        claimed = claimed[:, truth.usable]
        true = truth.jacobian[rows][:, truth.usable]
        size = np.max(np.abs(true), initial=0.0)
        off = np.abs(claimed - true) > 1e-7 * size
        zero_there = np.all(np.abs(claimed[off]) <= 1e-13 * size)
        return bool(np.any(off) and zero_there and not np.all(off[np.abs(true) > 1e-13 * size]))

    def _pulled(self, w, j):
        return _as_float(self.problem.gradients(w)[self.problem.wrt.index(j)])


def _as_float(gradient):
    """Return a gradient as an array, of floats if it holds real numbers; None stays None."""
    array = None if gradient is None else np.asarray(gradient)
    return array.astype(float) if array is not None and array.dtype.kind in "fiub" else array


def close(array, value, allowed):
    """Return whether ``array`` is within ``SLACK`` times ``allowed`` of ``value`` wherever that is
    known.
    """
    known = ~np.isnan(value)
    if not np.any(known):
        return False
    gap = np.abs(np.asarray(array, dtype=float)[known] - value[known])
    return bool(np.all(gap <= SLACK * allowed[known] + 1e-300))


def neighbour(problem, rng):
    """Return the problem at a second point near by, or None if the forward works at none.

    Inputs move by a tenth of their size, the differentiated ones first: numbers between 0 and 1
    stay there, positive ones stay positive, others get normal noise.  Masks and one-hot labels
    (zeros and ones) that are not differentiated are kept, and so are integers; symmetric matrices
    that are not differentiated stay symmetric.
    """
    outputs = problem.vector().shape
    for strength, chosen in ((0.1, None), (0.1, problem.wrt), (0.01, None), (0.01, problem.wrt)):
        near = problem.at(
            [
                _moved(value, strength, rng, j in problem.wrt)
                if chosen is None or j in chosen
                else value
                for j, value in enumerate(problem.point)
            ]
        )
        with np.errstate(all="ignore"):
            try:
                value = near.vector()
                near.gradients(np.ones(outputs))
            except (*refusals(), ArithmeticError, LookupError, AssertionError):
                continue
        if value.shape == outputs and np.all(np.isfinite(value)):
            return near
    return None


def _moved(value, strength, rng, differentiated):
    array = np.asarray(value)
    if array.dtype.kind != "f" or array.size == 0:
        return value
    if not differentiated and array.size > 1 and np.all((array == 0) | (array == 1)):
        return value
    factor = 1 + strength * rng.uniform(0.3, 1.0, array.shape) * rng.choice(
        [-1.0, 1.0], array.shape
    )
    if np.all((array > 0) & (array < 1)):
        moved = array**factor
    elif np.all(array > 0) or np.all(array < 0) or not differentiated:
        moved = array * factor
    else:
        moved = array + strength * (np.sqrt(np.mean(array**2)) or 1.0) * rng.standard_normal(
            array.shape
        )
    if (
        not differentiated
        and array.ndim == 2
        and array.shape == array.T.shape
        and np.array_equal(array, array.T)
    ):
        moved = mirrored(moved, "lower")  # a covariance stays one
    return moved if isinstance(value, np.ndarray) else moved[()]
