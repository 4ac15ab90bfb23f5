r"""Sticks: Kumaraswamy draws, their cumulative products and log-odds, with gradients.

All sticks and probabilities are carried as logarithms.
"""

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
    r"""Draw log-sticks from Kumaraswamy(a, b) by inverting its distribution function.

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1).
    a, b : ndarray, shape (K,)
        Shape parameters, both > 0.

    Returns
    -------
    log_v : ndarray, shape (S, K)
        Natural logarithms of the sticks, all < 0.
    cache : object
        What ``sample_vjp`` needs.
    """
    s = np.log(u) / b                                        # u^(1/b) = e^s
    log_power = _log1mexp(s)                                 # a log v
    return log_power / a, (s, a, b, log_power)


def sample_vjp(dlog_v, cache):
    r"""Pull the gradient at ``log_v`` back to ``a`` and ``b``.

    .. math:: \partial_a \log v = -\frac{\log v}{a}, \qquad
              \partial_b \log v = \frac{s}{a b}\,\frac{e^s}{1 - e^s}, \quad s = \frac{\log u}{b}

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
    s, a, b, log_power = cache
    da = -dlog_v * log_power / (a * a)
    db = dlog_v * s * np.exp(s - log_power) / (a * b)        # e^s / (1 - e^s) as one exponential
    return da.sum(axis=0), db.sum(axis=0)                    # a and b were broadcast over S


def log_probabilities(log_v):
    r"""Multiply the sticks up to and including each unit, in logarithms.

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
    return np.cumsum(log_v, axis=-1), None


def log_probabilities_vjp(dlog_pi, cache):
    r"""Pull the gradient at ``log_pi`` back to ``log_v``.

    .. math:: \partial_{\log v_i} = \sum_{k \ge i} \partial_{\log \pi_k}

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
    return np.cumsum(dlog_pi[:, ::-1], axis=-1)[:, ::-1]  # stick i is a factor of all pi_k, k >= i


def link(log_pi):
    r"""Turn log-probabilities into log-odds, log(pi / (1 - pi)).

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
    log_rest = _log1mexp(log_pi)                             # log(1 - pi)
    return log_pi - log_rest, log_rest


def link_vjp(dscore, cache):
    r"""Pull the gradient at the score back to ``log_pi``.

    .. math:: \frac{d}{d \log\pi} \log\frac{\pi}{1 - \pi} = \frac{1}{1 - \pi}

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
    return dscore * np.exp(-cache)


def mean_log_stick(a, b):
    r"""Compute the mean of ``log_v`` over all draws by integrating over the density of the stick.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters, both > 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        Nats, to seven digits.
    """
    grid = np.arange(-4.5, 4.5, 0.03)[:, None]
    g = np.pi * np.sinh(grid)                                # w = v^a = 1 / (1 + e^-g) fills (0, 1)
    log_w = -_softplus(-g)
    log_rest = -_softplus(g)
    # The density of w is b (1 - w)^(b - 1), and dw = w (1 - w) dg.
    weight = b * np.exp(log_w + b * log_rest) * np.pi * np.cosh(grid) * 0.03
    return (weight * log_w / a).sum(axis=0)


def slope_in_noise(u, a, b):
    r"""Differentiate ``log_v`` with respect to the noise, element by element.

    .. math:: \partial_u \log v = -\frac{1}{a b u}\,\frac{e^s}{1 - e^s}, \quad s = \frac{\log u}{b}

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1).
    a, b : ndarray, shape (K,)
        Shape parameters, both > 0.

    Returns
    -------
    slope : ndarray, shape (S, K)
        The derivative of what ``sample`` returns.
    """
    s = np.log(u) / b                                        # u^(1/b) = e^s
    return -np.exp(s - _log1mexp(s)) / (a * b * u)
