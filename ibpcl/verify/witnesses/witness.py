r"""The true gradient at a point, from two witnesses that must agree.

For input ``j`` the Jacobian :math:`J_{ki} = \partial f_k / \partial x_i` is measured column by
column with the complex step where the forward allows it, and confirmed by Richardson differences
along random directions.  A disagreement is never the gradient's fault: it means a kink at this
point, or a forward that loses the imaginary part (``np.abs`` does) or refuses complex numbers, and
then the differences take over.

Tolerances are relative to :math:`s_i = \sum_k |w_k J_{ki}|`, the size of what is added up in entry
``i`` of the gradient :math:`w^\top J`: an entry that is small because large numbers cancel may be
off by a rounding error of those large numbers.
"""

import sys
from typing import NamedTuple

import numpy as np

from ibpcl.verify.witnesses.differences import (
    PLAIN_STEPS,
    central,
    complex_step,
    first_step,
    forward_noise,
    random_direction,
    richardson,
    unit_direction,
)
from ibpcl.verify.witnesses.kinks import kinks

# seven digits above rounding: leaves room for long sums, none for a wrong formula
COMPLEX_RTOL = 1e-9
DIFFERENCE_RTOL = 1e-7  # to which comes ten times the differences' own error estimate
# to which differences are carried where they only confirm the complex step
CONFIRMED = 1e-7
NORMWISE = 1e-4  # an entry's scale is at least this share of the largest one
# differences whose error is above this share of the scale prove nothing: noise, or a jump
VAGUE = 1e-3


class Truth(NamedTuple):
    """Derivatives of all M outputs by n entries of an input, or along n directions, and how good
    they are.
    """

    jacobian: np.ndarray  # (M, n)
    error: np.ndarray  # (M, n), absolute
    usable: np.ndarray  # (n,), False where the forward has a kink
    method: str  # "complex step" or "Richardson differences"
    # relative tolerance that the witness and the forward's conditioning allow
    rtol: float
    # largest relative disagreement of the witnesses; NaN if there was one only
    agreement: float
    notes: tuple = ()  # on the forward
    entries: np.ndarray | None = None  # flat positions in the input
    directions: list | None = None
    trusted: bool = True  # False where the witnesses disagree along a direction
    triangle: str = ""  # "lower" or "upper": see :mod:`ibpcl.verify.diagnosis.symmetric`

    def gradient(self, w, size=None):
        """Pull ``w`` back: the true gradient, its scale, and the error that is allowed."""
        scale = np.abs(w) @ np.abs(self.jacobian)
        scale = scale + (
            NORMWISE * np.max(scale[self.usable], initial=0.0) if size is None else size
        )
        return w @ self.jacobian, scale, self.rtol * scale + 10 * (np.abs(w) @ self.error)

    def compare(self, w, gradient):
        """Return what a gradient gives, and what :meth:`gradient` returns."""
        if self.directions is None:
            return gradient.ravel()[self.entries].astype(float), *self.gradient(w)
        along = [gradient * direction for direction in self.directions]
        return np.array(list(map(np.sum, along))), *self.gradient(
            w, list(map(np.linalg.norm, along))
        )

    def direction(self, n, shape):
        """Return direction number ``n``, or that of entry number ``n``."""
        return (
            unit_direction(shape, self.entries[n])
            if self.directions is None
            else self.directions[n]
        )


def refusals():
    """Return the exceptions by which a forward says that it does not take complex numbers."""
    # a compiled forward, if there is one
    compiled = getattr(sys.modules.get("numba"), "TypingError", None)
    return tuple(filter(None, (TypeError, ValueError, NotImplementedError, compiled)))


def columns(problem, j, entries, method):
    """Measure Jacobian columns of input ``j``: (values, errors), each of shape (M, n)."""
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    size = problem.vector().size
    values = np.zeros((size, len(entries)))
    errors = np.zeros((size, len(entries)))
    noise = None
    if method != "complex step" and len(entries):
        dense = forward_noise(func, x, np.resize([1.0, -0.7, 0.6, -0.9], x.shape))
        # else along each entry, so that no kink passes for noise
        if np.all(dense <= 1e-12 * np.abs(func(x))):
            noise = dense
    for column, entry in enumerate(entries):
        direction = unit_direction(x.shape, entry)
        if method == "complex step":
            values[:, column] = complex_step(func, x, direction)
        else:
            values[:, column], errors[:, column], _ = richardson(func, x, direction, noise=noise)
            # beside larger entries the first step may be far too long
            own = 0.05 * abs(x.flat[entry])
            if 0 < own < 0.1 * first_step(x, direction):
                again = richardson(func, x, direction, h=own, noise=noise)
                with np.errstate(invalid="ignore"):
                    better = ~(errors[:, column] <= again.error)
                values[better, column] = again.value[better]
                errors[better, column] = again.error[better]
    return values, errors


