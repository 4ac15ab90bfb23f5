r"""Valid gradients at a kink: the range of derivatives that the forward has nearby.

At a kink the derivatives on the two sides differ, and a gradient may return any value between them:
0, 0.5 or 1 for a ReLU at zero.  The one-sided derivatives of output m are

.. math:: f'_{m\pm} = \lim_{h \to 0} \frac{f_m(x \pm h e_i) - f_m(x)}{\pm h} .

Each output may choose on its own.  An example is pooling with overlapping windows: where several
inputs are largest, each window passes its gradient to one of them.  So with cotangent w, a gradient
is valid if it is between the sums of the smallest and of the largest values of
:math:`w_m f'_{m\pm}`.

Where several kinks meet, as in a layer of ReLUs whose inputs are all zero, every combination of
sides is valid.  Derivatives at random neighbouring points show some of these combinations.  Since a
few points may miss the ends of the range, it is then widened by its width on both sides.

A forward that computes in float32 gets larger steps, and the rounding error of its differences is
added to the range.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import central, resolution, typical_size, unit_direction

STEP = 1e-6  # of the one-sided differences, relative to the size of the input
COARSE_STEP = 1e-3  # the same for a forward that computes in float32
ASIDE = 10  # distance of the neighbouring points, in steps
ASIDE_STEP = {STEP: 0.01, COARSE_STEP: 0.1}  # of the differences there, in steps
NEIGHBOURS = 8  # number of neighbouring points
ROOM = 1e-3  # allowed error of these differences, relative to the size of the derivatives
JUMP = 1.5  # growth of a one-sided difference, when its step is halved, that indicates a jump


class Range(NamedTuple):
    """The valid values of one entry of a gradient at a kink, for each of R cotangents.

    Attributes
    ----------
    low : ndarray, shape (R,)
        Smallest valid value.
    high : ndarray, shape (R,)
        Largest valid value.
    sides : ndarray, shape (2, R)
        The derivatives on the left and on the right.
    """

    low: np.ndarray
    high: np.ndarray
    sides: np.ndarray


def allowed_at(problem, j, entry, rows, rng):
    """Return the range of valid gradients of one entry at a kink.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    entry : int
        Flat position in the input.
    rows : ndarray, shape (R, M)
        Cotangents.
    rng : numpy.random.Generator
        Draws the neighbouring points.

    Returns
    -------
    allowed : Range or None
        None at a jump, and where the forward is not finite.
    """
    func, x = problem.restricted(j)
    direction = unit_direction(x.shape, entry)
    size = max(abs(x.flat[entry]), typical_size(x))
    with np.errstate(all="ignore"):
        outputs = [func(x + shift * COARSE_STEP * size * direction) for shift in (0.0, -1.0, 1.0)]
        spacing = resolution(*outputs, moved=outputs[1] != outputs[2])
        step = STEP if np.all(spacing < np.finfo(np.float32).eps) else COARSE_STEP
        h = step * size
        sides = []
        for sign in (-1.0, 1.0):
            wide, narrow = (
                (func(x + sign * part * direction) - outputs[0]) / (sign * part)
                for part in (h, h / 2)
            )
            slopes = np.abs(rows @ narrow)
            if not np.all(np.isfinite(slopes)) or np.any(
                slopes > JUMP * np.abs(rows @ wide) + 1e-3 * np.max(slopes)
            ):
                return None
            sides.append(2 * narrow - wide)
        slopes = sides + [
            _slope_aside(problem, j, direction, step, h, rng) for _ in range(NEIGHBOURS)
        ]
    slopes = np.array([values for values in slopes if np.all(np.isfinite(values))])
    smallest = slopes.min(axis=0)
    largest = slopes.max(axis=0)
    positive = np.maximum(rows, 0)
    negative = np.minimum(rows, 0)
    low = positive @ smallest + negative @ largest
    high = positive @ largest + negative @ smallest
    seen = slopes @ rows.T
    rounding = np.max(np.abs(rows) @ (spacing * np.abs(outputs[0]))) / (ASIDE_STEP[step] * h)
    room = ROOM * (np.max(np.abs(seen)) + 1e-12) + rounding
    if any(len(_distinct(seen[:, row], room)) > 2 for row in range(len(rows))):
        low, high = low - (high - low), high + (high - low)
    return Range(low - room, high + room, np.array(sides) @ rows.T)


def _slope_aside(problem, j, direction, step, h, rng):
    """Return the derivatives of the outputs along a direction, at a random neighbour."""
    point = list(problem.point)
    for k in problem.wrt:
        value = np.asarray(point[k])
        distance = ASIDE * step * typical_size(value)
        point[k] = value + distance * rng.uniform(0.5, 1.0, value.shape) * rng.choice(
            [-1.0, 1.0], value.shape
        )
    func, x = problem.at(point).restricted(j)
    return central(func, x, direction, ASIDE_STEP[step] * h)


def _distinct(values, room):
    """Return values that differ from each other by more than ``room``."""
    distinct = []
    for value in np.sort(values):
        if not distinct or value - distinct[-1] > room:
            distinct.append(value)
    return distinct


def outside(problem, j, entries, rows, gradients, rng):
    """Return the entries at kinks whose gradient is outside the valid range.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    entries : sequence of int
        Flat positions at which the forward has a kink.
    rows : ndarray, shape (R, M)
        Cotangents.
    gradients : sequence of ndarray
        The gradient for each cotangent.
    rng : numpy.random.Generator
        Draws neighbouring points.

    Returns
    -------
    bad : list of (int, ndarray, Range)
        Flat position, gradient for each cotangent, and valid range.
    judged : int
        Number of examined entries; those at jumps are not counted.
    """
    bad = []
    judged = 0
    for entry in entries:
        allowed = allowed_at(problem, j, int(entry), rows, rng)
        if allowed is None:
            continue
        judged += 1
        got = np.array([gradient.ravel()[entry] for gradient in gradients], dtype=float)
        if not np.all((got >= allowed.low) & (got <= allowed.high)):
            bad.append((int(entry), got, allowed))
    return bad, judged
