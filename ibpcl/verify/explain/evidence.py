"""Measurements on a wrong gradient, taken before any hypothesis about the mistake is tried.

A hypothesis can fit by coincidence: a gradient with a single entry is always "proportional" to the
right one.  Every hypothesis must therefore explain three trials: two cotangents at the given point,
and a third cotangent at a second point nearby.
"""

from functools import cached_property

import numpy as np

from ibpcl.verify.derivative.reference import measure
from ibpcl.verify.derivative.second_point import neighbour
from ibpcl.verify.large_inputs import entries_to_look_at

# A hypothesis may miss a gradient by this multiple of the error that a right gradient may have.
SLACK = 30.0
SOME = 20  # number of entries that differences measure at the second point, about
ROWS = 300  # largest number of unit cotangents that are pulled back one by one


class Evidence:
    """Measurements on one pair whose gradient is wrong.

    A trial is a point and a cotangent.  Trials 0 and 1 are at the given point, trial 2 is at a
    second point nearby.  It is left out if no such point exists, or if the forward reads one
    triangle of a symmetric input.

    Parameters
    ----------
    problem : Problem
        The pair at the given point.
    references : dict
        The :class:`ibpcl.verify.derivative.reference.Reference` at the given point for each input,
        by its position.  Inputs that were not measured entry by entry may be missing: they are
        measured on demand.
    terms : ibpcl.verify.agreement.Terms
        Three cotangents, the relative tolerance, and the user's own expressions.

    Attributes
    ----------
    problems : list of Problem
        The pair at the given point and, where possible, at the second point.
    references : list of dict
        The measured references at each point, by position of the input.
    w : ndarray, shape (3, M)
        Three cotangents of all M outputs.
    wrong : list of int
        Positions of the inputs whose gradients are wrong;
        :func:`ibpcl.verify.explain.naming.diagnose` sets it.
    trials : list of tuple of int
        (point, cotangent) of each trial, as indices of ``problems`` and ``w``.
    """

    def __init__(self, problem, references, terms):
        self.problem = problem
        self.terms = terms
        self.w = terms.w
        self.problems = [problem]
        self.references = [dict(references)]
        near = (
            None
            if any(reference.triangle for reference in references.values())
            else neighbour(problem, terms.rng)
        )
        if near is not None:
            self.problems.append(near)
            self.references.append({})
        self._expected = {}
        self.wrong = []
        self.trials = [(0, 0), (0, 1)] + ([(1, 2)] if near is not None else [])

    def reference(self, j, point=0):
        """Return the reference derivatives of one input.

        Parameters
        ----------
        j : int
            Position of the input.
        point : int
            0 for the given point, 1 for the second point.

        Returns
        -------
        Reference
            Derivatives of all outputs by some or all entries of the input.  It is measured once.
        """
        if j not in self.references[0]:
            entries = entries_to_look_at(self.problem.shape(j), self.w.shape[1], self.terms.rng)
            self.references[0][j] = measure(
                self.problem, j, entries, self.terms.rng, self.terms.rtol
            )
        if j not in self.references[point]:
            first = self.references[0][j]
            entries = (
                first.entries
                if first.method == "complex step"
                else first.entries[:: len(first.entries) // SOME + 1]
            )
            self.references[point][j] = measure(
                self.problems[point], j, entries, self.terms.rng, self.terms.rtol, first.method
            )
        return self.references[point][j]

    @cached_property
    def gradients(self):
        """The results of the gradient function: a tuple of arrays for each trial."""
        pulled = [self.problems[point].gradients(self.w[row]) for point, row in self.trials]
        return [tuple(map(_as_float, gradients)) for gradients in pulled]

    def got(self, j, trial):
        """Return the gradient under test of one input.

        Parameters
        ----------
        j : int
            Position of the input.
        trial : int
            Number of the trial.

        Returns
        -------
        ndarray or None
            The gradient as the pair returned it, or None if the pair returned None.
        """
        return self.gradients[trial][self.problem.wrt.index(j)]

    def fits(self, j):
        """Return whether a gradient is a finite array of real numbers in the shape of its input.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        bool
        """
        got = self.got(j, 0)
        return (
            got is not None
            and got.dtype.kind == "f"
            and got.shape == self.problem.shape(j)
            and bool(np.all(np.isfinite(got)))
        )

    def expected(self, j, trial, w=None):
        """Return the true gradient of one input and its allowed error.

        Parameters
        ----------
        j : int
            Position of the input.
        trial : int
            Number of the trial.
        w : ndarray, shape (M,), optional
            Cotangent to pull back, instead of that of the trial.

        Returns
        -------
        ndarray, shape (2, *shape of the input)
            The true gradient and the absolute error that is allowed.  Entries that were not
            measured are NaN in both.
        """
        if w is None and (j, trial) in self._expected:
            return self._expected[j, trial]
        point, row = self.trials[trial]
        reference = self.reference(j, point)
        value, _, allowed = reference.gradient(self.w[row] if w is None else w)
        full = np.full((2, int(np.prod(self.problem.shape(j)))), np.nan)
        full[0, reference.entries[reference.usable]] = value[reference.usable]
        full[1, reference.entries[reference.usable]] = allowed[reference.usable]
        full = full.reshape(2, *self.problem.shape(j))
        if w is None:
            self._expected[j, trial] = full
        return full

    def off(self, j):
        """Return the entries of a gradient that are wrong at the given point.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        off : ndarray of bool, shape of the input
            True where the gradient is wrong for one of the first two cotangents.
        known : ndarray of bool, shape of the input
            True where the true gradient was measured.
        """
        known = ~np.isnan(self.expected(j, 0)[0])
        off = np.zeros(self.problem.shape(j), dtype=bool)
        for trial in (0, 1):
            value, allowed = self.expected(j, trial)
            off |= known & ~(np.abs(self.got(j, trial) - value) <= allowed)
        return off, known

    def explains(self, j, arrays):
        """Return whether arrays equal the true gradient of one input in every trial.

        Parameters
        ----------
        j : int
            Position of the input.
        arrays : list of ndarray or None
            One array for each trial.

        Returns
        -------
        bool
            False also if an array is None or of another shape.
        """
        return all(self.agrees(j, trial, array) for trial, array in enumerate(arrays))

    def agrees(self, j, trial, array):
        """Return whether an array equals the true gradient of one input in one trial.

        Parameters
        ----------
        j : int
            Position of the input.
        trial : int
            Number of the trial.
        array : ndarray or None
            The array.

        Returns
        -------
        bool
            False also if it is None, of another shape, or does not hold real numbers.
        """
        value, allowed = self.expected(j, trial)
        numeric = isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind in "fiub"
        return numeric and array.shape == value.shape and close(array, value, allowed)

    def each(self, function):
        """Return the values of a function for all trials.

        Parameters
        ----------
        function : callable
            ``function(trial)`` takes the number of a trial.

        Returns
        -------
        list
        """
        return [function(trial) for trial in range(len(self.trials))]

    def linear(self, j):
        """Return whether a gradient is linear in the cotangent, as every right gradient is.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        bool
        """
        a, b, both = (self._pulled(w, j) for w in (self.w[0], self.w[1], self.w[0] + self.w[1]))
        size = np.abs(a) + np.abs(b)
        return bool(np.all(np.abs(a + b - both) <= 1e-8 * (size + np.max(size, initial=0.0))))

    def missing_pattern(self, j):
        """Return whether the only fault is that some outputs do not reach some entries.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        bool
            True if every wrong entry of the claimed Jacobian is zero, while other entries are right
            and not zero.  For more than 300 outputs, 75 of them are sampled.
        """
        reference = self.reference(j)
        size = self.w.shape[1]
        rows = (
            range(size)
            if size <= ROWS
            else np.random.default_rng(0).choice(size, ROWS // 4, replace=False)
        )
        claimed = np.array(
            [self._pulled(np.eye(1, size, row)[0], j).ravel()[reference.entries] for row in rows]
        )
        claimed = claimed[:, reference.usable]
        right = reference.jacobian[rows][:, reference.usable]
        size = np.max(np.abs(right), initial=0.0)
        off = np.abs(claimed - right) > 1e-7 * size
        zero_there = np.all(np.abs(claimed[off]) <= 1e-13 * size)
        return bool(np.any(off) and zero_there and not np.all(off[np.abs(right) > 1e-13 * size]))

    def _pulled(self, w, j):
        """Return the gradient under test of one input for a cotangent at the given point."""
        return _as_float(self.problem.gradients(w)[self.problem.wrt.index(j)])


def together_or_alone(inputs):
    """Return groups of inputs that one mistake may explain.

    Parameters
    ----------
    inputs : list of int
        Positions of inputs.

    Returns
    -------
    list of list of int
        All inputs together, then each alone.

    Examples
    --------
    >>> together_or_alone([0, 2]), together_or_alone([1]), together_or_alone([])
    ([[0, 2], [0], [2]], [[1]], [])
    """
    return ([inputs] if len(inputs) > 1 else []) + [[j] for j in inputs]


def _as_float(gradient):
    """Return a gradient as an array, of floats if it holds real numbers; None stays None."""
    array = None if gradient is None else np.asarray(gradient)
    return array.astype(float) if array is not None and array.dtype.kind in "fiub" else array


def close(array, value, allowed):
    """Return whether an array agrees with a measured value up to the slack of a hypothesis.

    Parameters
    ----------
    array : array_like
        The gradient that a hypothesis predicts.
    value : ndarray, same shape
        The true gradient, NaN where it was not measured.
    allowed : ndarray, same shape
        The absolute error that a right gradient may have.

    Returns
    -------
    bool
        True if all measured entries agree to ``SLACK`` times ``allowed``.  False if none was
        measured.
    """
    measured = ~np.isnan(value)
    if not np.any(measured):
        return False
    gap = np.abs(np.asarray(array, dtype=float)[measured] - value[measured])
    return bool(np.all(gap <= SLACK * allowed[measured] + 1e-300))
