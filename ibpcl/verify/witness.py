r"""The true gradient at a point, from two witnesses that must agree.

For input ``j`` the Jacobian :math:`J_{ki} = \partial f_k / \partial x_i` is measured column by column with the
complex step where the forward allows it, and confirmed by Richardson differences along random directions.  A
disagreement is never the gradient's fault: it means a kink at this point, or a forward that loses the imaginary
part (``np.abs`` does) or refuses complex numbers, and then the differences take over.

Tolerances are relative to :math:`s_i = \sum_k |w_k J_{ki}|`, the size of what is added up in entry ``i`` of the
gradient :math:`w^\top J`: an entry that is small because large numbers cancel may be off by a rounding error of
those large numbers.
"""

import sys
from typing import NamedTuple

import numpy as np

from ibpcl.verify.differences import (
    PLAIN_STEPS,
    central,
    complex_step,
    first_step,
    forward_noise,
    kink_gap,
    random_direction,
    richardson,
)

COMPLEX_RTOL = 1e-9         # seven digits above rounding: leaves room for long sums, none for a wrong formula
DIFFERENCE_RTOL = 1e-7      # to which comes ten times the differences' own error estimate
CONFIRMED = 1e-7            # to which differences are carried where they only confirm the complex step
NORMWISE = 1e-4             # an entry's scale is at least this share of the largest one
VAGUE = 1e-3                # differences whose error is above this share of the scale prove nothing: noise, or a jump


class Truth(NamedTuple):
    """Columns of a Jacobian and what is known about their quality.

    Attributes
    ----------
    jacobian, error : ndarray, shape (M, n)
        M outputs, n entries of the input; error is the absolute error estimate.
    entries : ndarray of int, shape (n,)
        Flat positions in the input.
    usable : ndarray of bool, shape (n,)
        False where the forward has a kink.
    method : str
        ``"complex step"`` or ``"Richardson differences"``.
    rtol : float
        Relative tolerance that the witness and the conditioning of the forward allow.
    agreement : float
        Largest relative disagreement of the two witnesses; NaN if there was one only.
    notes : tuple of str
        What is to be said about the forward.
    """

    jacobian: np.ndarray
    error: np.ndarray
    entries: np.ndarray
    usable: np.ndarray
    method: str
    rtol: float
    agreement: float
    notes: tuple

    def gradient(self, w):
        """Pull ``w`` back: the true gradient at ``entries``, its scale, and the error that is allowed."""
        value, scale = w @ self.jacobian, np.abs(w) @ np.abs(self.jacobian)
        scale = scale + NORMWISE * np.max(scale[self.usable], initial=0.0)
        return value, scale, self.rtol * scale + 10 * (np.abs(w) @ self.error)


def unit_direction(shape, entry):
    """Return the array of zeros with a one at flat position ``entry``."""
    direction = np.zeros(int(np.prod(shape)))
    direction[entry] = 1.0
    return direction.reshape(shape)


def refusals():
    """Return the exceptions by which a forward says that it does not take complex numbers."""
    compiled = getattr(sys.modules.get("numba"), "TypingError", None)      # a compiled forward, if there is one
    return tuple(filter(None, (TypeError, ValueError, NotImplementedError, compiled)))


def columns(problem, j, entries, method):
    """Measure Jacobian columns of input ``j``: (values, errors), each of shape (M, n)."""
    func, x = problem.function_of(j), np.asarray(problem.point[j])
    size = problem.vector().size
    values, errors = np.zeros((size, len(entries))), np.zeros((size, len(entries)))
    noise = None
    if method != "complex step" and len(entries):
        dense = forward_noise(func, x, np.resize([1.0, -0.7, 0.6, -0.9], x.shape))
        if np.all(dense <= 1e-12 * np.abs(func(x))):    # else along each entry, so that no kink passes for noise
            noise = dense
    for column, entry in enumerate(entries):
        direction = unit_direction(x.shape, entry)
        if method == "complex step":
            values[:, column] = complex_step(func, x, direction)
        else:
            values[:, column], errors[:, column], _ = richardson(func, x, direction, noise=noise)
            own = 0.05 * abs(x.flat[entry])             # beside larger entries the first step may be far too long
            if 0 < own < 0.1 * first_step(x, direction):
                again = richardson(func, x, direction, h=own, noise=noise)
                with np.errstate(invalid="ignore"):
                    better = ~(errors[:, column] <= again.error)
                values[better, column], errors[better, column] = again.value[better], again.error[better]
    return values, errors


