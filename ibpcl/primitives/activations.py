r"""Activation functions, element by element.

The paper uses ReLU (Kumar et al., 2021, Sec. 6.1).  The other functions are for the autoencoder
and for comparisons.
"""

import numpy as np

from ibpcl import numerics

LEAK = 0.01


def relu(x):
    r"""Compute :math:`\max(x, 0)`.

    Parameters
    ----------
    x : ndarray, shape (S, N, K)
        Pre-activations.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Activations.
    cache : tuple
        Input of :func:`relu_vjp`.

    Examples
    --------
    >>> relu(np.array([-1.0, 2.0]))[0]
    array([0., 2.])
    """
    on = x.real > 0
    return np.where(on, x, 0).astype(x.dtype), on


def relu_vjp(dh, cache):
    r"""Pull the gradient back: :math:`dx = dh \, \mathbb 1[x > 0]`; 0 at the kink."""
    return dh * cache


def leaky_relu(x):
    r"""Compute x where it is positive and :math:`0.01 x` elsewhere.

    Parameters
    ----------
    x : ndarray, shape (S, N, K)
        Pre-activations.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Activations.
    cache : tuple
        Input of :func:`leaky_relu_vjp`.

    Examples
    --------
    >>> leaky_relu(np.array([-1.0, 2.0]))[0]
    array([-0.01,  2.  ])
    """
    x = numerics.inexact(x)
    slope = np.where(x.real > 0, *np.array([1, LEAK], x.real.dtype))
    return x * slope, slope


def leaky_relu_vjp(dh, cache):
    r"""Pull the gradient back: :math:`dx = dh` where x > 0, :math:`0.01\, dh` elsewhere."""
    return dh * cache


def softplus(x):
    r"""Compute :math:`\log(1 + e^x)`.

    Parameters
    ----------
    x : ndarray, shape (S, N, K)
        Pre-activations.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Activations, > 0.
    cache : tuple
        Input of :func:`softplus_vjp`.

    Examples
    --------
    >>> softplus(np.zeros(1))[0].round(4)
    array([0.6931])
    """
    return numerics.softplus(x), x


def softplus_vjp(dh, cache):
    r"""Pull the gradient back: :math:`dx = dh\, \sigma(x)`."""
    return dh * numerics.sigmoid(cache)


def tanh(x):
    r"""Compute :math:`\tanh x`.

    Parameters
    ----------
    x : ndarray, shape (S, N, K)
        Pre-activations.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Activations in (-1, 1).
    cache : tuple
        Input of :func:`tanh_vjp`.

    Examples
    --------
    >>> tanh(np.zeros(1))[0]
    array([0.])
    """
    return np.tanh(x), x


def tanh_vjp(dh, cache):
    r"""Pull the gradient back.

    .. math:: dx = dh\, (1 - \tanh^2 x) = dh\, \frac{4 e^{-2 |x|}}{(1 + e^{-2 |x|})^2}

    The second form keeps its digits where tanh rounds to one.
    """
    e = np.exp(np.where(cache.real > 0, -2 * cache, 2 * cache))
    return dh * (4 * e / ((1 + e) * (1 + e)))
