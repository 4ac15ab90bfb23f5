"""Reference functions of chapter 3 that are not primitives of the package."""

import numpy as np

EPSILON = 2.0**-52


def best_step():
    """Return the best step of a forward difference where |f| = |f''| = 1."""
    return 2 * np.sqrt(EPSILON)


def best_step_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the best step if the rounding error is eps / h, not 2 eps / h": np.sqrt(
            2 * EPSILON
        ),
        "this is the error at the best step of a function with |f''| = 4": 4 * np.sqrt(EPSILON),
        "this is the best step of a central difference": np.cbrt(3 * EPSILON),
    }


def central_slopes():
    """Choose the slopes of the remainder of a central difference."""
    return "b"


def smooth_abs(x, delta):
    r"""Evaluate a smooth absolute value.

    .. math:: y = \sqrt{x^2 + \delta^2}

    Parameters
    ----------
    x : ndarray, shape (N,)
        Any real.
    delta : float
        Width of the smooth part, > 0.

    Returns
    -------
    y : ndarray, shape (N,)
    cache : object
        Input of ``smooth_abs_vjp``.
    """
    y = np.sqrt(x * x + delta * delta)
    return y, (x, delta, y)


def smooth_abs_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x`` and ``delta``.

    Parameters
    ----------
    dy : ndarray, shape (N,)
        Gradient at ``y``.
    cache : object
        From ``smooth_abs``.

    Returns
    -------
    dx : ndarray, shape (N,)
    ddelta : float
    """
    x, delta, y = cache
    return dy * x / y, np.sum(dy * delta / y)


def rounded_abs(x, delta):
    """Evaluate sqrt(x^2 + delta^2), with a gradient that you did not write."""
    length = np.hypot(x, delta)
    return length, (x, delta, length)


def rounded_abs_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x`` and ``delta``."""
    return smooth_abs_vjp(dy, cache)


def rounded_abs_slip_vjp(dy, cache):
    """Pull the gradient back as if y were |x|: right only where |x| is large."""
    x, delta, y = cache
    return dy * np.sign(x), np.sum(dy * delta / y)


def where_it_fails():
    """Return inputs (x, delta) of ``rounded_abs`` at which ``rounded_abs_slip_vjp`` is wrong."""
    return np.array([0.1]), 1.0
