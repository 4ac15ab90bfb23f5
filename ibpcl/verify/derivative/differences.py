r"""Numerical directional derivatives: complex step and extrapolated differences.

Every function here takes ``func``, which maps one array to one array, a point ``x`` and a
``direction`` of the same shape, and estimates

.. math:: D_d f(x) = \lim_{h \to 0} \frac{f(x + h d) - f(x)}{h} .

The complex step needs no subtraction and so has no rounding error, but ``func`` must accept complex
numbers and preserve the imaginary part.  Differences work for any ``func``, but lose digits.  The
two methods fail for different reasons.  Where they agree, the derivative is trusted.
"""

import warnings
from typing import NamedTuple

import numpy as np

# Relative steps of plain differences, tried where extrapolated ones contradict a gradient.
PLAIN_STEPS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# Relative spacings at which noise is measured; the next one is used if the domain ends.
SPACINGS = (2e-7, 2e-9, 2e-11)
# The error h^2 f''' / 6 of this step is far below one rounding error for every usual function.
COMPLEX_STEP = 1e-100
# A smaller result consists of that error only, so the derivative is zero.
NOTHING = 1e-150


class Estimate(NamedTuple):
    """An estimated directional derivative.

    Attributes
    ----------
    value : ndarray
        The derivative of each output.
    error : ndarray
        Estimate of its absolute error; infinite where no difference was finite.
    step : float
        First step of the last extrapolation.
    """

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
        Function from an array to an array.  It must be analytic and compute with complex128.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    h : float
        The step.  It may be tiny, because no subtraction follows.

    Returns
    -------
    ndarray
        The derivative of each output; zero if ``func`` returned real numbers.

    Raises
    ------
    TypeError
        If ``func`` rejects complex numbers or casts them to real numbers.

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
    r"""Differentiate along ``direction`` by a central difference.

    .. math:: D_d f(x) = \frac{f(x + h d) - f(x - h d)}{2 h} + O(h^2) + O(\epsilon / h)

    Parameters
    ----------
    func : callable
        Function from an array to an array.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    h : float
        The step, > 0.

    Returns
    -------
    ndarray
        The derivative of each output.

    Examples
    --------
    >>> round(float(central(np.sin, np.array(0.0), np.array(1.0), 1e-4)), 6)
    1.0
    """
    with np.errstate(all="ignore"):
        return (np.asarray(func(x + h * direction)) - np.asarray(func(x - h * direction))) / (2 * h)


def unit_direction(shape, entry):
    """Return an array of zeros with a one at a flat position.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    entry : int
        Flat position of the one.

    Returns
    -------
    ndarray
        The direction.
    """
    direction = np.zeros(int(np.prod(shape)))
    direction[entry] = 1.0
    return direction.reshape(shape)


def random_direction(shape, rng):
    """Draw a direction whose entries all have sizes between 0.5 and 1.

    Parameters
    ----------
    shape : tuple of int or int
        Shape of the direction.
    rng : numpy.random.Generator
        Draws sizes and signs.

    Returns
    -------
    ndarray
        The direction.
    """
    return rng.uniform(0.5, 1.0, shape) * rng.choice([-1.0, 1.0], shape)


def typical_size(x):
    """Return the root mean square of an array.

    Parameters
    ----------
    x : ndarray
        The array.

    Returns
    -------
    float
        1 for an array that is zero or empty.
    """
    size = np.sqrt(np.mean(np.abs(x) ** 2)) if np.size(x) else 0.0
    return float(size) or 1.0


def reach(x, direction):
    """Return the step that moves some entry by its size, and no entry by more.

    Entries much smaller than the rest count as a tenth of the root mean square, so that one zero in
    an array does not shrink the step for all.

    Parameters
    ----------
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.

    Returns
    -------
    float
        The step, > 0.
    """
    size = np.maximum(np.abs(x), 0.1 * typical_size(x) if np.any(x) else 1.0)
    moved = direction != 0
    return float(np.min(size[moved] / np.abs(direction[moved]))) if np.any(moved) else 1.0


