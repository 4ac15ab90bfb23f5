r"""Reference derivatives at a point, from two numerical methods that must agree.

For input ``j``, the Jacobian :math:`J_{ki} = \partial f_k / \partial x_i` is measured column by
column with the complex step, if the forward accepts complex numbers, and confirmed by Richardson
differences along random directions.  A disagreement says nothing about the gradient under test.  It
means that the point is at a kink, or that the forward loses the imaginary part, as ``np.abs`` does.
Then the differences are used instead.

Tolerances are relative to :math:`s_i = \sum_k |w_k J_{ki}|`, the total size of the terms in entry
``i`` of the gradient :math:`w^\top J`.  If large terms cancel, the entry may be off by a rounding
error of those terms.
"""

import sys
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import (
    PLAIN_STEPS,
    central,
    complex_step,
    first_step,
    forward_noise,
    random_direction,
    richardson,
    unit_direction,
)
from ibpcl.verify.derivative.kinks import kinks
from ibpcl.verify.reports.words import Note

# Seven digits above rounding: enough for the errors of long sums, too tight for a wrong formula.
COMPLEX_RTOL = 1e-9
# Ten times the differences' own error estimate is added to it.
DIFFERENCE_RTOL = 1e-7
# Accuracy of differences that only confirm the complex step.
CONFIRMED = 1e-7
# The scale of an entry is at least this share of the largest one.
NORMWISE = 1e-4
# Differences whose error exceeds this share of the scale are useless: noise, or a jump.
VAGUE = 1e-3


class Reference(NamedTuple):
    """Measured derivatives of all M outputs by n entries of an input, or along n directions.

    Attributes
    ----------
    jacobian : ndarray, shape (M, n)
        The derivatives.
    error : ndarray, shape (M, n)
        Their absolute error.
    usable : ndarray of bool, shape (n,)
        False where the forward has a kink.
    method : str
        "complex step" or "Richardson differences".
    rtol : float
        Relative tolerance, which depends on the method and the forward's conditioning.
    agreement : float
        Largest relative disagreement of the two methods; NaN if only one was used.
    notes : tuple of Note
        Remarks on the forward.
    entries : ndarray of int or None
        Flat positions of the n entries; None for directions.
    directions : list of ndarray or None
        The n directions; None for entries.
    trusted : bool
        False if the two methods disagree along a direction.
    triangle : str
        "lower" or "upper" for a symmetric input; see :mod:`ibpcl.verify.derivative.symmetric`.
    """

    jacobian: np.ndarray
    error: np.ndarray
    usable: np.ndarray
    method: str
    rtol: float
    agreement: float
    notes: tuple = ()
    entries: np.ndarray | None = None
    directions: list | None = None
    trusted: bool = True
    triangle: str = ""

    def gradient(self, w, size=None):
        r"""Return the true gradient for a cotangent, with its scale and the allowed error.

        Parameters
        ----------
        w : ndarray, shape (M,)
            Cotangent of the outputs.
        size : array-like, shape (n,), optional
            Added to the scale.  By default, a small share of the largest scale.

        Returns
        -------
        gradient, scale, allowed : ndarray, shape (n,)
            The gradient :math:`w^\top J`, the scale :math:`|w|^\top |J|` with its lower bound, and
            the allowed absolute error.
        """
        scale = np.abs(w) @ np.abs(self.jacobian)
        scale = scale + (
            NORMWISE * np.max(scale[self.usable], initial=0.0) if size is None else size
        )
        return w @ self.jacobian, scale, self.rtol * scale + 10 * (np.abs(w) @ self.error)

    def compare(self, w, gradient):
        """Return a gradient at the measured entries or directions, and the true one.

        Parameters
        ----------
        w : ndarray, shape (M,)
            Cotangent of the outputs.
        gradient : ndarray
            Gradient under test, in the shape of the input.

        Returns
        -------
        got, expected, scale, allowed : ndarray, shape (n,)
            The gradient under test, and the three results of :meth:`gradient`.
        """
        if self.directions is None:
            return gradient.ravel()[self.entries].astype(float), *self.gradient(w)
        along = [gradient * direction for direction in self.directions]
        return np.array(list(map(np.sum, along))), *self.gradient(
            w, list(map(np.linalg.norm, along))
        )

    def direction(self, n, shape):
        """Return the direction of one measured derivative.

        Parameters
        ----------
        n : int
            Number of the derivative.
        shape : tuple of int
            Shape of the input.

        Returns
        -------
        ndarray
            A unit vector where entries were measured.
        """
        return (
            unit_direction(shape, self.entries[n])
            if self.directions is None
            else self.directions[n]
        )


