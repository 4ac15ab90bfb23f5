"""Reference functions of chapter 2 that are not primitives of the package."""

import numpy as np


def sample_by_variance(eps, mu, log_variance):
    r"""Draw weights from their means and log variances.

    .. math:: v = \mu + \sigma \varepsilon, \qquad \sigma^2 = e^{\texttt{log\_variance}}

    Parameters
    ----------
    eps : ndarray, shape (S, D, K)
        Standard normal noise.
    mu, log_variance : ndarray, shape (D, K)
        Means and logarithms of the variances.

    Returns
    -------
    v : ndarray, shape (S, D, K)
        Weights.
    cache : object
        Input of ``sample_by_variance_vjp``.
    """
    noise = np.exp(log_variance / 2) * eps
    return mu + noise, noise


def sample_by_variance_vjp(dv, cache):
    r"""Pull the gradient at ``v`` back to ``mu`` and ``log_variance``.

    .. math:: \partial v / \partial\, \texttt{log\_variance} = \tfrac12 \sigma \varepsilon

    Parameters
    ----------
    dv : ndarray, shape (S, D, K)
        Gradient at ``v``.
    cache : object
        From ``sample_by_variance``.

    Returns
    -------
    dmu, dlog_variance : ndarray, shape (D, K)
    """
    return dv.sum(axis=0), (dv * cache).sum(axis=0) / 2


def punished_for_too_narrow():
    """Choose the divergence that is larger for a belief q that is narrower than p."""
    return "b"


def estimator_for_a_step():
    """Choose the estimator of the gradient that works for a step function."""
    return "a"
