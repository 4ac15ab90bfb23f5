"""A short pair whose gradient has a difference, for the tests of planted mistakes."""

import numpy as np


def tanh(x):
    """Return the hyperbolic tangent.

    Parameters
    ----------
    x : ndarray, shape (N, K)
        Any real.

    Returns
    -------
    h : ndarray, shape (N, K)
    cache : ndarray
        The output.
    """
    h = np.tanh(x)
    return h, h


def tanh_vjp(dh, cache):
    """Pull the gradient back to ``x``."""
    return dh * (1 - cache * cache)
