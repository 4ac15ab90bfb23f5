"""Detection of points at which a forward has no derivative: kinks and jumps."""

import numpy as np

from ibpcl.verify.derivative.differences import reach, resolution, unit_direction

# Steps relative to the size of the input, largest first.
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def kinks(problem, j, entries):
    """Return at which entries of an input the forward has a kink or a jump.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    entries : sequence of int
        Flat positions to examine.

    Returns
    -------
    ndarray of bool
        For each entry, whether any output has a kink there.
    """
    func, x = problem.restricted(j)
    has_kink = []
    middle = problem.value
    dense = np.resize([1.0, -0.7, 0.6, -0.9, 0.8], x.shape)
    if not any(_bends(func, x, np.roll(dense, n), middle, 1e-5) for n in range(2)):
        return np.zeros(len(entries), dtype=bool)
    for entry in entries:
        direction = unit_direction(x.shape, entry)
        has_kink.append(
            _bends(func, x, direction, middle) and bool(np.any(kink_gap(func, x, direction)))
        )
    return np.array(has_kink, dtype=bool)


def _bends(func, x, direction, middle, most=1e-3):
    """Return whether the slopes on both sides of a small step differ, as they do at any kink."""
    h = 0.01 * most * reach(x, direction)
    with np.errstate(all="ignore"):
        ahead = func(x + h * direction)
        behind = func(x - h * direction)
        gap = np.abs(ahead - 2 * middle + behind)
        slope = np.abs(ahead - behind)
        return not np.all(gap <= most * slope + 1e-13 * np.abs(middle))


def kink_gap(func, x, direction):
    r"""Return for each output whether ``func`` has a kink or a jump at ``x`` along ``direction``.

    The slopes on the right and on the left differ by

    .. math:: g(h) = \frac{f(x + h d) - 2 f(x) + f(x - h d)}{h}

    This gap falls with ``h`` for a smooth function, is constant at a kink, and grows like ``1 / h``
    at a jump.  The three smallest steps at which it is above the rounding error decide.

    Parameters
    ----------
    func : callable
        Function from an array to an array.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.

    Returns
    -------
    ndarray of bool
        In the shape of the output.

    Examples
    --------
    >>> [bool(kink_gap(np.abs, np.array(v), np.array(1.0))) for v in (0.0, 0.5)]
    [True, False]
    """
    scale = reach(x, direction)
    with np.errstate(all="ignore"):
        middle = np.asarray(func(x))
        gaps = []
        clear = []
        for step in STEPS:
            h = step * scale
            plus = np.asarray(func(x + h * direction))
            minus = np.asarray(func(x - h * direction))
            gaps.append((plus - 2 * middle + minus) / h)
            slope = np.abs(plus - minus) / (2 * h)
            rounding = 50 * resolution(plus, minus) * np.abs(middle) / h
            clear.append((np.abs(gaps[-1]) > rounding) & (np.abs(gaps[-1]) > 1e-3 * slope))
        verdict = np.zeros(middle.shape, dtype=bool)
        decided = np.zeros(middle.shape, dtype=bool)
        for at in range(len(STEPS) - 1, 1, -1):
            # growth of the gap per decade
            first = gaps[at - 1] / gaps[at - 2]
            second = gaps[at] / gaps[at - 1]
            stays = (first > 0.5) & (first < 2) & (second > 0.5) & (second < 2)
            jumps = (first > 5) & (first < 20) & (second > 5) & (second < 20)
            here = clear[at] & clear[at - 1] & clear[at - 2] & ~decided
            verdict = np.where(here, stays | jumps, verdict)
            decided = decided | here
    return verdict
