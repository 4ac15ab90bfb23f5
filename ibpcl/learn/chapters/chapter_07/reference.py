"""Reference functions of chapter 7 that are not primitives of the package."""

import numpy as np


def straight_through():
    """Choose the checker's verdict on a straight-through mask."""
    return "b"


def flat_temperature():
    """Return the temperature at which the density is flat for theta = 1/2."""
    return 1.0


def closest_pi():
    """Return the prior probability at which coins pay most."""
    return 0.5


def log_link(rho, log_pi):
    r"""Return mask probabilities under the log link.

    .. math:: \theta = \sigma(\rho + \log \pi)

    Parameters
    ----------
    rho : ndarray, shape (D, K)
        Any real.
    log_pi : ndarray, shape (K,)
        Logarithms of the prior probabilities.

    Returns
    -------
    theta : ndarray, shape (D, K)
    cache : object
        Input of ``log_link_vjp``.
    """
    theta = 1 / (1 + np.exp(-rho - log_pi))
    return theta, theta


def log_link_vjp(dtheta, cache):
    """Pull the gradient at ``theta`` back to ``rho`` and ``log_pi``.

    Parameters
    ----------
    dtheta : ndarray, shape (D, K)
    cache : object
        From ``log_link``.

    Returns
    -------
    drho : ndarray, shape (D, K)
    dlog_pi : ndarray, shape (K,)
    """
    drho = dtheta * cache * (1 - cache)
    return drho, drho.sum(axis=0)
