"""Reference functions of chapter 6 that are not primitives of the package."""

import numpy as np
from scipy.special import digamma, polygamma


def equal_pair():
    """Choose the pair at which both distributions are equal."""
    return "c"


def expected_log_stick(a, b):
    r"""Return the expected logarithm of a stick.

    .. math:: \mathbb E[\log v], \qquad v \sim \mathrm{Kumaraswamy}(a, b)

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters, > 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        Nats.
    cache : object
        Input of ``expected_log_stick_vjp``.
    """
    total = np.euler_gamma + digamma(b + 1)
    return -total / a, (a, b, total)


def expected_log_stick_vjp(dmean, cache):
    """Pull the gradient at the mean back to ``a`` and ``b``.

    Parameters
    ----------
    dmean : ndarray, shape (K,)
    cache : object
        From ``expected_log_stick``.

    Returns
    -------
    da, db : ndarray, shape (K,)
    """
    a, b, total = cache
    return dmean * total / a**2, -dmean * polygamma(1, b + 1) / a


def finds_the_slip():
    """Choose the test that finds the slip."""
    return "c"


def active_units(log_v, few):
    r"""Return the expected number of units that are on in two layers with the same sticks.

    .. math:: \sum_{k \le K} \pi_k + \sum_{k \le J} \pi_k, \qquad \pi_k = \prod_{i \le k} v_i

    Parameters
    ----------
    log_v : ndarray, shape (K,)
        Logarithms of the sticks.
    few : int
        Number J of units of the smaller layer, at most K.

    Returns
    -------
    count : float
    cache : object
        Input of ``active_units_vjp``.
    """
    pi = np.exp(np.cumsum(log_v))
    return pi.sum() + pi[:few].sum(), (pi, few)


def active_units_vjp(dcount, cache):
    """Pull the gradient at the number of units back to the log-sticks.

    Parameters
    ----------
    dcount : float
    cache : object
        From ``active_units``.

    Returns
    -------
    dlog_v : ndarray, shape (K,)
    """
    pi, few = cache
    by_unit = pi + pi * (np.arange(len(pi)) < few)
    return dcount * np.cumsum(by_unit[::-1])[::-1]
