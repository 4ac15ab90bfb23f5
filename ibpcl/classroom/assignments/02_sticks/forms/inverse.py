r"""Sticks with reciprocal shape parameters, their geometric means, and the complementary log-log link."""

import math

import numpy as np


def _log1mexp(x):
    """Compute log(1 - e^x) for x < 0 without cancellation on either side."""
    near_zero = x.real > -math.log(2)
    small = np.where(near_zero, x, -1)
    large = np.where(near_zero, -1, x)
    return np.where(near_zero, np.log(-np.expm1(small)), np.log1p(-np.exp(large)))


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def sample(u, a, b):
    r"""Draw log-sticks from Kumaraswamy(1 / a, 1 / b) by inverting its distribution function.

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1).
    a, b : ndarray, shape (K,)
        Reciprocals of the shape parameters, both > 0.

    Returns
    -------
    log_v : ndarray, shape (S, K)
        Natural logarithms of the sticks, all < 0.
    cache : object
        What ``sample_vjp`` needs.
    """
    log_u = np.log(u)
    s = b * log_u                                            # u^b = e^s
    log_power = _log1mexp(s)
    return a * log_power, (log_u, s, a, log_power)


def sample_vjp(dlog_v, cache):
    r"""Pull the gradient at ``log_v`` back to ``a`` and ``b``.

    .. math:: \partial_a \log v = \log(1 - e^s), \qquad
              \partial_b \log v = -a \log u \,\frac{e^s}{1 - e^s}, \quad s = b \log u

    Parameters
    ----------
    dlog_v : ndarray, shape (S, K)
        Gradient at ``log_v``.
    cache : object
        From ``sample``.

    Returns
    -------
    da : ndarray, shape (K,)
    db : ndarray, shape (K,)
    """
    log_u, s, a, log_power = cache
    da = dlog_v * log_power
    db = -dlog_v * a * log_u * np.exp(s - log_power)         # e^s / (1 - e^s) as one exponential
    return da.sum(axis=0), db.sum(axis=0)                    # a and b were broadcast over S


def log_probabilities(log_v):
    r"""Compute the geometric mean of the sticks up to and including each unit, in logarithms.

    Parameters
    ----------
    log_v : ndarray, shape (S, K)
        Natural logarithms of the sticks, all < 0.

    Returns
    -------
    log_pi : ndarray, shape (S, K)
        Natural logarithms of the probabilities, all < 0.
    cache : object
        What ``log_probabilities_vjp`` needs.
    """
    count = np.arange(1, log_v.shape[-1] + 1, dtype=log_v.real.dtype)
    return np.cumsum(log_v, axis=-1) / count, count


def log_probabilities_vjp(dlog_pi, cache):
    r"""Pull the gradient at ``log_pi`` back to ``log_v``.

    .. math:: \partial_{\log v_i} = \sum_{k \ge i} \tfrac1k \, \partial_{\log \pi_k}

    Parameters
    ----------
    dlog_pi : ndarray, shape (S, K)
        Gradient at ``log_pi``.
    cache : object
        From ``log_probabilities``.

    Returns
    -------
    dlog_v : ndarray, shape (S, K)
    """
    share = dlog_pi / cache                                  # stick i has the share 1 / k in every pi_k with k >= i
    return np.cumsum(share[:, ::-1], axis=-1)[:, ::-1]


def link(log_pi):
    r"""Turn log-probabilities into the complementary log-log score, log(-log(1 - pi)).

    Parameters
    ----------
    log_pi : ndarray, shape (S, K)
        Natural logarithms of the probabilities, all < 0.

    Returns
    -------
    score : ndarray, shape (S, K)
        Any real.
    cache : object
        What ``link_vjp`` needs.
    """
    log_rest = _log1mexp(log_pi)                             # log(1 - pi) < 0
    return np.log(-log_rest), (log_pi, log_rest)


def link_vjp(dscore, cache):
    r"""Pull the gradient at the score back to ``log_pi``.

    .. math:: \frac{d}{d \log\pi} \log(-\log(1 - \pi)) = -\frac{\pi}{(1 - \pi) \log(1 - \pi)}

    Parameters
    ----------
    dscore : ndarray, shape (S, K)
        Gradient at ``score``.
    cache : object
        From ``link``.

    Returns
    -------
    dlog_pi : ndarray, shape (S, K)
    """
    log_pi, log_rest = cache
    return -dscore * np.exp(log_pi - log_rest) / log_rest


def mean_log_stick(a, b):
    r"""Compute the mean of ``log_v`` over all draws by integrating over the density of the stick.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Reciprocals of the shape parameters, both > 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        Nats, to seven digits.
    """
    grid = np.arange(-4.5, 4.5, 0.03)[:, None]
    g = np.pi * np.sinh(grid)                                # w = v^(1/a) = 1 / (1 + e^-g) fills (0, 1)
    log_w, log_rest = -_softplus(-g), -_softplus(g)
    # The density of w is (1 / b) (1 - w)^(1 / b - 1), and dw = w (1 - w) dg.
    weight = np.exp(log_w + log_rest / b) / b * np.pi * np.cosh(grid) * 0.03
    return (weight * log_w * a).sum(axis=0)