def refusals():
    """Return the exceptions with which a forward rejects complex numbers."""
    # a compiled forward, if there is one
    compiled = getattr(sys.modules.get("numba"), "TypingError", None)
    return tuple(
        filter(None, (TypeError, ValueError, NotImplementedError, AssertionError, compiled))
    )


def columns(problem, j, entries, method):
    """Measure columns of the Jacobian for one input.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    entries : ndarray of int, shape (n,)
        Flat positions in the input.
    method : str
        "complex step" or "Richardson differences".

    Returns
    -------
    values, errors : ndarray, shape (M, n)
        Derivatives and their absolute errors; the complex step has error zero.

    Raises
    ------
    TypeError, ValueError, NotImplementedError
        If the forward rejects complex numbers.
    """
    func, x = problem.restricted(j)
    size = problem.value.size
    values = np.zeros((size, len(entries)))
    errors = np.zeros((size, len(entries)))
    noise = None
    if method != "complex step" and len(entries):
        dense = forward_noise(func, x, np.resize([1.0, -0.7, 0.6, -0.9], x.shape))
        # otherwise noise is measured along each entry, so that a kink does not count as noise
        if np.all(dense <= 1e-12 * np.abs(func(x))):
            noise = dense
    for column, entry in enumerate(entries):
        direction = unit_direction(x.shape, entry)
        if method == "complex step":
            values[:, column] = complex_step(func, x, direction)
        else:
            values[:, column], errors[:, column], _ = richardson(func, x, direction, noise=noise)
            # a small entry beside large ones may need a much smaller first step
            smaller = 0.05 * abs(x.flat[entry])
            if 0 < smaller < 0.1 * first_step(x, direction):
                again = richardson(func, x, direction, h=smaller, noise=noise)
                with np.errstate(invalid="ignore"):
                    better = ~(errors[:, column] <= again.error)
                values[better, column] = again.value[better]
                errors[better, column] = again.error[better]
    return values, errors


def measure(problem, j, entries, rng, rtol=None, method=None):
    """Measure the derivatives by single entries of one input.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    entries : sequence of int
        Flat positions in the input.
    rng : numpy.random.Generator
        Draws the directions along which the methods are compared.
    rtol : float, optional
        Relative tolerance.  By default, that of the method.
    method : str, optional
        "complex step" or "Richardson differences", to use this method alone.  By default, two
        methods are compared.

    Returns
    -------
    Reference
        The derivatives, with notes on a forward that does not accept complex numbers.
    """
    entries = np.asarray(entries, dtype=int)
    name = problem.names[j]
    jacobian = None
    notes = ()
    everything = np.ones(len(entries), dtype=bool)
    if len(entries) == 0:
        empty = np.zeros((problem.value.size, 0))
        return Reference(
            empty, empty, everything, "complex step", COMPLEX_RTOL, np.nan, (), entries
        )

    def by_complex_step(usable, agreement, *notes):
        direction = _spread(problem, j, entries, rng)
        slopes = jacobian @ direction.ravel()[entries]
        allowed = max(rtol or COMPLEX_RTOL, conditioning(problem, j, direction, slopes, rng))
        return Reference(
            jacobian,
            np.zeros_like(jacobian),
            usable,
            "complex step",
            allowed,
            agreement,
            notes,
            entries,
        )

    try:
        if method != "Richardson differences":
            jacobian, _ = columns(problem, j, entries, "complex step")
    except refusals() as refusal:
        notes = (
            Note(
                f"forward is not complex-safe: it raises {type(refusal).__name__} for a complex ",
                name,
            ),
        )
    if jacobian is not None:
        agreement, agrees = (
            (np.nan, bool(np.all(np.isfinite(jacobian))))
            if method == "complex step"
            else _confirm(problem, j, entries, jacobian, rng)
        )
        if agrees:
            return by_complex_step(everything, agreement)
    values, errors = columns(problem, j, entries, "Richardson differences")
    usable = ~kinks(problem, j, entries)
    if jacobian is not None:
        clean = np.isfinite(errors) & usable
        apart = np.abs(values - jacobian) > 20 * errors + 1e-6 * (np.abs(values) + np.abs(jacobian))
        apart &= ~_met(problem, j, entries, jacobian, np.any(apart & clean, axis=0))
        if not np.any(apart & clean) and np.all(np.isfinite(jacobian)):
            size = np.abs(values) + NORMWISE * np.max(np.abs(values), initial=0.0)
            vague = np.max(np.where(clean, errors, 0.0), axis=0) > VAGUE * np.max(
                size, axis=0
            ) + np.max(blurred(problem, j))
            if np.any(vague):
                return by_complex_step(
                    usable,
                    np.nan,
                    Note(
                        f"the complex step in {name} is not confirmed: differences are too coarse, "
                        "because the forward is noisy or jumps near by"
                    ),
                )
            gap = np.abs(values - jacobian) / np.where(size > 0, size, 1.0)
            return by_complex_step(usable, float(np.max(gap[clean], initial=0.0)))
        notes = (
            Note(
                "forward is not complex-safe: the complex step and real differences disagree, as "
                "they do when np.abs or a cast drops the imaginary part of ",
                name,
            ),
        )
    return Reference(
        values,
        np.where(np.isfinite(errors), errors, 0.0),
        usable & np.all(np.isfinite(values), axis=0),
        "Richardson differences",
        rtol or DIFFERENCE_RTOL,
        np.nan,
        notes,
        entries,
    )


