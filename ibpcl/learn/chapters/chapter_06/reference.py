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