def measure(problem, j, entries, rng, rtol=None, method=None):
    """Measure input ``j`` at flat positions ``entries`` and return the :class:`Truth`.

    With two witnesses, or by one method that two witnesses have shown to be right near by.
    """
    entries = np.asarray(entries, dtype=int)
    name = problem.names[j]
    jacobian = None
    notes = ()
    everything = np.ones(len(entries), dtype=bool)
    if len(entries) == 0:
        empty = np.zeros((problem.vector().size, 0))
        return Truth(empty, empty, everything, "complex step", COMPLEX_RTOL, np.nan, (), entries)

    def by_complex_step(usable, agreement, *notes):
        allowed = max(rtol or COMPLEX_RTOL, conditioning(problem, j, rng))
        return Truth(
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
            f"forward is not complex-safe: it raises {type(refusal).__name__} for a complex {name}",
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
                    f"the complex step in {name} is not confirmed: differences are "
                    "too coarse, because the forward is noisy or jumps near by",
                )
            gap = np.abs(values - jacobian) / np.where(size > 0, size, 1.0)
            return by_complex_step(usable, float(np.max(gap[clean], initial=0.0)))
        notes = (
            f"forward is not complex-safe in {name}: the complex step and real differences "
            "disagree, as they do when np.abs or a cast drops the imaginary part",
        )
    return Truth(
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
    """Differentiate along ``count`` random directions of input ``j`` (or those given); ``mask``
    restricts them.

    The first of them is confirmed by differences (all of them are differences if the forward
    refuses complex numbers).
    """
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    blur = blurred(problem, j)
    directions = []
    values = []
    errors = []
    agreement = np.nan
    trusted = True
    allowed = max(rtol or COMPLEX_RTOL, conditioning(problem, j, rng))
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
            agreement, trusted = confirmed(problem, j, direction, value, np.abs(value))
        directions.append(direction)
        values.append(value)
        errors.append(error)
    return Truth(
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
    """Differentiate along one direction by a method, differences with options: (values, errors), of
    shape (M,).
    """
    if method == "complex step":
        value = complex_step(func, x, direction)
        return value, np.zeros(value.shape)
    return richardson(func, x, direction, goal=DIFFERENCE_RTOL, **options)[:2]


def _met(problem, j, entries, jacobian, suspect):
    """Return where plain differences with small relative steps come to the complex step (to a
    thousandth).
    """
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    met = np.zeros(jacobian.shape, dtype=bool)
    for n in np.flatnonzero(suspect):
        direction = unit_direction(x.shape, entries[n])
        value = jacobian[:, n]
        size = abs(x.flat[entries[n]]) or first_step(x, direction)
        met[:, n] = approached(func, x, direction, size, value, 1e-3 * np.abs(value)) & (value != 0)
    return met


def approached(func, x, direction, size, value, room):
    """Return where plain differences with ever smaller steps come within ``room`` of a derivative.

    Near a pole or the edge of the domain, or in an ill-conditioned forward, extrapolated
    differences may look calm and be wrong.
    """
    return np.any(
        [np.abs(central(func, x, direction, step * size) - value) <= room for step in PLAIN_STEPS],
        axis=0,
    )


def _confirm(problem, j, entries, jacobian, rng, count=3):
    """Compare the complex step with Richardson differences along random directions: (disagreement,
    agree).
    """
    worst = 0.0
    agrees = bool(np.all(np.isfinite(jacobian)))
    x = np.asarray(problem.point[j])
    for _ in range(count if agrees else 0):
        direction = np.zeros(x.size)
        direction[entries] = random_direction(len(entries), rng)
        scale = np.abs(jacobian) @ np.abs(direction[entries])
        gap, confirms = confirmed(
            problem, j, direction.reshape(x.shape), jacobian @ direction[entries], scale
        )
        worst = max(worst, gap)
        agrees = agrees and confirms
    return worst, agrees


def confirmed(problem, j, direction, value, size):
    """Compare a derivative along a direction with differences: (disagreement, whether they confirm
    it).

    A vague estimate confirms nothing.
    """
    estimate = richardson(
        problem.function_of(j), np.asarray(problem.point[j]), direction, goal=CONFIRMED
    )
    gap = np.abs(value - estimate.value)
    blur = blurred(problem, j)
    size = size + NORMWISE * np.max(size, initial=0.0)
    agrees = np.all(
        (gap <= 20 * estimate.error + 1e-7 * size) & (estimate.error <= VAGUE * size + blur)
    )
    return float(np.max(gap / np.where(size > 0, size + blur, 1.0), initial=0.0)), bool(agrees)


def conditioning(problem, j, rng):
    r"""Measure how much a rounding error in the inputs moves the derivative, as a relative
    tolerance.

    The derivative along a random direction is taken at the point and at a neighbour whose entries
    differ by a few units in the last place; a hundred times their relative difference is allowed, a
    thousandth at most.
    """
    x = np.asarray(problem.point[j])
    direction = random_direction(x.shape, rng)
    neighbour = tuple(
        v * (1 + 4 * np.finfo(float).eps * rng.uniform(-1, 1, np.shape(v)))
        if np.asarray(v).dtype.kind == "f"
        else v
        for v in problem.point
    )
    try:
        here = complex_step(problem.function_of(j), x, direction)
        there = complex_step(
            problem.at(neighbour).function_of(j), np.asarray(neighbour[j]), direction
        )
    except refusals():
        return 0.0
    scale = np.max(np.abs(here), initial=0.0)
    moved = np.max(np.abs(here - there), initial=0.0)
    return float(min(100 * moved / scale, 1e-3)) if scale > 0 and np.isfinite(moved) else 0.0


def blurred(problem, j):
    """Return for each output the error that rounding alone may leave in differences, however small
    the derivative.
    """
    return 1e-8 * np.abs(problem.vector()) / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