def along_directions(
    problem, j, rng, rtol=None, count=5, mask=1.0, method="complex step", given=None
):
    """Measure derivatives along directions of one input.

    The first complex step is confirmed by differences.  If the forward rejects complex numbers, all
    derivatives are differences.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    rng : numpy.random.Generator
        Draws the directions.
    rtol : float, optional
        Relative tolerance.  By default, that of the method.
    count : int
        Number of directions.
    mask : float or ndarray
        Factor for random directions; zeros keep entries fixed.
    method : str
        "complex step" or "Richardson differences".
    given : list of ndarray, optional
        Directions to use instead of random ones.

    Returns
    -------
    Reference
        The derivatives along ``directions``.
    """
    func, x = problem.restricted(j)
    blur = blurred(problem, j)
    directions = []
    values = []
    errors = []
    agreement = np.nan
    trusted = True
    allowed = rtol or COMPLEX_RTOL
    for trial in range(count):
        direction = given[trial] if given is not None else mask * random_direction(x.shape, rng)
        try:
            value, error = slope(func, x, direction, method)
        except refusals():
            method = "Richardson differences"
            value, error = slope(func, x, direction, method)
        if method != "complex step":
            allowed = rtol or DIFFERENCE_RTOL
            agreement = np.nan
            size = np.abs(value) + NORMWISE * np.max(np.abs(value), initial=0.0)
            trusted &= bool(np.sum(error) <= np.sum(VAGUE * size + blur))
        elif trial == 0:
            allowed = max(allowed, conditioning(problem, j, direction, value, rng))
            agreement, trusted = confirmed(problem, j, direction, value, np.abs(value))
        directions.append(direction)
        values.append(value)
        errors.append(error)
    return Reference(
        np.stack(values, 1),
        np.stack(errors, 1),
        np.ones(count, dtype=bool),
        method,
        allowed,
        agreement,
        directions=directions,
        trusted=trusted,
    )


def slope(func, x, direction, method, **options):
    """Differentiate along one direction.

    Parameters
    ----------
    func : callable
        Function from an array to an array of shape (M,).
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    method : str
        "complex step" or "Richardson differences".
    **options
        Further arguments of :func:`richardson`.

    Returns
    -------
    value, error : ndarray, shape (M,)
        Derivatives and their absolute errors.
    """
    if method == "complex step":
        value = complex_step(func, x, direction)
        return value, np.zeros(value.shape)
    return richardson(func, x, direction, goal=DIFFERENCE_RTOL, **options)[:2]


def _met(problem, j, entries, jacobian, suspect):
    """Return where plain differences with small steps agree with the complex step to 1e-3."""
    func, x = problem.restricted(j)
    met = np.zeros(jacobian.shape, dtype=bool)
    for n in np.flatnonzero(suspect):
        direction = unit_direction(x.shape, entries[n])
        value = jacobian[:, n]
        size = abs(x.flat[entries[n]]) or first_step(x, direction)
        met[:, n] = approached(func, x, direction, size, value, 1e-3 * np.abs(value)) & (value != 0)
    return met


