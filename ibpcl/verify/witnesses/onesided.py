r"""Valid gradients at a kink: the range of derivatives that the forward has nearby.

At a kink the derivatives on the two sides differ, and a gradient may return any value between them:
0, 0.5 or 1 for a ReLU at zero.  With :math:`\varphi = w^\top f`, the one-sided derivatives are

.. math:: \varphi'_\pm = \lim_{h \to 0} \frac{\varphi(x \pm h e_i) - \varphi(x)}{\pm h} .

Where several kinks meet, as in a layer of ReLUs whose inputs are all zero, every combination of
sides is valid.  Derivatives at random neighbouring points show some of these combinations.  Since a
few points may miss the ends of the range, it is then widened by its width on both sides.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.witnesses.differences import unit_direction

STEP = 1e-6  # of the one-sided differences, relative to the size of the input
ASIDE = 1e-5  # distance of the neighbouring points, relative to the size of the input
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
    x = np.asarray(problem.point[j])
    func = problem.function_of(j)
    direction = unit_direction(x.shape, entry)
    size = np.sqrt(np.mean(x**2)) if x.size else 0.0
    h = STEP * max(abs(x.flat[entry]), size or 1.0)
    with np.errstate(all="ignore"):
        middle = rows @ func(x)
        sides = []
        for sign in (-1.0, 1.0):
            wide, narrow = (
                (rows @ func(x + sign * step * direction) - middle) / (sign * step)
                for step in (h, h / 2)
            )
            if not np.all(np.isfinite(narrow)) or np.any(
                np.abs(narrow) > JUMP * np.abs(wide) + 1e-3 * np.max(np.abs(narrow))
            ):
                return None
            sides.append(2 * narrow - wide)
        seen = sides + [
            _slope_aside(problem, j, direction, rows, h, rng) for _ in range(NEIGHBOURS)
        ]
    seen = np.array([values for values in seen if np.all(np.isfinite(values))])
    low = seen.min(axis=0)
    high = seen.max(axis=0)
    room = ROOM * (np.max(np.abs(seen)) + 1e-12)
    if any(len(_distinct(seen[:, row], room)) > 2 for row in range(len(rows))):
        low, high = low - (high - low), high + (high - low)
    return Range(low - room, high + room, np.array(sides))


def _slope_aside(problem, j, direction, rows, h, rng):
    """Return the derivative along a direction at a random neighbour of the point."""
    point = list(problem.point)
    for k in problem.wrt:
        value = np.asarray(point[k])
        size = np.sqrt(np.mean(value**2)) if value.size else 0.0
        point[k] = value + ASIDE * (size or 1.0) * rng.uniform(0.5, 1.0, value.shape) * rng.choice(
            [-1.0, 1.0], value.shape
        )
    func = problem.at(point).function_of(j)
    x = np.asarray(point[j])
    step = 0.01 * h
    return (rows @ func(x + step * direction) - rows @ func(x - step * direction)) / (2 * step)


def _distinct(values, room):
    """Return values that differ from each other by more than ``room``."""
    distinct = []
    for value in np.sort(values):
        if not distinct or value - distinct[-1] > room:
            distinct.append(value)
    return distinct


def outside(problem, j, entries, rows, gradients, rng, limit=None):
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
    limit : int, optional
        Number of entries to examine, at most.

    Returns
    -------
    bad : list of (int, ndarray, Range)
        Flat position, gradient for each cotangent, and valid range.
    judged : int
        Number of examined entries; those at jumps are not counted.
    """
    bad = []
    judged = 0
    for entry in entries[:limit]:
        allowed = allowed_at(problem, j, int(entry), rows, rng)
        if allowed is None:
            continue
        judged += 1
        got = np.array([gradient.ravel()[entry] for gradient in gradients], dtype=float)
        if not np.all((got >= allowed.low) & (got <= allowed.high)):
            bad.append((int(entry), got, allowed))
    return bad, judged
