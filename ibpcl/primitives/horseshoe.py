r"""The horseshoe prior of scales, with log-normal posteriors.

A weight is :math:`w = \lambda \beta` with a Gaussian :math:`\beta` and a scale :math:`\lambda > 0`
under a half-Cauchy prior.  This prior has much mass near 0 and a heavy tail: most weights are
almost switched off, and the others are hardly shrunk.  Carvalho, Polson and Scott (2010), "The
horseshoe estimator for sparse signals"; for networks Louizos, Ullrich and Welling (2017),
"Bayesian Compression for Deep Learning", and Ghosh, Yao and Doshi-Velez (2018), "Structured
Variational Learning of Bayesian Neural Networks with Horseshoe Priors".

A half-Cauchy scale is a mixture of inverse Gamma distributions with an auxiliary variable
:math:`\nu`,

.. math::

    \lambda^2 | \nu \sim \mathrm{IG}\bigl(\tfrac12, \tfrac1\nu\bigr), \quad
    \nu \sim \mathrm{IG}\bigl(\tfrac12, \tfrac1{b^2}\bigr)
    \quad\Longrightarrow\quad \lambda \sim C^+(0, b), \qquad
    p(\lambda) = \frac{2}{\pi b\,(1 + \lambda^2 / b^2)} ,

with :math:`\mathrm{IG}(x; c, d) = \frac{d^c}{\Gamma(c)} x^{-c - 1} e^{-d / x}`.  The posterior of
the log variance :math:`x = \log\lambda^2` is Gaussian, so that of :math:`\lambda` is log-normal.
"""

import math

import numpy as np
from scipy.special import digamma, loggamma, polygamma

from ibpcl.numerics import sigmoid, softplus

LOG_PI = math.log(math.pi)
ENTROPY = 0.5 * math.log(2 * math.pi * math.e)  # of a standard normal variable, in nats


def sample(eps, mu, log_sigma):
    r"""Draw scales whose log variance is Gaussian.

    .. math:: \lambda = \exp\bigl(\tfrac12 (\mu + \sigma \varepsilon)\bigr), \qquad
              \log\lambda^2 \sim \mathcal N(\mu, \sigma^2)

    Parameters
    ----------
    eps : ndarray, shape (S, K)
        Standard normal noise.
    mu, log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of :math:`\log\lambda^2`, any real.

    Returns
    -------
    scale : ndarray, shape (S, K)
        Scales, > 0.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> sample(np.ones((1, 1)), np.zeros(1), np.log([2.0]))[0].round(4)
    array([[2.7183]])
    """
    noise = np.exp(log_sigma) * eps
    scale = np.exp((mu + noise) / 2)
    return scale, (noise, scale)


def sample_vjp(dscale, cache):
    r"""Pull the gradient at ``scale`` back to ``mu`` and ``log_sigma``.

    .. math:: \partial_\mu \lambda = \tfrac12 \lambda, \qquad
              \partial_{\log\sigma} \lambda = \tfrac12 \lambda\, \sigma \varepsilon
    """
    noise, scale = cache
    dmu = dscale * scale / 2
    return dmu.sum(axis=0), (dmu * noise).sum(axis=0)  # mu, log_sigma were broadcast over S


def log_density(x, prior_scale):
    r"""Evaluate the log density of the log variance of a half-Cauchy scale.

    With :math:`t = x - 2 \log b`, the density of :math:`\lambda` times :math:`|d\lambda / dx| =
    \lambda / 2` is

    .. math:: \log p(x) = \tfrac12 t - \log(1 + e^t) - \log\pi
              = -\log\bigl(2 \pi \cosh\tfrac t2\bigr),

    a hyperbolic secant, which is symmetric around :math:`\lambda = b`.

    Parameters
    ----------
    x : ndarray, shape (S, K)
        Where to evaluate: :math:`\log\lambda^2`, any real.
    prior_scale : float
        Median b of the prior of :math:`\lambda`, > 0; not differentiated.

    Returns
    -------
    log_p : ndarray, shape (S, K)
        Nats, one value per element.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Examples
    --------
    >>> np.exp(log_density(np.zeros((1, 1)), 1.0)[0]) * 2 * np.pi
    array([[1.]])
    """
    t = x - 2 * math.log(prior_scale)
    return t / 2 - softplus(t) - LOG_PI, t


def log_density_vjp(dlog_p, cache):
    r"""Pull the gradient back to ``x``: the slope is :math:`-\tfrac12 \tanh\tfrac t2`."""
    t = cache
    return -dlog_p * np.tanh(t / 2) / 2