def approached(func, x, direction, size, value, room):
    """Return where plain differences with decreasing steps come close to a derivative.

    Near a pole or the edge of the domain, or in an ill-conditioned forward, extrapolated
    differences may be wrong in spite of a small error estimate.

    Parameters
    ----------
    func : callable
        Function from an array to an array.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    size : float
        Factor for the steps.
    value : ndarray
        The derivatives to approach.
    room : ndarray
        Allowed absolute difference.

    Returns
    -------
    ndarray of bool
        True where at least one step comes within ``room``.
    """
    return np.any(
        [np.abs(central(func, x, direction, step * size) - value) <= room for step in PLAIN_STEPS],
        axis=0,
    )


def _confirm(problem, j, entries, jacobian, rng, count=3):
    """Compare the complex step with Richardson differences along random directions.

    Returns the largest relative disagreement, and whether they agree.
    """
    worst = 0.0
    agrees = bool(np.all(np.isfinite(jacobian)))
    for _ in range(count if agrees else 0):
        direction = _spread(problem, j, entries, rng)
        weights = direction.ravel()[entries]
        scale = np.abs(jacobian) @ np.abs(weights)
        gap, confirms = confirmed(problem, j, direction, jacobian @ weights, scale)
        worst = max(worst, gap)
        agrees = agrees and confirms
    return worst, agrees


def _spread(problem, j, entries, rng):
    """Draw a direction that moves some entries of an input."""
    direction = np.zeros(problem.size(j))
    direction[entries] = random_direction(len(entries), rng)
    return direction.reshape(problem.shape(j))


def confirmed(problem, j, direction, value, size):
    """Compare a derivative along a direction with Richardson differences.

    A short table of differences, which ignores the noise of the forward, decides if it agrees.
    Noise moves the differences apart, so it cannot make them agree with the derivative.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    direction : ndarray
        The direction, of the shape of the input.
    value : ndarray, shape (M,)
        The derivative of each output.
    size : ndarray, shape (M,)
        Its scale, >= 0.

    Returns
    -------
    disagreement : float
        Largest relative difference.
    agrees : bool
        Whether the differences confirm the derivative.  False if they are too coarse.
    """
    func, x = problem.restricted(j)
    blur = blurred(problem, j)
    size = size + NORMWISE * np.max(size, initial=0.0)
    quick = {"h": first_step(x, direction) / 4, "levels": 3, "restarts": 1, "noise": 0.0}
    for options, errors, close in ((quick, 0, 1e-9), ({}, 20, 1e-7)):
        estimate = richardson(func, x, direction, goal=CONFIRMED, **options)
        gap = np.abs(value - estimate.value)
        known = estimate.error <= VAGUE * size + blur
        # an infinite error is not known, whatever it allows
        allowed = errors * np.where(known, estimate.error, 0.0) + close * size
        agrees = np.all((gap <= allowed) & known)
        if agrees:
            break
    return float(np.max(gap / np.where(size > 0, size + blur, 1.0), initial=0.0)), bool(agrees)


def conditioning(problem, j, direction, here, rng):
    """Return a relative tolerance for the effect of rounding errors in the inputs on a derivative.

    The derivative is computed once more at a neighbour whose entries differ by a few units in the
    last place.  The tolerance is a hundred times the relative difference, at most 1e-3.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    direction : ndarray
        The direction of the derivative, of the shape of the input.
    here : ndarray, shape (M,)
        The derivative of each output at the point, by the complex step.
    rng : numpy.random.Generator
        Draws the neighbour.

    Returns
    -------
    float
        The tolerance; 0 if the forward rejects complex numbers.
    """
    neighbour = tuple(
        v * (1 + 4 * np.finfo(float).eps * rng.uniform(-1, 1, np.shape(v)))
        if np.asarray(v).dtype.kind == "f"
        else v
        for v in problem.point
    )
    try:
        there = complex_step(*problem.at(neighbour).restricted(j), direction)
    except refusals():
        return 0.0
    scale = np.max(np.abs(here), initial=0.0)
    moved = np.max(np.abs(here - there), initial=0.0)
    return float(min(100 * moved / scale, 1e-3)) if scale > 0 and np.isfinite(moved) else 0.0


def blurred(problem, j):
    """Return the error that rounding alone may leave in differences, however small the derivative.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.

    Returns
    -------
    ndarray, shape (M,)
        Absolute error for each output.
    """
    return 1e-8 * sensitivity(problem, j)


def sensitivity(problem, j):
    """Return the derivatives of which rounding errors of the outputs are the usual error.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.

    Returns
    -------
    ndarray, shape (M,)
        Size of each output, divided by one plus the largest entry of the input.
    """
    return np.abs(problem.value) / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