def measure(problem, j, entries, rng, rtol=None):
    """Measure input ``j`` at flat positions ``entries`` with two witnesses and return the :class:`Truth`."""
    entries = np.asarray(entries, dtype=int)
    everything = np.ones(len(entries), dtype=bool)
    if len(entries) == 0:
        empty = np.zeros((problem.vector().size, 0))
        return Truth(empty, empty, entries, everything, "complex step", COMPLEX_RTOL, np.nan, ())
    name, notes, jacobian = problem.names[j], [], None
    try:
        jacobian, error = columns(problem, j, entries, "complex step")
    except refusals() as refusal:
        notes.append(f"forward is not complex-safe: it raises {type(refusal).__name__} for a complex {name}")
    if jacobian is not None:
        agreement, agrees = _confirm(problem, j, entries, jacobian, rng)
        if agrees:
            allowed = max(rtol or COMPLEX_RTOL, conditioning(problem, j, rng))
            return Truth(jacobian, error, entries, everything, "complex step", allowed, agreement, ())
    values, errors = columns(problem, j, entries, "Richardson differences")
    usable = ~kinks(problem, j, entries)
    allowed = rtol or DIFFERENCE_RTOL
    if jacobian is not None:
        clean = np.isfinite(errors) & usable[None, :]
        apart = np.abs(values - jacobian) > 20 * errors + 1e-6 * (np.abs(values) + np.abs(jacobian))
        apart &= ~_met(problem, j, entries, jacobian, np.any(apart & clean, axis=0))
        if not np.any(apart & clean) and np.all(np.isfinite(jacobian)):
            allowed = max(rtol or COMPLEX_RTOL, conditioning(problem, j, rng))
            size = np.abs(values) + NORMWISE * np.max(np.abs(values), initial=0.0)
            agreement = float(np.max((np.abs(values - jacobian) / np.where(size > 0, size, 1.0))[clean], initial=0.0))
            vague = np.max(np.where(clean, errors, 0.0), axis=0) > VAGUE * np.max(size, axis=0) + np.max(
                blurred(problem, j))
            if np.any(vague):
                agreement = np.nan
                notes.append(f"the complex step in {name} is not confirmed: differences are too coarse, because the "
                             "forward is noisy or jumps near by")
            return Truth(jacobian, np.zeros_like(jacobian), entries, usable, "complex step", allowed, agreement,
                         tuple(notes))
        notes.append(f"forward is not complex-safe in {name}: the complex step and real differences disagree, "
                     "as they do when np.abs or a cast drops the imaginary part")
    return Truth(values, np.where(np.isfinite(errors), errors, 0.0), entries, usable & np.all(
        np.isfinite(values), axis=0), "Richardson differences", allowed, np.nan, tuple(notes))


def _met(problem, j, entries, jacobian, suspect):
    """Return where plain differences with small relative steps come to the complex step (to a thousandth).

    Near a pole, or in an ill-conditioned forward, extrapolated differences may look calm and be wrong.
    """
    func, x, met = problem.function_of(j), np.asarray(problem.point[j]), np.zeros(jacobian.shape, dtype=bool)
    for column in np.flatnonzero(suspect):
        direction = unit_direction(x.shape, entries[column])
        size = abs(x.flat[entries[column]]) or first_step(x, direction)
        for step in PLAIN_STEPS:
            gap = np.abs(central(func, x, direction, step * size) - jacobian[:, column])
            met[:, column] |= (gap <= 1e-3 * np.abs(jacobian[:, column])) & (jacobian[:, column] != 0)
    return met


def _confirm(problem, j, entries, jacobian, rng, count=3):
    """Compare the complex step with Richardson differences along random directions: (disagreement, agree)."""
    func, x = problem.function_of(j), np.asarray(problem.point[j])
    worst, agrees, blur = 0.0, bool(np.all(np.isfinite(jacobian))), blurred(problem, j)
    for _ in range(count if agrees else 0):
        direction = np.zeros(x.size)
        direction[entries] = random_direction(len(entries), rng)
        estimate = richardson(func, x, direction.reshape(x.shape), goal=CONFIRMED)
        gap = np.abs(jacobian @ direction[entries] - estimate.value)
        scale = np.abs(jacobian) @ np.abs(direction[entries])
        scale = scale + NORMWISE * np.max(scale, initial=0.0)
        agrees &= confirmed(gap, estimate.error, scale, blur)
        worst = max(worst, float(np.max(gap / np.where(scale > 0, scale + blur, 1.0), initial=0.0)))
    return worst, agrees


def kinks(problem, j, entries):
    """Return for each entry of input ``j`` whether any output has a kink there."""
    func, x, found = problem.function_of(j), np.asarray(problem.point[j]), []
    middle = problem.vector()
    for entry in entries:
        direction = unit_direction(x.shape, entry)
        found.append(_bends(func, x, direction, middle) and bool(np.any(kink_gap(func, x, direction))))
    return np.array(found, dtype=bool)


