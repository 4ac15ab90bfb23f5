r"""Derivatives without a derivation: the witnesses against which a gradient is judged.

Every function here takes ``func``, which maps one array to one array, a point ``x`` and a
``direction`` of the same shape, and estimates

.. math:: D_d f(x) = \lim_{h \to 0} \frac{f(x + h d) - f(x)}{h} .

The complex step has no subtraction and so no rounding error, but needs a ``func`` that carries an
imaginary part faithfully.  Differences need nothing, but lose digits.  Because they fail for
different reasons, two that agree are trusted.
"""

import warnings
from typing import NamedTuple

import numpy as np

# of differences that confirm what extrapolated ones deny
PLAIN_STEPS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# of the values that noise is measured at: the next where the domain ends
SPACINGS = (2e-7, 2e-9, 2e-11)
# its error is h^2 f''' / 6: far below one rounding error for every usual function
COMPLEX_STEP = 1e-100
NOTHING = 1e-150  # a smaller result is that error: the derivative is zero


class Estimate(NamedTuple):
    """A directional derivative, how far it may be off, and the step that gave it."""

    value: np.ndarray
    error: np.ndarray
    step: float


def complex_step(func, x, direction, h=COMPLEX_STEP):
    r"""Differentiate along ``direction`` by a step into the complex plane.

    .. math:: D_d f(x) = \operatorname{Im} f(x + i h d) / h + O(h^2)

    Squire and Trapp (1998), "Using complex variables to estimate derivatives of real functions".

    Parameters
    ----------
    func : callable
        Array to array; must be analytic and must carry complex128 through.
    x, direction : ndarray
        Point and direction, of equal shape.
    h : float
        Step.  No subtraction follows, so it may be tiny.

    Returns
    -------
    ndarray
        Zero where ``func`` returned real numbers.

    Raises
    ------
    TypeError
        If ``func`` refuses complex numbers or throws their imaginary part away with a cast.

    Examples
    --------
    >>> float(complex_step(np.exp, np.array(0.0), np.array(1.0)))
    1.0
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            out = np.asarray(func(x + 1j * h * direction))
        except np.exceptions.ComplexWarning as warning:
            raise TypeError(f"complex_step: func casts complex to real ({warning})") from warning
    derivative = out.imag / h if np.iscomplexobj(out) else np.zeros(out.shape)
    return np.where(np.abs(derivative) < NOTHING, 0.0, derivative)


def central(func, x, direction, h):
    r"""Differentiate along ``direction`` by a central difference, with error :math:`O(h^2) +
    O(\epsilon / h)`.

    .. math:: D_d f(x) \approx \frac{f(x + h d) - f(x - h d)}{2 h}

    Examples
    --------
    >>> round(float(central(np.sin, np.array(0.0), np.array(1.0), 1e-4)), 6)
    1.0
    """
    with np.errstate(all="ignore"):
        return (np.asarray(func(x + h * direction)) - np.asarray(func(x - h * direction))) / (2 * h)


def unit_direction(shape, entry):
    """Return the array of zeros with a one at flat position ``entry``."""
    direction = np.zeros(int(np.prod(shape)))
    direction[entry] = 1.0
    return direction.reshape(shape)


def random_direction(shape, rng):
    """Draw a direction in which every entry moves, by at least half as much as any other."""
    return rng.uniform(0.5, 1.0, shape) * rng.choice([-1.0, 1.0], shape)


def first_step(x, direction):
    """Return the largest step worth trying: it moves no entry by more than a twentieth of its size.

    Entries much smaller than the rest are given a tenth of the root mean square as their size, so
    that one zero in an array does not shrink the step for all.
    """
    size = np.sqrt(np.mean(np.abs(x) ** 2)) if x.size else 0.0
    size = np.maximum(np.abs(x), 0.1 * size if size > 0 else 1.0)
    moved = direction != 0
    return 0.05 * float(np.min(size[moved] / np.abs(direction[moved]))) if np.any(moved) else 0.05


def richardson(func, x, direction, h=None, levels=8, restarts=5, goal=1e-9, noise=None):
    r"""Extrapolate central differences to step zero, with an estimate of the error that is left.

    Steps are halved; :math:`A_{k,0}` is the central difference at :math:`h / 2^k` and

    .. math:: A_{k,m} = A_{k,m-1} + \frac{A_{k,m-1} - A_{k-1,m-1}}{4^m - 1}

    removes the error's term in :math:`h^{2m}`.  Of all entries of the tableau the one with the
    smallest error estimate (difference from its two parents plus rounding) is kept, for each output
    on its own.  Where that is poor, because a step left the domain or crossed a kink, it starts
    again with steps 256 times smaller.

    Ridders (1982), "Accurate computation of F'(x) and F'(x)F''(x)".

    Parameters
    ----------
    func : callable
        Array to array.
    x, direction : ndarray
        Point and direction, of equal shape.
    h : float, optional
        Largest step; by default :func:`first_step`.
    levels, restarts : int
        Halvings in one tableau, and tableaux at most.
    goal : float
        Relative error estimate that is good enough to stop.
    noise : ndarray, optional
        Of the outputs; by default :func:`forward_noise` along the direction.

    Returns
    -------
    Estimate
        Value, error and the first step of the last tableau.  The error is infinite where nothing
        was finite.

    Examples
    --------
    >>> estimate = richardson(np.exp, np.array(1.0), np.array(1.0))
    >>> bool(abs(estimate.value - np.e) < 1e-11)
    True
    """
    # so that x + h is exact
    h = 2.0 ** np.floor(np.log2(first_step(x, direction) if h is None else h))
    value = error = None
    noise = forward_noise(func, x, direction) if noise is None else noise
    moved = False
    for _ in range(restarts):
        candidate, its_error, moved = _tableau(func, x, direction, h, levels, noise, goal, moved)
        if value is None:
            value = candidate
            error = its_error
        else:
            # infinite minus infinite where nothing was finite
            with np.errstate(invalid="ignore"):
                contradicts = (np.abs(candidate - value) > 5 * (error + its_error)) & (
                    its_error < 1e-3 * np.abs(candidate)
                )
            # an oscillation seen too coarsely looks calm by luck
            better = (its_error < error) | contradicts
            value = np.where(better, candidate, value)
            error = np.where(better, its_error, error)
        if _good_enough(value, error, goal):
            break
        h /= 2.0**levels
    return Estimate(value, error, h)


def _good_enough(value, error, goal):
    return bool(
        np.all(error <= goal * np.abs(value) + 0.01 * goal * np.max(np.abs(value), initial=0.0))
    )


def forward_noise(func, x, direction):
    r"""Estimate how much of ``func`` is noise, such as that of a part computed in float32.

    Fourth differences of seven values close together hold next to nothing of a smooth function, and
    :math:`\sqrt{70}` standard deviations of noise.  Hamming (1962), "Numerical Methods for
    Scientists and Engineers", ch. 10.

    Examples
    --------
    >>> coarse = forward_noise(lambda x: np.sin(x).astype(np.float32).astype(float), np.array(1.0),
    ...     np.array(1.0))
    >>> bool(1e-9 < coarse < 1e-6)
    True
    """
    for spacing in np.array(SPACINGS) * first_step(x, direction) / 0.05:
        with np.errstate(all="ignore"):
            values = np.stack(
                [np.asarray(func(x + n * spacing * direction), dtype=float) for n in range(-3, 4)]
            )
            noise = np.max(np.abs(np.diff(values, n=4, axis=0)), axis=0) / np.sqrt(70)
        if np.all(np.isfinite(noise)):
            break
    return np.where(np.isfinite(noise), noise, 0.0)


def resolution(*values, moved=True):
    """Return the relative spacing of numbers in arrays of equal shape; float32 in disguise counts
    as float32.

    ``moved`` tells which entries have changed with any step: a one on a diagonal, a mask or a
    clipped value that never has is a constant, not a coarse number.

    Examples
    --------
    >>> [float(resolution(np.array(v))) < 1e-10 for v in (0.1, float(np.float32(0.1)))]
    [True, False]
    """
    own = max(np.finfo(v.dtype).eps if v.dtype.kind == "f" else np.finfo(float).eps for v in values)
    with np.errstate(all="ignore"):
        disguised = np.all([(v == v.astype(np.float32)) & (v != 0) for v in values], axis=0)
    return np.where(disguised & moved, np.finfo(np.float32).eps, own)


def _tableau(func, x, direction, h, levels, noise, goal, moved):
    """Fill one Richardson tableau until the goal is met twice; pick for each output the entry of
    smallest error.

    ``moved`` tells which outputs have changed with any step so far, and is returned as the third
    value.
    """
    met = False
    value = error = None
    previous = []
    for level in range(levels):
        step = h / 2.0**level
        with np.errstate(all="ignore"):
            plus = np.asarray(func(x + step * direction))
            minus = np.asarray(func(x - step * direction))
            row = [(plus - minus) / (2 * step)]
            # how far rounding moves the point
            slip = ((x + step * direction) - x) - step * direction
            slip = np.max(
                np.abs(slip)[direction != 0] / np.abs(step * direction)[direction != 0], initial=0.0
            )
            moved = moved | (plus != minus)
            spacing = resolution(plus, minus, moved=moved)
            rounding = (spacing * (np.abs(plus) + np.abs(minus)) + noise) / step + slip * np.abs(
                row[0]
            )
            if value is None:
                value = row[0]
                error = np.full(np.shape(row[0]), np.inf)
            for m in range(1, len(previous) + 1):
                row.append(row[m - 1] + (row[m - 1] - previous[m - 1]) / (4.0**m - 1))
                estimate = (
                    np.maximum(np.abs(row[m] - row[m - 1]), np.abs(row[m] - previous[m - 1]))
                    + rounding
                )
                # False for NaN: such entries are passed over
                better = estimate < error
                value = np.where(better, row[m], value)
                error = np.where(better, estimate, error)
        previous = row
        if met:
            break
        met = _good_enough(value, error, goal)
    return value, error, moved
