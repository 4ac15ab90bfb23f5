"""Reference functions of chapter 0."""

import numpy as np


def softmax(x):
    r"""Return the softmax of a vector.

    .. math:: y_i = \frac{e^{x_i}}{\sum_j e^{x_j}}

    Parameters
    ----------
    x : ndarray, shape (N,)
        Any real.

    Returns
    -------
    y : ndarray, shape (N,)
        Probabilities.
    cache : object
        Input of ``softmax_vjp``.
    """
    e = np.exp(x - x.max())
    y = e / e.sum()
    return y, y


def softmax_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x``.

    Parameters
    ----------
    dy : ndarray, shape (N,)
        Gradient at ``y``.
    cache : object
        From ``softmax``.

    Returns
    -------
    dx : ndarray, shape (N,)
    """
    return cache * (dy - (dy * cache).sum())


def output_moments(x, mu, sigma):
    r"""Return the mean and the standard deviation of a weighted sum of Gaussians.

    .. math:: o = \sum_d x_d w_d, \qquad w_d \sim \mathcal N(\mu_d, \sigma_d^2)

    Parameters
    ----------
    x : ndarray, shape (D,)
        Inputs.
    mu, sigma : ndarray, shape (D,)
        Means and standard deviations of the weights.

    Returns
    -------
    mean, deviation : float
        Of o.
    """
    return np.sum(x * mu), np.sqrt(np.sum((x * sigma) ** 2))


def two_directions():
    """Choose the values of both divergences."""
    return "b"


def points_for_pi():
    """Return the number of points for a standard error of 0.001."""
    p = np.pi / 4
    return 16 * p * (1 - p) / 0.001**2


def points_for_pi_slips():
    """Return common wrong answers by the mistake that leads to them."""
    p = np.pi / 4
    return {
        "this is the number for the share p itself: pi is four times p": p * (1 - p) / 0.001**2,
        "the factor 4 must be squared: it multiplies a standard error": 4 * p * (1 - p) / 0.001**2,
        "an error bar falls with the square root of the number of points": 16 * p * (1 - p) / 0.001,
        "this is the number for which two standard errors are 0.001": 64 * p * (1 - p) / 0.001**2,
    }


def standardize(x, m, s):
    r"""Standardize the columns of a matrix.

    .. math:: y_{nk} = \frac{x_{nk} - m_k}{s_k}

    Parameters
    ----------
    x : ndarray, shape (N, K)
        Any real.
    m, s : ndarray, shape (K,)
        Shifts, and scales > 0.

    Returns
    -------
    y : ndarray, shape (N, K)
    cache : object
        Input of ``standardize_vjp``.
    """
    y = (x - m) / s
    return y, (y, s)


def standardize_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x``, ``m`` and ``s``.

    Parameters
    ----------
    dy : ndarray, shape (N, K)
        Gradient at ``y``.
    cache : object
        From ``standardize``.

    Returns
    -------
    dx : ndarray, shape (N, K)
    dm, ds : ndarray, shape (K,)
    """
    y, s = cache
    dx = dy / s
    return dx, -dx.sum(axis=0), -(dx * y).sum(axis=0)
