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


def adapted(u, z, a):
    r"""Return pre-activations that masks adapt.

    .. math:: h_{nk} = u_{nk} (1 + z_{nk} a_k)

    Parameters
    ----------
    u : ndarray, shape (N, K)
        Pre-activations.
    z : ndarray, shape (N, K)
        Masks in [0, 1].
    a : ndarray, shape (K,)
        Adaptation of each unit.

    Returns
    -------
    h : ndarray, shape (N, K)
    cache : object
        Input of ``adapted_vjp``.
    """
    factor = 1 + z * a
    return u * factor, (u, z, a, factor)


def adapted_vjp(dh, cache):
    """Pull the gradient at ``h`` back to ``u``, ``z`` and ``a``.

    Parameters
    ----------
    dh : ndarray, shape (N, K)
    cache : object
        From ``adapted``.

    Returns
    -------
    du : ndarray, shape (N, K)
    dz : ndarray, shape (N, K)
    da : ndarray, shape (K,)
    """
    u, z, a, factor = cache
    return dh * factor, dh * u * a, (dh * u * z).sum(axis=0)
