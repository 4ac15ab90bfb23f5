r"""The reversed divergence of a stick: of its prior from Kumaraswamy(a, b)."""

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
    log_u, log_rest = -np.logaddexp(0, -g), -np.logaddexp(0, g)
    return log_u, log_rest, np.exp(log_u + log_rest) * np.pi * np.cosh(grid) * 0.03


def _distance(ratio, gap):
    """Compute r - 1 - log(r) from the ratio and from gap = ratio - 1, which keeps its digits near 1."""
    near = np.abs(gap) < 0.5
    return gap - np.where(near, np.log1p(np.where(near, gap, 0)), np.log(ratio))


def _trigamma(x):
    return polygamma(1, x).astype(x.dtype)                   # polygamma knows float64 only


def kl_to_beta(a, b, alpha):
    r"""Compute the divergence of Beta(alpha, 1) from Kumaraswamy(a, b), KL[p || q]: the reversed one.

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
    # gamma + psi(1 + alpha / a) - 1, which is zero at a = alpha.
    lift = digamma(1 + alpha / a) - float(digamma(2.0))
    divergence = _distance(a / alpha, (a - alpha) / alpha) + _distance(b, b - 1) + (b - 1) * lift
    return divergence.sum(), (a, b, alpha, lift)


def kl_to_beta_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``a``, ``b`` and ``alpha``.

    .. math:: \partial_a = \frac1\alpha - \frac1a - \frac{\alpha (b - 1)}{a^2} \psi'\bigl(1 + \tfrac\alpha a\bigr),
              \quad \partial_b = \gamma + \psi\bigl(1 + \tfrac\alpha a\bigr) - \frac1b, \quad
              \partial_\alpha = -\sum_k \frac a\alpha \partial_a

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
    da = (a - alpha) / (a * alpha) - (b - 1) * alpha / (a * a) * _trigamma(1 + alpha / a)
    db = (b - 1) / b + lift
    # The divergence depends on a / alpha alone; alpha was broadcast over K.
    return ddivergence * da, ddivergence * db, -ddivergence * (da * a / alpha).sum()


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
    log_w, _, weight = _nodes()                              # w = v^alpha is uniform under p
    log_v = log_w / alpha
    log_q = np.log(a * b) + (a - 1) * log_v + (b - 1) * _log1mexp(a * log_v)
    log_p = np.log(alpha) + (alpha - 1) * log_v
    return (weight * (log_p - log_q)).sum()


def misprint(a, b, alpha):
    r"""Compute by how much the formula that is printed in the statement is too large, for each stick.

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
    return (b - 1) * (digamma(alpha / a) - digamma(1 + alpha / a))
