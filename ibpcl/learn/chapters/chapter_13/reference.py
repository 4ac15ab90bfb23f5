"""Reference functions of chapter 13 that are not primitives of the package."""

import numpy as np


def log_normal(x, mu, sigma):
    r"""Return the log density of a log-normal variable.

    .. math:: \log p(x), \qquad \log x \sim \mathcal N(\mu, \sigma^2)

    Parameters
    ----------
    x : ndarray, shape (N,)
        Points, > 0.
    mu, sigma : float
        Mean and standard deviation of log x.

    Returns
    -------
    log_p : ndarray, shape (N,)
        Nats.
    """
    t = (np.log(x) - mu) / sigma
    return -0.5 * np.log(2 * np.pi) - np.log(sigma) - t * t / 2 - np.log(x)


def entropy_of_the_exponential():
    """Return the entropy of the exponential distribution with rate 2, in nats."""
    return 1 - np.log(2)


def entropy_of_the_exponential_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the entropy for the rate 1 / 2": 1 + np.log(2),
        "this is the entropy in bits, not in nats": (1 - np.log(2)) / np.log(2),
        "this is minus the entropy": np.log(2) - 1,
    }


def exponential_quantile(u, rate):
    r"""Return the quantile function of the exponential distribution.

    Parameters
    ----------
    u : ndarray, shape (N,)
        Levels in (0, 1).
    rate : float
        Rate, > 0.

    Returns
    -------
    x : ndarray, shape (N,)
    """
    return -np.log1p(-u) / rate


def u_for_one_minus_u():
    """Choose where the exchange is a mistake."""
    return "c"
