"""Places at which a forward has no derivative: kinks and jumps."""

import numpy as np

from ibpcl.verify.witnesses.differences import first_step, resolution, unit_direction

STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def kinks(problem, j, entries):
    """Return for each entry of input ``j`` whether any output has a kink there."""
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    found = []
    middle = problem.vector()
    dense = np.resize([1.0, -0.7, 0.6, -0.9, 0.8], x.shape)
    if not any(_bends(func, x, np.roll(dense, n), middle, 1e-5) for n in range(2)):
        return np.zeros(len(entries), dtype=bool)
    for entry in entries:
        direction = unit_direction(x.shape, entry)
        found.append(
            _bends(func, x, direction, middle) and bool(np.any(kink_gap(func, x, direction)))
        )
    return np.array(found, dtype=bool)


def _bends(func, x, direction, middle, most=1e-3):
    """Return whether the slopes on both sides of a small step differ: without that there is no
    kink.
    """
    h = 0.01 * most * first_step(x, direction) / 0.05
    with np.errstate(all="ignore"):
        ahead = func(x + h * direction)
        behind = func(x - h * direction)
        gap = np.abs(ahead - 2 * middle + behind)
        slope = np.abs(ahead - behind)
        return not np.all(gap <= most * slope + 1e-13 * np.abs(middle))


def kink_gap(func, x, direction):
    r"""Return for each output whether ``func`` has a kink (or a jump) at ``x`` along ``direction``.

    The slopes on the right and on the left differ by

    .. math:: g(h) = \frac{f(x + h d) - 2 f(x) + f(x - h d)}{h}

    which falls with ``h`` for a smooth function, stays at a kink, and grows like ``1 / h`` at a
    jump.  The three smallest steps at which it is above rounding decide.

    >>> [bool(kink_gap(np.abs, np.array(v), np.array(1.0))) for v in (0.0, 0.5)]
    [True, False]
    """
    scale = first_step(x, direction) / 0.05
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
            # per decade
            first = gaps[at - 1] / gaps[at - 2]
            second = gaps[at] / gaps[at - 1]
            stays = (first > 0.5) & (first < 2) & (second > 0.5) & (second < 2)
            jumps = (first > 5) & (first < 20) & (second > 5) & (second < 20)
            here = clear[at] & clear[at - 1] & clear[at - 2] & ~decided
            verdict = np.where(here, stays | jumps, verdict)
            decided = decided | here
    return verdict
