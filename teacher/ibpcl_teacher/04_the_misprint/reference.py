r"""The divergence of a stick from its prior, the right form of Eq. 13, and its misprint."""

import math

import numpy as np
from scipy.special import digamma, polygamma


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
    log_u = -np.logaddexp(0, -g)
    log_rest = -np.logaddexp(0, g)
    return log_u, log_rest, np.exp(log_u + log_rest) * np.pi * np.cosh(grid) * 0.03


def _distance(ratio, gap):
    """Compute log(r) - (r - 1) / r from the ratio and from gap = ratio - 1, exact near 1."""
    near = np.abs(gap) < 0.5
    return np.where(near, np.log1p(np.where(near, gap, 0)), np.log(ratio)) - gap / ratio


def _trigamma(x):
    return polygamma(1, x).astype(x.dtype)                   # polygamma knows float64 only


def kl_to_beta(a, b, alpha):
    r"""Compute the divergence of Kumaraswamy(a, b) from Beta(alpha, 1), KL[q || p].

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution q, both > 0.
    alpha : ndarray, shape ()
        First shape parameter of the prior Beta(alpha, 1), > 0.

    Returns
    -------
    divergence : float
        Nats, summed over sticks.
    cache : object
        What ``kl_to_beta_vjp`` needs.
    """
    # gamma + psi(b + 1) - 1, which is zero at b = 1.  In this form, every term vanishes where the
    # distributions are equal.
    lift = digamma(b + 1) - float(digamma(2.0))
    divergence = _distance(a / alpha, (a - alpha) / alpha) + _distance(b, b - 1) - (1 - alpha / a) * lift
    return divergence.sum(), (a, b, alpha, lift)


def kl_to_beta_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``a``, ``b`` and ``alpha``.

    .. math:: \partial_a = \frac1a - \frac{\alpha}{a^2} (\gamma + \psi(b + 1)), \quad
              \partial_b = \frac{b - 1}{b^2} - \frac{a - \alpha}{a} \psi'(b + 1), \quad
              \partial_\alpha = \sum_k \frac{\gamma + \psi(b + 1)}{a} - \frac1\alpha

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
    a, b, alpha, lift = cache
    slope = (a - alpha - alpha * lift) / a  # nothing cancels near equal distributions
    db = ddivergence * ((b - 1) / (b * b) - (1 - alpha / a) * _trigamma(b + 1))
    return ddivergence * slope / a, db, -ddivergence * (slope / alpha).sum()  # broadcast over K


def mean_log_rest(a, b):
    r"""Compute the mean of log(1 - v) for v from Kumaraswamy(a, b).

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution q, both > 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        Nats, to seven digits.
    cache : object
        What ``mean_log_rest_vjp`` needs.
    """
    log_u, _, weight = _nodes()
    s = log_u / b                                            # v = (1 - e^s)^(1/a)
    log_power = _log1mexp(s)
    log_v = log_power / a
    log_rest = _log1mexp(log_v)
    return (weight * log_rest).sum(axis=0), (a, b, s, log_power, log_v, log_rest, weight)


def mean_log_rest_vjp(dmean, cache):
    r"""Pull the gradient at the mean back to ``a`` and ``b``.

    .. math:: \partial_{\log v} \log(1 - v) = -\frac{v}{1 - v}, \quad \partial_a \log v = -\frac{\log v}{a}, \quad
              \partial_b \log v = \frac{s}{a b}\,\frac{e^s}{1 - e^s}

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
    a, b, s, log_power, log_v, log_rest, weight = cache
    dlog_v = -weight * np.exp(log_v - log_rest)
    da = -(dlog_v * log_v).sum(axis=0) / a
    db = (dlog_v * s * np.exp(s - log_power)).sum(axis=0) / (a * b)
    return dmean * da, dmean * db


def kl_by_quadrature(a, b, alpha):
    r"""Integrate the divergence of ``kl_to_beta`` numerically, from the densities alone.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution q, both > 0.
    alpha : ndarray, shape ()
        First shape parameter of the prior Beta(alpha, 1), > 0.

    Returns
    -------
    divergence : float
        Nats, summed over sticks, to seven digits.
    """
    log_w, log_rest, weight = _nodes()  # w = v^a has the density b (1 - w)^(b - 1)
    log_v = log_w / a
    log_q = np.log(a * b) + (a - 1) * log_v + (b - 1) * log_rest
    log_p = np.log(alpha) + (alpha - 1) * log_v
    return (weight * b * np.exp((b - 1) * log_rest) * (log_q - log_p)).sum()


def misprint(a, b, alpha):
    r"""Compute the excess of the formula printed in the statement, for each stick.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution q, both > 0.
    alpha : ndarray, shape ()
        First shape parameter of the prior Beta(alpha, 1), > 0.

    Returns
    -------
    excess : ndarray, shape (K,)
        Nats; printed minus right.
    """
    return -b / (1 - b) + (b - 1) / b + 0 * (a + alpha)


def mean_log_posterior(a, b, alpha):
    r"""Compute the mean of log q that the divergence contains, for each stick.

    .. math:: \log(a b) - \frac{a - 1}{a} (\gamma + \psi(b + 1)) - \frac{b - 1}{b}

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of the Kumaraswamy distribution q, both > 0.
    alpha : ndarray, shape ()
        First shape parameter of the prior Beta(alpha, 1), > 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        Nats.
    """
    mean_log_v = -(np.euler_gamma + digamma(b + 1)) / a
    return np.log(a * b) + (a - 1) * mean_log_v - (b - 1) / b