def _bends(func, x, direction, middle):
    """Return whether the slopes on both sides of a small step differ at all: without that there is no kink."""
    h = 1e-5 * first_step(x, direction) / 0.05
    with np.errstate(all="ignore"):
        ahead, behind = func(x + h * direction), func(x - h * direction)
        gap, slope = np.abs(ahead - 2 * middle + behind), np.abs(ahead - behind)
        return not np.all(gap <= 1e-3 * slope + 1e-13 * np.abs(middle))


def conditioning(problem, j, rng):
    r"""Measure how much a rounding error in the inputs moves the derivative, as a relative tolerance.

    The derivative along a random direction is taken at the point and at a neighbour whose entries differ by a few
    units in the last place; a hundred times their relative difference is allowed, a thousandth at most.
    """
    x = np.asarray(problem.point[j])
    direction = random_direction(x.shape, rng)
    neighbour = tuple(v * (1 + 4 * np.finfo(float).eps * rng.uniform(-1, 1, np.shape(v)))
                      if np.asarray(v).dtype.kind == "f" else v for v in problem.point)
    try:
        here = complex_step(problem.function_of(j), x, direction)
        there = complex_step(problem.at(neighbour).function_of(j), np.asarray(neighbour[j]), direction)
    except refusals():
        return 0.0
    scale = np.max(np.abs(here), initial=0.0)
    moved = np.max(np.abs(here - there), initial=0.0)
    return float(min(100 * moved / scale, 1e-3)) if scale > 0 and np.isfinite(moved) else 0.0


class Directional(NamedTuple):
    """Derivatives of all outputs along random directions of one input.

    Attributes
    ----------
    directions : list of ndarray
    values, errors : list of ndarray, shape (M,)
    method : str
    rtol : float
    agreement : float
        Largest relative disagreement of the two witnesses, NaN if there was one only.
    trusted : bool
        False where they disagree: then entries must be looked at one by one.
    """

    directions: list
    values: list
    errors: list
    method: str
    rtol: float
    agreement: float
    trusted: bool

    def compare(self, w, gradient):
        r"""Return :math:`|\langle g, d \rangle - w^\top D_d f|`, what is allowed, and the scale, for each direction."""
        gap, allowed, scale = [], [], []
        for direction, value, error in zip(self.directions, self.values, self.errors, strict=True):
            size = float(np.abs(w) @ np.abs(value) + np.linalg.norm(gradient * direction))
            gap.append(abs(float(np.sum(gradient * direction) - w @ value)))
            allowed.append(self.rtol * size + 10 * float(np.abs(w) @ error))
            scale.append(size)
        return np.array(gap), np.array(allowed), np.array(scale)


def along_directions(problem, j, rng, rtol=None, count=5, mask=1.0, method="complex step", given=None):
    """Differentiate along ``count`` random directions of input ``j`` (or those given); ``mask`` restricts them.

    The first of them is confirmed by differences (all of them are differences if the forward refuses complex
    numbers).
    """
    func, x = problem.function_of(j), np.asarray(problem.point[j])
    directions, values, errors, blur = [], [], [], blurred(problem, j)
    agreement, trusted, allowed = 0.0, True, max(rtol or COMPLEX_RTOL, conditioning(problem, j, rng))
    for trial in range(count):
        directions.append(given[trial] if given is not None else
                          mask * random_direction(x.shape, rng))
        try:
            value, error = slope(func, x, directions[-1], method)
        except refusals():
            method = "Richardson differences"
            value, error = slope(func, x, directions[-1], method)
        size = np.abs(value) + NORMWISE * np.max(np.abs(value), initial=0.0)
        if method == "Richardson differences":
            allowed = rtol or DIFFERENCE_RTOL
            trusted &= bool(np.sum(error) <= np.sum(VAGUE * size + blur))
        elif trial == 0:
            estimate = richardson(func, x, directions[-1], goal=CONFIRMED)
            gap = np.abs(value - estimate.value)
            trusted &= confirmed(gap, estimate.error, size, blur)
            agreement = max(agreement, float(np.max(gap / np.where(size > 0, size + blur, 1.0), initial=0.0)))
        values.append(value)
        errors.append(error)
    return Directional(directions, values, errors, method, allowed,
                       agreement if method == "complex step" else float("nan"), trusted)


def slope(func, x, direction, method, **options):
    """Differentiate along one direction by a method, differences with options: (values, errors), of shape (M,)."""
    if method == "complex step":
        value = complex_step(func, x, direction)
        return value, np.zeros(value.shape)
    return richardson(func, x, direction, goal=DIFFERENCE_RTOL, **options)[:2]


def confirmed(gap, error, size, blur):
    """Return whether differences that leave ``gap`` confirm the complex step: a vague estimate confirms nothing."""
    return bool(np.all((gap <= 20 * error + 1e-7 * size) & (error <= VAGUE * size + blur)))


def blurred(problem, j):
    """Return for each output the error that rounding alone may leave in differences, however small the derivative."""
    return 1e-8 * np.abs(problem.vector()) / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
