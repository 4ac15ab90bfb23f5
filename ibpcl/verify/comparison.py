"""Gradients of one input beside measured derivatives: which entries are wrong, and how much."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import central, reach
from ibpcl.verify.derivative.onesided import outside
from ibpcl.verify.derivative.reference import along_directions, approached, measure, sensitivity
from ibpcl.verify.reports.kinds import HINTS
from ibpcl.verify.reports.report import InputVerdict
from ibpcl.verify.reports.words import place

# Random directions for a large input.
DIRECTIONS = 5
# Entries whose failure is confirmed with plain differences, at most,
SUSPECTS = 40
# and the number of confirmed failures after which no more are examined.
CONFIRMED_FAILURES = 4
# Relative step within which a forward must not change to confirm that a derivative is zero.  It is
# larger than the spacing of float16.
FLAT_STEP = 1e-2
# If the error of the reference derivatives may exceed this share of the gradient, the verdict is
# undecided.
RESOLVED = 1e-3
MOVE = "move the inputs a little"


class Claim(NamedTuple):
    """The gradients of one input as the pair returns them, and the terms of the comparison.

    Attributes
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input in ``problem.point``.
    arrays : list of ndarray
        The gradients under test, one for each of the first rows of ``terms.w``.
    terms : ibpcl.verify.agreement.Terms
        The terms of the comparison.
    """

    problem: object
    j: int
    arrays: list
    terms: object

    @property
    def x(self):
        """Value of the input."""
        return np.asarray(self.problem.point[self.j])

    @property
    def rows(self):
        """Pairs of a cotangent and the gradient for it."""
        return list(zip(self.terms.w, self.arrays, strict=False))

    def verdict(self, kind, words="", hint="", error=float("nan"), numbers=None, witness=""):
        """Return a verdict on the input.

        Parameters
        ----------
        kind, words, hint, error, numbers, witness : object
            As for :class:`~ibpcl.verify.reports.report.InputVerdict`.

        Returns
        -------
        InputVerdict
            The verdict.
        """
        name = self.problem.names[self.j]
        return InputVerdict(name, kind, words, hint, error, numbers or {}, witness=witness)

    def outside(self, entries):
        """Compare entries at kinks with the range of valid derivatives.

        Parameters
        ----------
        entries : ndarray of int
            Flat positions at which the forward has a kink.

        Returns
        -------
        bad : list of (int, ndarray, Range)
            Entries outside their range.
        judged : int
            Number of entries that could be judged.
        """
        if not len(entries):
            return [], 0
        rows = self.terms.w[: len(self.arrays)]
        return outside(self.problem, self.j, entries, rows, self.arrays, self.terms.rng)

    def measured(self, entries):
        """Measure the reference derivatives by single entries.

        Parameters
        ----------
        entries : ndarray of int
            Flat positions.

        Returns
        -------
        Reference
            The derivatives.
        """
        return measure(self.problem, self.j, entries, self.terms.rng, self.terms.rtol)

    def along(self, mask, method="complex step", given=None):
        """Measure the reference derivatives along directions.

        Parameters
        ----------
        mask : ndarray
            Factor for random directions.
        method : str
            "complex step" or "Richardson differences".
        given : list of ndarray, optional
            Directions in place of random ones.

        Returns
        -------
        Reference
            The derivatives.
        """
        rng = self.terms.rng
        rtol = self.terms.rtol
        return along_directions(self.problem, self.j, rng, rtol, DIRECTIONS, mask, method, given)


def by_entries(claim, reference):
    """Return the verdict from the entries that were measured.

    Parameters
    ----------
    claim : Claim
        The gradients of the input.
    reference : Reference
        The derivatives by these entries.

    Returns
    -------
    InputVerdict
        The verdict.
    """
    shape = claim.x.shape
    entries = reference.entries
    usable = reference.usable
    seen = compare(claim, reference, claim.rows)
    coarse = float(np.max(seen.allowed[usable], initial=0.0))
    error = float(np.max(seen.errors[usable], initial=0.0))
    if not np.all(np.isfinite([g.ravel()[entries[usable]] for g in claim.arrays])):
        error = float("inf")
    bad, judged = claim.outside(entries[~usable])
    sharp = int((~usable).sum())
    numbers = {
        "entries": claim.x.size,
        "compared": int(usable.sum()) + judged,
        "wrong": int(seen.off.sum()) + len(bad),
        "kinks": sharp,
        "skipped": sharp - judged,
        "rtol": max(reference.rtol, coarse),
        "agreement": reference.agreement,
    }
    verdict = claim.verdict("ok", "", "", error, numbers, reference.method)
    if np.any(seen.off):
        worst = int(np.argmax(np.where(seen.off, np.nan_to_num(seen.gap, nan=np.inf), -1.0)))
        numbers.update(
            worst=place(int(entries[worst]), shape),
            got=float(claim.arrays[0].ravel()[entries[worst]]),
            expected=float(reference.gradient(claim.terms.w[0])[0][worst]),
        )
        return replace(verdict, kind="wrong")
    if bad:
        return at_kink(verdict, shape, bad)
    if reference.jacobian.size and not numbers["compared"]:
        words = "the forward jumps at every entry, so nothing could be compared"
        return undecided(verdict, words, MOVE)
    refused = int(np.sum(~np.all(np.isfinite(reference.jacobian), axis=0)))
    if refused:
        words = (
            f"the forward is not finite or raises when {refused} of {len(entries)} entries are "
            "changed"
        )
        return undecided(verdict, words)
    if not reference.jacobian.size:
        verdict.words = "no entries, so nothing was compared: try other inputs"
    elif not np.any(reference.jacobian):
        verdict.words = (
            "the outputs do not depend on it here, which is a weak test: try other inputs"
        )
        verdict.weak = True
    return unless_coarse(verdict, coarse, claim.terms.rtol, "the reference derivatives are")


def at_kink(verdict, shape, bad, words=""):
    """Return the verdict on an input whose gradient is outside the valid range at a kink.

    Parameters
    ----------
    verdict : InputVerdict
        The verdict on the other entries.
    shape : tuple of int
        Shape of the input.
    bad : list of (int, ndarray, Range)
        Entries outside their range; see :func:`ibpcl.verify.derivative.onesided.outside`.
    words : str
        Beginning of the sentence.

    Returns
    -------
    InputVerdict
        Its kind is "kink", or "non_finite" if the gradient is NaN or infinite.
    """
    entry, got, allowed = bad[0]
    row = int(np.argmax(np.maximum(allowed.low - got, got - allowed.high)))
    left, right = allowed.sides[:, row]
    words += (
        f"wrong at a kink, at {place(entry, shape)}: {got[row]:.4g} is not between the "
        f"derivatives on both sides, {left:.4g} and {right:.4g}"
    )
    kind = "kink" if np.all(np.isfinite(got)) else "non_finite"
    return replace(verdict, kind=kind, words=words, hint=HINTS[kind])


def undecided(verdict, words, hint=HINTS["undecided"]):
    """Return a verdict as undecided.

    Parameters
    ----------
    verdict : InputVerdict
        The verdict so far.
    words : str
        Why it is undecided.
    hint : str
        Advice.

    Returns
    -------
    InputVerdict
        The verdict.
    """
    return replace(verdict, kind="undecided", words=words, hint=hint)


def unless_coarse(verdict, coarse, rtol, references):
    """Return a verdict, or "undecided" if its references are too coarse to see an error.

    Parameters
    ----------
    verdict : InputVerdict
        The verdict so far.
    coarse : float
        Relative error that the references cannot see.
    rtol : float or None
        Relative tolerance of the check.
    references : str
        Beginning of the sentence.

    Returns
    -------
    InputVerdict
        The verdict.
    """
    if coarse <= max(RESOLVED, 2 * (rtol or 0.0)):
        return verdict
    words = (
        f"{references} only good to {coarse:.0e} here: the forward is noisy, ill-conditioned, "
        "jumps near by, or computes in float32"
    )
    return undecided(verdict, words)


class Comparison(NamedTuple):
    """Gradients beside n measured derivatives.

    Attributes
    ----------
    off : ndarray of bool, shape (n,)
        Whether a gradient is wrong there.
    errors : ndarray, shape (n,)
        Relative error, the largest of all cotangents.
    allowed : ndarray, shape (n,)
        Relative error that is allowed, the largest of all cotangents.
    gap : ndarray, shape (n,)
        Absolute difference for the first cotangent.
    """

    off: np.ndarray
    errors: np.ndarray
    allowed: np.ndarray
    gap: np.ndarray


def compare(claim, seen, rows, spread=1.0):
    """Compare gradients with measured derivatives.

    Parameters
    ----------
    claim : Claim
        The input.
    seen : Reference
        The derivatives.
    rows : sequence of (ndarray, ndarray)
        Pairs of a cotangent and a gradient.
    spread : float
        Size of a direction.

    Returns
    -------
    Comparison
        The differences.
    """
    off = False
    errors = 0.0
    coarse = 0.0
    gaps = []
    for row, array in rows:
        got, value, scale, allowed = seen.compare(row, array)
        gap = np.abs(got - value)
        floor = spread * _vanishing(claim, row, scale / spread)
        fails = ~(gap <= allowed + floor)
        vague = np.zeros(len(gap))
        if seen.method != "complex step":
            failures = 0
            for n in np.flatnonzero(fails & seen.usable)[:SUSPECTS]:
                if failures == CONFIRMED_FAILURES:
                    break
                if _met(claim, seen.direction(n, claim.x.shape), row, got[n], gap[n]):
                    # the extrapolated derivative was wrong, not the gradient
                    fails[n] = False
                    vague[n] = RESOLVED
                failures += fails[n]
        size = scale + floor / seen.rtol
        largest = np.max(size, initial=0.0)
        off = off | fails
        gaps.append(gap)
        errors = np.maximum(errors, gap / np.where(size > 0, size, np.where(gap > 0, gap, 1.0)))
        coarse = np.maximum(np.maximum(coarse, vague), allowed / largest if largest > 0 else 0.0)
    return Comparison(off & seen.usable, errors, coarse, gaps[0])


def _met(claim, direction, row, got, gap):
    """Return whether plain differences come close to a gradient along a direction."""
    func, x = claim.problem.restricted(claim.j)
    size = reach(x, direction)

    def along(value):
        return row @ func(value)

    if got == 0:
        # a forward that rounds does not change with small steps
        return central(along, x, direction, FLAT_STEP * size) == 0
    return approached(along, x, direction, size, got, min(RESOLVED * abs(got), 0.1 * gap))


def _vanishing(claim, row, scale):
    """Return the absolute error allowed if the forward depends on the input only by rounding."""
    floor = 1e-12 * np.abs(row) @ sensitivity(claim.problem, claim.j)
    return floor if np.max(scale, initial=0.0) <= floor else 0.0