def kl(mu, log_sigma, prior_scale):
    r"""Compute the KL divergence of log-normal scales from the half-Cauchy hierarchy.

    The auxiliary variables have their optimal posterior :math:`q(\nu) = \mathrm{IG}(1, d)` with
    :math:`d = E[\lambda^{-2}] + b^{-2}` and :math:`E[\lambda^{-2}] = e^{-\mu + \sigma^2 / 2}`.
    Inserted into :func:`hierarchy_kl`, they drop out:

    .. math::

        KL[q(\lambda)\, q(\nu) \,\|\, p(\lambda, \nu)] = \sum_k \tfrac12 t_k
            - \tfrac12 \log 2\pi e\,\sigma_k^2 + \log\pi
            + \log\bigl(1 + e^{-t_k + \sigma_k^2 / 2}\bigr), \qquad t_k = \mu_k - 2 \log b .

    This is an upper bound of :math:`KL[q(\lambda) \| C^+(0, b)]`, whose last term is :math:`E
    \log(1 + e^{-t})` with a random t (:func:`log_density`).  By Jensen's inequality the bound is
    larger, and it is exact for :math:`\sigma \to 0`.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of :math:`\log\lambda^2`.
    prior_scale : float
        Median b of the prior of :math:`\lambda`, > 0; not differentiated.

    Returns
    -------
    divergence : float
        Nats; summed over scales, not divided by N.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> float(kl(np.zeros(1), np.zeros(1), 1.0)[0].round(6))
    0.699868
    """
    t = mu - 2 * math.log(prior_scale)
    variance = np.exp(2 * log_sigma)
    excess = variance / 2 - t
    divergence = t / 2 - ENTROPY - log_sigma + LOG_PI + softplus(excess)
    return divergence.sum(), (variance, excess)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``mu`` and ``log_sigma``.

    .. math:: \partial_\mu = \tfrac12 - r, \quad \partial_{\log\sigma} = \sigma^2 r - 1, \qquad
              r = \frac{1}{1 + e^{t - \sigma^2 / 2}}
    """
    variance, excess = cache
    dmu = -ddivergence * np.tanh(excess / 2) / 2
    return dmu, ddivergence * (variance * sigmoid(excess) - 1)


def hierarchy_kl(mu, log_sigma, a, b, prior_scale):
    r"""Compute the KL divergence for any inverse Gamma posterior of the auxiliary variables.

    With :math:`q(\nu) = \mathrm{IG}(a, b)`, the means are :math:`E[1 / \nu] = a / b` and
    :math:`E[\log\nu] = \log b - \psi(a)`.  With s for ``prior_scale``,

    .. math::

        KL[q(\lambda)\, q(\nu) \,\|\, p(\lambda | \nu)\, p(\nu)] = \sum_k
            \tfrac12 \mu - \tfrac12 \log 2\pi e\,\sigma^2 + \log\pi + \log s
            + \log b - \log\Gamma(a) - a - (1 - a)\, \psi(a)
            + \tfrac ab \bigl(e^{-\mu + \sigma^2 / 2} + s^{-2}\bigr) .

    The derivative at b vanishes for :math:`b = a\,(e^{-\mu + \sigma^2 / 2} + s^{-2})`, and then the
    derivative at a, :math:`(1 - a)(\frac1a - \psi'(a))`, at a = 1.  The minimum is :func:`kl`.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of :math:`\log\lambda^2`.
    a, b : ndarray, shape (K,)
        Shape and rate of :math:`q(\nu)`, both > 0.
    prior_scale : float
        Median s of the prior of :math:`\lambda`, > 0; not differentiated.

    Returns
    -------
    divergence : float
        Nats; summed over scales.
    cache : tuple
        Input of :func:`hierarchy_kl_vjp`.

    Examples
    --------
    >>> zero, one = np.zeros(1), np.ones(1)
    >>> float(hierarchy_kl(zero, zero, one, (np.exp(0.5) + 1) * one, 1.0)[0].round(6))
    0.699868
    """
    variance = np.exp(2 * log_sigma)
    inverse = np.exp(variance / 2 - mu)  # E[1 / lambda^2]
    total = inverse + prior_scale**-2
    divergence = (
        mu / 2
        - ENTROPY
        - log_sigma
        + LOG_PI
        + math.log(prior_scale)
        + np.log(b)
        - loggamma(a)
        - a
        - (1 - a) * digamma(a)
        + a * total / b
    )
    return divergence.sum(), (variance, inverse, total, a, b)


def hierarchy_kl_vjp(ddivergence, cache):
    r"""Pull the gradient back to ``mu``, ``log_sigma``, ``a`` and ``b``.

    .. math::

        \partial_\mu = \tfrac12 - \tfrac ab R, \quad
        \partial_{\log\sigma} = \tfrac ab R\, \sigma^2 - 1, \quad
        \partial_a = \tfrac{R + s^{-2}}b - 1 - (1 - a)\, \psi'(a), \quad
        \partial_b = \tfrac1b - \tfrac{a\,(R + s^{-2})}{b^2}

    with :math:`R = e^{-\mu + \sigma^2 / 2}`.
    """
    variance, inverse, total, a, b = cache
    precision = a / b * inverse
    dmu = ddivergence * (0.5 - precision)
    dlog_sigma = ddivergence * (precision * variance - 1)
    curvature = polygamma(1, a).astype(a.dtype)
    da = ddivergence * (total / b - 1 - (1 - a) * curvature)
    db = ddivergence * (1 - a * total / b) / b
    return dmu, dlog_sigma, da, db
