r"""Gaussian weights with ``scale`` the logarithm of the precision, one over the variance."""

import math

import numpy as np

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def sample(eps, mu, scale):
    r"""Draw weights by moving and scaling standard normal noise.

    Parameters
    ----------
    eps : ndarray, shape (S, D, K)
        Standard normal noise.
    mu : ndarray, shape (D, K)
        Means, any real.
    scale : ndarray, shape (K,)
        Log precision (one over the variance), one for each unit, any real.

    Returns
    -------
    v : ndarray, shape (S, D, K)
        The weights.
    cache : object
        What ``sample_vjp`` needs.
    """
    noise = np.exp(-scale / 2) * eps                         # (S, D, K)
    return mu + noise, noise


def sample_vjp(dv, cache):
    r"""Pull the gradient at ``v`` back to ``mu`` and ``scale``.

    .. math:: \partial_\mu v = 1, \qquad \partial_{\log\lambda} v = -\tfrac12 \sigma \varepsilon

    Parameters
    ----------
    dv : ndarray, shape (S, D, K)
        Gradient at ``v``.
    cache : object
        From ``sample``.

    Returns
    -------
    dmu : ndarray, shape (D, K)
    dscale : ndarray, shape (K,)
    """
    noise = cache
    return dv.sum(axis=0), -(dv * noise).sum(axis=(0, 1)) / 2   # mu was broadcast over S, scale over S and D


def log_density(x, mu, scale):
    r"""Evaluate the log density of a Gaussian, element by element.

    Parameters
    ----------
    x : ndarray, shape (S, D, K)
        Where to evaluate.
    mu : ndarray, shape (D, K)
        Means, any real.
    scale : ndarray, shape (K,)
        Log precision (one over the variance), one for each unit, any real.

    Returns
    -------
    log_p : ndarray, shape (S, D, K)
        Nats, one value for each element.
    cache : object
        What ``log_density_vjp`` needs.
    """
    root = np.exp(scale / 2)                                 # one over the standard deviation
    standard = (x - mu) * root                               # (S, D, K)
    return scale / 2 - HALF_LOG_2PI - standard * standard / 2, (standard, root)


def log_density_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``x``, ``mu`` and ``scale``.

    .. math:: \partial_x = -\lambda (x - \mu) = -\partial_\mu, \qquad
              \partial_{\log\lambda} = \tfrac12 - \tfrac\lambda2 (x - \mu)^2

    Parameters
    ----------
    dlog_p : ndarray, shape (S, D, K)
        Gradient at ``log_p``.
    cache : object
        From ``log_density``.

    Returns
    -------
    dx : ndarray, shape (S, D, K)
    dmu : ndarray, shape (D, K)
    dscale : ndarray, shape (K,)
    """
    standard, root = cache
    dx = -dlog_p * standard * root
    dscale = dlog_p * (1 - standard * standard) / 2
    return dx, -dx.sum(axis=0), dscale.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    r"""Compute the divergence KL[q || p] of the weights' Gaussians from their priors.

    Parameters
    ----------
    mu : ndarray, shape (D, K)
        Means of q, any real.
    scale : ndarray, shape (K,)
        Log precision (one over the variance) of q, one for each unit.
    prior_mu : ndarray, shape (K,)
        Means of the prior p, one for each unit.
    prior_scale : ndarray, shape ()
        Log precision (one over the variance) of the prior p, one for all weights.

    Returns
    -------
    divergence : float
        Nats, summed over all D K weights.
    cache : object
        What ``kl_vjp`` needs.
    """
    shift = (mu - prior_mu) * np.exp(prior_scale / 2)        # (D, K), in prior standard deviations
    log_ratio = prior_scale - scale                          # (K,), twice the logarithm of sigma / sigma_0
    excess = np.expm1(log_ratio)                             # sigma^2 / sigma_0^2 - 1, exact for nearly equal scales
    return (shift * shift + (excess - log_ratio)).sum() / 2, (shift, excess, prior_scale)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``mu``, ``scale``, ``prior_mu`` and ``prior_scale``.

    .. math:: \partial_\mu = \lambda_0 (\mu - \mu_0) = -\partial_{\mu_0}, \quad
              \partial_{\log\lambda} = \tfrac12 - \frac{\lambda_0}{2 \lambda}, \quad
              \partial_{\log\lambda_0} = \tfrac{\lambda_0}2 \Bigl(\frac1\lambda + (\mu - \mu_0)^2\Bigr) - \tfrac12

    Parameters
    ----------
    ddivergence : float
        Gradient at the divergence.
    cache : object
        From ``kl``.

    Returns
    -------
    dmu : ndarray, shape (D, K)
    dscale : ndarray, shape (K,)
    dprior_mu : ndarray, shape (K,)
    dprior_scale : ndarray, shape ()
    """
    shift, excess, prior_scale = cache
    dmu = ddivergence * shift * np.exp(prior_scale / 2)
    dscale = -ddivergence * excess * len(shift) / 2          # scale was broadcast over D
    return dmu, dscale, -dmu.sum(axis=0), ddivergence * (excess + shift * shift).sum() / 2


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    r"""Integrate the divergence of ``kl`` numerically, from the densities alone.

    Parameters
    ----------
    mu : ndarray, shape (D, K)
        Means of q, any real.
    scale : ndarray, shape (K,)
        Log precision (one over the variance) of q, one for each unit.
    prior_mu : ndarray, shape (K,)
        Means of the prior p, one for each unit.
    prior_scale : ndarray, shape ()
        Log precision (one over the variance) of the prior p, one for all weights.

    Returns
    -------
    divergence : float
        Nats, summed over all D K weights, to seven digits.
    """
    nodes = np.linspace(-12, 12, 481)[:, None, None]         # in standard deviations of q
    x = mu + np.exp(-scale / 2) * nodes
    log_q, _ = log_density(x, mu, scale)
    log_p, _ = log_density(x, prior_mu, prior_scale)
    # The trapezoidal rule converges exponentially for an integrand that vanishes at both ends.
    return np.trapezoid(np.exp(log_q) * (log_q - log_p), x, axis=0).sum()
