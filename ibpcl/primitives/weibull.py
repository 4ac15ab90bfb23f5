r"""The Weibull posterior of a learned concentration :math:`\alpha`, under a Gamma prior.

Kumar et al. (2021), supplement, "Learning :math:`\alpha`", only suggest it ("the Weibull
distribution can be a suitable alternative").  The Weibull distribution can be sampled by a formula,
and its KL divergence from a Gamma distribution has a closed form: Zhang, Chen, Guo and Zhou (2018),
"WHAI: Weibull Hybrid Autoencoding Inference", Eq. 6.

.. note:: The paper assumes that the divergence of the sticks must then be estimated by sampling.
   This is not necessary.  Given :math:`\alpha`, the divergence is linear in :math:`\alpha` and
   :math:`\log\alpha`.  Their means under a Weibull distribution have closed forms
   (:func:`moments`), so :func:`ibpcl.primitives.kumaraswamy.expected_kl_to_beta` is exact.
"""

import math

import numpy as np
from scipy.special import digamma, loggamma

from ibpcl.numerics import within_normal

EULER_GAMMA = float(np.euler_gamma)


def sample(u, k, scale):
    r"""Draw from Weibull(k, scale) by inverting its distribution function.

    .. math:: \alpha = \lambda\, (-\log u)^{1 / k}

    Zhang et al. (2018), Eq. 5.

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1).
    k, scale : ndarray, shape (K,)
        Shape and scale :math:`\lambda`, both > 0.

    Returns
    -------
    alpha : ndarray, shape (S, K)
        Samples, > 0.  A sample outside the normal numbers of the type is replaced by the smallest
        or the largest of them.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> sample(np.exp(-np.ones((1, 1))), np.array([2.0]), np.array([30.0]))[0]
    array([[30.]])
    """
    log_e = np.log(-np.log(u))  # log of an exponential variable
    with np.errstate(over="ignore", under="ignore"):  # the next line bounds the result
        alpha = within_normal(scale * np.exp(log_e / k))
    return alpha, (log_e, k, scale, alpha)


def sample_vjp(dalpha, cache):
    r"""Pull the gradient at ``alpha`` back to ``k`` and ``scale``.

    .. math::

        \partial_k \alpha = -\frac{\alpha \log(-\log u)}{k^2}, \qquad
        \partial_\lambda \alpha = \frac\alpha\lambda
    """
    log_e, k, scale, alpha = cache
    dk = -dalpha * alpha * log_e / (k * k)
    # k, scale were broadcast over S
    return dk.sum(axis=0), (dalpha * alpha / scale).sum(axis=0)


def log_density(alpha, k, scale):
    r"""Evaluate the log density, element by element.

    .. math::

        \log p(\alpha) = \log k - \log\lambda + (k - 1) \log\frac\alpha\lambda
            - \Bigl(\frac\alpha\lambda\Bigr)^k

    Parameters
    ----------
    alpha : ndarray, shape (S, K)
        Where to evaluate, > 0.
    k, scale : ndarray, shape (K,)
        Shape and scale, both > 0.

    Returns
    -------
    log_p : ndarray, shape (S, K)
        Nats, one value per element.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Examples
    --------
    >>> log_density(np.ones((1, 1)), np.ones(1), np.ones(1))[0]
    array([[-1.]])
    """
    log_ratio = _log_ratio(alpha, scale)
    excess = np.expm1(k * log_ratio)  # (alpha / scale)^k - 1
    return np.log(k) - np.log(scale) + (k - 1) * log_ratio - excess - 1, (
        alpha,
        k,
        scale,
        log_ratio,
        excess,
    )


def _log_ratio(alpha, scale):
    """Return log(alpha / scale), computed from the exact difference if both are similar."""
    difference = alpha - scale
    alike = np.abs(difference.real) < np.abs(scale.real) / 2
    near = np.log1p(np.where(alike, difference, 0) / scale)
    return np.where(alike, near, np.log(alpha) - np.log(scale))


