r"""The divergence of a stick of which 1 - v is Kumaraswamy, in bits."""

import math

import numpy as np
from scipy.special import digamma, polygamma

LOG_2 = math.log(2)


def _log1mexp(x):
    """Compute log(1 - e^x) for x < 0 without cancellation on either side."""
    near_zero = x.real > -math.log(2)
    small = np.where(near_zero, x, -1)
    large = np.where(near_zero, -1, x)
    return np.where(near_zero, np.log(-np.expm1(small)), np.log1p(-np.exp(large)))


def _nodes():
    """Return log u, log(1 - u) and weights of a double-exponential quadrature over 0 < u < 1."""
    grid = np.arange(-4.5, 4.5, 0.03)[:, None]
    g = np.pi * np.sinh(grid)                                # u = 1 / (1 + e^-g)
    log_u, log_rest = -np.logaddexp(0, -g), -np.logaddexp(0, g)
    return log_u, log_rest, np.exp(log_u + log_rest) * np.pi * np.cosh(grid) * 0.03


def _distance(ratio, gap):
    """Compute log(r) - (r - 1) / r from the ratio and from gap = ratio - 1, which keeps its digits near 1."""
    near = np.abs(gap) < 0.5
    return np.where(near, np.log1p(np.where(near, gap, 0)), np.log(ratio)) - gap / ratio


def _trigamma(x):
    return polygamma(1, x).astype(x.dtype)                   # polygamma knows float64 only


def kl_to_beta(a, b, alpha):
    r"""Compute the divergence of q from Beta(1, 1 / alpha), KL[q || p], where 1 - v is Kumaraswamy(a, b) under q.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution of t = 1 - v, both > 0.
    alpha : ndarray, shape ()
        Reciprocal of the second shape parameter of the prior Beta(1, 1 / alpha) of v, > 0.

    Returns
    -------
    divergence : float
        Bits, summed over sticks.
    cache : object
        What ``kl_to_beta_vjp`` needs.
    """
    # gamma + psi(b + 1) - 1, which is zero at b = 1; written so, every term vanishes where the distributions are equal.
    lift = digamma(b + 1) - float(digamma(2.0))
    ratio, gap = a * alpha, (a - 1) * alpha + (alpha - 1)
    divergence = _distance(ratio, gap) + _distance(b, b - 1) - gap / ratio * lift
    return divergence.sum() / LOG_2, (a, b, alpha, ratio, gap, lift)


def kl_to_beta_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``a``, ``b`` and ``alpha``.

    .. math:: \partial_a = \frac{1}{\ln 2} \Bigl(\frac1a - \frac{\gamma + \psi(b + 1)}{a^2 \alpha}\Bigr), \quad
              \partial_b = \frac{1}{\ln 2} \Bigl(\frac{b - 1}{b^2} - \frac{a \alpha - 1}{a \alpha} \psi'(b + 1)\Bigr),
              \quad \partial_\alpha = \sum_k \frac a\alpha \partial_a

    Parameters
    ----------
    ddivergence : float
        Gradient at the divergence.
    cache : object
        From ``kl_to_beta``.

    Returns
    -------
    da : ndarray, shape (K,)
    db : ndarray, shape (K,)
    dalpha : ndarray, shape ()
    """
    a, b, alpha, ratio, gap, lift = cache
    slope = ddivergence * (gap - lift) / (ratio * LOG_2)     # of the divergence, times a or alpha
    db = ddivergence * ((b - 1) / (b * b) - gap / ratio * _trigamma(b + 1)) / LOG_2
    return slope / a, db, (slope / alpha).sum()              # alpha was broadcast over K


def mean_log_rest(a, b):
    r"""Compute the mean of log2(1 - t) for t from Kumaraswamy(a, b).

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution of t = 1 - v, both > 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        Bits, to seven digits.
    cache : object
        What ``mean_log_rest_vjp`` needs.
    """
    log_u, _, weight = _nodes()
    s = log_u / b                                            # t = (1 - e^s)^(1/a)
    log_power = _log1mexp(s)
    log_t = log_power / a
    log_rest = _log1mexp(log_t)
    return (weight * log_rest).sum(axis=0) / LOG_2, (a, b, s, log_power, log_t, log_rest, weight)


def mean_log_rest_vjp(dmean, cache):
    r"""Pull the gradient at the mean back to ``a`` and ``b``.

    .. math:: \partial_{\log t} \log(1 - t) = -\frac{t}{1 - t}, \quad \partial_a \log t = -\frac{\log t}{a}, \quad
              \partial_b \log t = \frac{s}{a b}\,\frac{e^s}{1 - e^s}

    Parameters
    ----------
    dmean : ndarray, shape (K,)
        Gradient at the mean.
    cache : object
        From ``mean_log_rest``.

    Returns
    -------
    da : ndarray, shape (K,)
    db : ndarray, shape (K,)
    """
    a, b, s, log_power, log_t, log_rest, weight = cache
    dlog_t = -weight * np.exp(log_t - log_rest) / LOG_2
    da = -(dlog_t * log_t).sum(axis=0) / a
    db = (dlog_t * s * np.exp(s - log_power)).sum(axis=0) / (a * b)
    return dmean * da, dmean * db


def kl_by_quadrature(a, b, alpha):
    r"""Integrate the divergence of ``kl_to_beta`` numerically, from the densities alone.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution of t = 1 - v, both > 0.
    alpha : ndarray, shape ()
        Reciprocal of the second shape parameter of the prior Beta(1, 1 / alpha) of v, > 0.

    Returns
    -------
    divergence : float
        Bits, summed over sticks, to seven digits.
    """
    log_w, log_rest, weight = _nodes()                       # w = t^a has the density b (1 - w)^(b - 1)
    log_t = log_w / a
    log_q = np.log(a * b) + (a - 1) * log_t + (b - 1) * log_rest
    log_p = -np.log(alpha) + (1 / alpha - 1) * log_t
    return (weight * b * np.exp((b - 1) * log_rest) * (log_q - log_p)).sum() / LOG_2


def misprint(a, b, alpha):
    r"""Compute by how much the formula that is printed in the statement is too large, for each stick.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution of t = 1 - v, both > 0.
    alpha : ndarray, shape ()
        Reciprocal of the second shape parameter of the prior Beta(1, 1 / alpha) of v, > 0.

    Returns
    -------
    excess : ndarray, shape (K,)
        Bits; printed minus right.
    """
    first = (1 - 1 / (a * alpha)) * (-np.euler_gamma - digamma(b) - 1 / b)
    return first * (1 - 1 / LOG_2)                           # printed in nats among bits