def first_step(x, direction):
    """Return the largest useful step: it moves every entry by at most a twentieth of its size.

    Parameters
    ----------
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.

    Returns
    -------
    float
        The step, > 0.
    """
    return 0.05 * reach(x, direction)


def richardson(func, x, direction, h=None, levels=8, restarts=5, goal=1e-9, noise=None):
    r"""Extrapolate central differences to step zero, with an estimate of the remaining error.

    Steps are halved; :math:`A_{k,0}` is the central difference at :math:`h / 2^k` and

    .. math:: A_{k,m} = A_{k,m-1} + \frac{A_{k,m-1} - A_{k-1,m-1}}{4^m - 1}

    removes the error term in :math:`h^{2m}`.  For each output, the entry of the tableau with the
    smallest error estimate (difference from its two parents plus rounding) is used.  If that
    estimate is poor, because a step left the domain or crossed a kink, the extrapolation restarts
    with steps 256 times smaller.

    Ridders (1982), "Accurate computation of F'(x) and F'(x)F''(x)".

    Parameters
    ----------
    func : callable
        Function from an array to an array.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    h : float, optional
        Largest step.  By default, :func:`first_step`.
    levels : int
        Number of steps in one tableau.
    restarts : int
        Number of tableaux, at most.
    goal : float
        Relative error estimate at which to stop.
    noise : ndarray, optional
        Noise of each output.  By default, :func:`forward_noise` along the direction.

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
            # coarse steps may miss an oscillation and give a small error estimate by chance
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
    r"""Estimate the noise of ``func``, such as that of a part computed in float32.

    Fourth differences of seven values close together contain almost nothing of a smooth function,
    and :math:`\sqrt{70}` standard deviations of noise.  Hamming (1962), "Numerical Methods for
    Scientists and Engineers", ch. 10.

    Parameters
    ----------
    func : callable
        Function from an array to an array.
    x : ndarray
        The point.
    direction : ndarray
        The direction along which the seven values lie.

    Returns
    -------
    ndarray
        Noise of each output, an absolute number; zero where the values are not finite.

    Examples
    --------
    >>> coarse = forward_noise(lambda x: np.sin(x).astype(np.float32).astype(float), np.array(1.0),
    ...     np.array(1.0))
    >>> bool(1e-9 < coarse < 1e-6)
    True
    """
    for spacing in np.array(SPACINGS) * reach(x, direction):
        with np.errstate(all="ignore"):
            values = np.stack(
                [np.asarray(func(x + n * spacing * direction), dtype=float) for n in range(-3, 4)]
            )
            noise = np.max(np.abs(np.diff(values, n=4, axis=0)), axis=0) / np.sqrt(70)
        if np.all(np.isfinite(noise)):
            break
    return np.where(np.isfinite(noise), noise, 0.0)


def resolution(*values, moved=True):
    """Return the relative spacing of the numbers in arrays of equal shape.

    Numbers that float32 represents exactly count as float32, also in a float64 array.

    Parameters
    ----------
    *values : ndarray
        Arrays of equal shape.
    moved : bool or ndarray of bool
        Entries that have changed with some step.  The others are constants, such as a one on a
        diagonal, and get the spacing of their type.

    Returns
    -------
    ndarray
        The spacing for each entry.

    Examples
    --------
    >>> [float(resolution(np.array(v))) < 1e-10 for v in (0.1, float(np.float32(0.1)))]
    [True, False]
    """
    spacing = max(
        np.finfo(v.dtype).eps if v.dtype.kind == "f" else np.finfo(float).eps for v in values
    )
    with np.errstate(all="ignore"):
        disguised = np.all([(v == v.astype(np.float32)) & (v != 0) for v in values], axis=0)
    return np.where(disguised & moved, np.finfo(np.float32).eps, spacing)


def _tableau(func, x, direction, h, levels, noise, goal, moved):
    """Compute one Richardson tableau, until the goal is met twice.

    Returns the entry with the smallest error for each output, that error, and ``moved``: which
    outputs have changed with any step so far.
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
                # False for NaN: such entries are not used
                better = estimate < error
                value = np.where(better, row[m], value)
                error = np.where(better, estimate, error)
        previous = row
        if met:
            break
        met = _good_enough(value, error, goal)
    return value, error, moved
