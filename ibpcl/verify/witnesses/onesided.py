r"""Entries at a kink: the derivative that is claimed must be one that the forward has close by.

At a kink the derivatives on the two sides differ, and any value between them may be returned (a
ReLU at zero: 0, 1, or 0.5).  With :math:`\varphi = w^\top f` they are

.. math:: \varphi'_\pm = \lim_{h \to 0} \frac{\varphi(x \pm h e_i) - \varphi(x)}{\pm h} .

Where several kinks meet, as in a layer of ReLUs whose inputs are all zero, each of them may be
taken on its own side. The derivatives at points close by show those values; the range is then
widened by its own width, because a few points need not show its ends.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.witnesses.differences import unit_direction

STEP = 1e-6  # of the one-sided differences, beside the size of the input
ASIDE = 1e-5  # how far the points close by are
NEIGHBOURS = 8
ROOM = 1e-3  # of the derivatives' size: what differences of this step may be off
JUMP = 1.5  # one-sided differences that grow like this when the step is halved: a jump


class Range(NamedTuple):
    """The values that an entry of a gradient may have at a kink, for each cotangent."""

    low: np.ndarray
    high: np.ndarray
    sides: np.ndarray  # (2, rows): the derivatives on the left and on the right


def allowed_at(problem, j, entry, rows, rng):
    """Return the :class:`Range` of an entry of input ``j``, or None at a jump or where the forward
    is not finite.

    Parameters
    ----------
    problem : Problem
    j : int
        Position of the input.
    entry : int
        Flat position in it.
    rows : ndarray, shape (R, M)
        Cotangents.
    rng : numpy.random.Generator
        Draws the points close by.
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
    """Return the derivative along a direction at a point close by, at which every differentiated
    input has moved.
    """
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
    """Return the values that are further apart than ``room`` from each other."""
    kept = []
    for value in np.sort(values):
        if not kept or value - kept[-1] > room:
            kept.append(value)
    return kept


def outside(problem, j, entries, rows, gradients, rng, limit=None):
    """Judge entries at kinks: (entries outside their range with that range, number of entries that
    were judged).

    ``gradients`` has the gradient for each row of cotangents.  Entries at a jump are not judged.
    """
    found = []
    judged = 0
    for entry in entries[:limit]:
        allowed = allowed_at(problem, j, int(entry), rows, rng)
        if allowed is None:
            continue
        judged += 1
        got = np.array([gradient.ravel()[entry] for gradient in gradients], dtype=float)
        if not np.all((got >= allowed.low) & (got <= allowed.high)):
            found.append((int(entry), got, allowed))
    return found, judged