def log_density_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``alpha``, ``k`` and ``scale``.

    .. math:: \partial_\alpha = \frac{k - 1 - k r}{\alpha}, \quad
              \partial_k = \frac1k + (1 - r) \log\frac\alpha\lambda, \quad
              \partial_\lambda = \frac{k (r - 1)}{\lambda}, \qquad
              r = \Bigl(\frac\alpha\lambda\Bigr)^k

    The difference :math:`r - 1` is computed from the logarithm of r, without cancellation.
    """
    alpha, k, scale, log_ratio, excess = cache  # excess is r - 1
    dalpha = -dlog_p * (1 + k * excess) / alpha
    dk = dlog_p * (1 / k - excess * log_ratio)
    dscale = dlog_p * k * excess / scale
    return dalpha, dk.sum(axis=0), dscale.sum(axis=0)  # k, scale were broadcast over S


def moments(k, scale):
    r"""Compute the means of :math:`\alpha` and of :math:`\log\alpha`.

    .. math::

        E[\alpha] = \lambda\, \Gamma(1 + 1/k), \qquad E[\log\alpha] = \log\lambda - \frac\gamma k

    Parameters
    ----------
    k, scale : ndarray, shape (K,)
        Shape and scale, both > 0.

    Returns
    -------
    out : tuple
        Means of :math:`\alpha` and of :math:`\log\alpha`, (K,) each.
    cache : tuple
        Input of :func:`moments_vjp`.

    Examples
    --------
    >>> [float(part[0].round(4)) for part in moments(np.ones(1), np.ones(1))[0]]
    [1.0, -0.5772]
    """
    mean = scale * np.exp(loggamma(1 + 1 / k))
    return (mean, np.log(scale) - EULER_GAMMA / k), (k, scale, mean)


def moments_vjp(dout, cache):
    r"""Pull the gradients at both means back to ``k`` and ``scale``.

    .. math:: \partial_k E[\alpha] = -\frac{E[\alpha]\, \psi(1 + 1/k)}{k^2}, \quad
              \partial_k E[\log\alpha] = \frac{\gamma}{k^2}, \quad
              \partial_\lambda E[\alpha] = \frac{E[\alpha]}{\lambda}, \quad
              \partial_\lambda E[\log\alpha] = \frac1\lambda
    """
    dmean, dmean_log = dout
    k, scale, mean = cache
    dk = (dmean_log * EULER_GAMMA - dmean * mean * digamma(1 + 1 / k)) / (k * k)
    return dk, (dmean * mean + dmean_log) / scale


def kl_to_gamma(k, scale, prior_shape, prior_rate):
    r"""Compute :math:`KL[\mathrm{Weibull}(k, \lambda) \,\|\, \mathrm{Gamma}(g, h)]` exactly.

    .. math::

        \sum \log k + h\, E[\alpha] - g\, E[\log\alpha] - \gamma - 1 - g \log h + \log\Gamma(g)

    with the means of :func:`moments`.  Zhang et al. (2018), Eq. 6.

    Parameters
    ----------
    k, scale : ndarray, shape (K,)
        Shape and scale of q, both > 0.
    prior_shape, prior_rate : float
        Shape g and rate h of the Gamma prior, both > 0.

    Returns
    -------
    divergence : float
        Nats; summed over elements.
    cache : tuple
        Input of :func:`kl_to_gamma_vjp`.

    Examples
    --------
    >>> abs(float(kl_to_gamma(np.ones(1), np.array([0.5]), 1.0, 2.0)[0].round(12)))
    0.0
    """
    (mean, mean_log), cache = moments(k, scale)
    constant = math.lgamma(prior_shape) - prior_shape * math.log(prior_rate) - EULER_GAMMA - 1
    divergence = np.log(k) + prior_rate * mean - prior_shape * mean_log + constant
    return divergence.sum(), (k, prior_shape, prior_rate, cache)


def kl_to_gamma_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``k`` and ``scale``, through the moments.

    .. math:: \partial_{E[\alpha]} = h, \qquad \partial_{E[\log\alpha]} = -g, \qquad
              \partial_k \log k = \frac1k
    """
    k, prior_shape, prior_rate, inner = cache
    dk, dscale = moments_vjp((np.full_like(k, prior_rate), np.full_like(k, -prior_shape)), inner)
    return ddivergence * (dk + 1 / k), ddivergence * dscale
