r"""Gaussian weights: a sample, its log density and the divergence from a prior, with gradients."""

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
        Log standard deviation, one for each unit, any real.

    Returns
    -------
    v : ndarray, shape (S, D, K)
        The weights.
    cache : object
        What ``sample_vjp`` needs.
    """
    noise = np.exp(scale) * eps                              # (S, D, K)
    return mu + noise, noise


def sample_vjp(dv, cache):
    r"""Pull the gradient at ``v`` back to ``mu`` and ``scale``.

    .. math:: \partial_\mu v = 1, \qquad \partial_{\log\sigma} v = \sigma \varepsilon

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
    return dv.sum(axis=0), (dv * noise).sum(axis=(0, 1))  # over S; over S and D


def log_density(x, mu, scale):
    r"""Evaluate the log density of a Gaussian, element by element.

    Parameters
    ----------
    x : ndarray, shape (S, D, K)
        Where to evaluate.
    mu : ndarray, shape (D, K)
        Means, any real.
    scale : ndarray, shape (K,)
        Log standard deviation, one for each unit, any real.

    Returns
    -------
    log_p : ndarray, shape (S, D, K)
        Nats, one value for each element.
    cache : object
        What ``log_density_vjp`` needs.
    """
    inverse_sigma = np.exp(-scale)
    standard = (x - mu) * inverse_sigma                      # (S, D, K)
    return -HALF_LOG_2PI - scale - standard * standard / 2, (standard, inverse_sigma)


def log_density_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``x``, ``mu`` and ``scale``.

    .. math:: \partial_x = -\frac{x - \mu}{\sigma^2} = -\partial_\mu, \qquad
              \partial_{\log\sigma} = \Bigl(\frac{x - \mu}{\sigma}\Bigr)^2 - 1

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
    standard, inverse_sigma = cache
    dx = -dlog_p * standard * inverse_sigma
    dscale = dlog_p * (standard * standard - 1)
    return dx, -dx.sum(axis=0), dscale.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    r"""Compute the divergence KL[q || p] of the weights' Gaussians from their priors.

    Parameters
    ----------
    mu : ndarray, shape (D, K)
        Means of q, any real.
    scale : ndarray, shape (K,)
        Log standard deviation of q, one for each unit.
    prior_mu : ndarray, shape (K,)
        Means of the prior p, one for each unit.
    prior_scale : ndarray, shape ()
        Log standard deviation of the prior p, one for all weights.

    Returns
    -------
    divergence : float
        Nats, summed over all D K weights.
    cache : object
        What ``kl_vjp`` needs.
    """
    shift = (mu - prior_mu) * np.exp(-prior_scale)           # (D, K), in prior standard deviations
    log_ratio = scale - prior_scale                          # (K,)
    excess = np.expm1(2 * log_ratio)  # sigma^2 / sigma_0^2 - 1, exact for nearly equal scales
    return (shift * shift / 2 + (excess / 2 - log_ratio)).sum(), (shift, excess, prior_scale)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``mu``, ``scale`` and those of the prior.

    .. math:: \partial_\mu = \frac{\mu - \mu_0}{\sigma_0^2} = -\partial_{\mu_0}, \quad
              \partial_{\log\sigma} = \frac{\sigma^2}{\sigma_0^2} - 1, \quad
              \partial_{\log\sigma_0} = 1 - \frac{\sigma^2 + (\mu - \mu_0)^2}{\sigma_0^2}

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
    dmu = ddivergence * shift * np.exp(-prior_scale)
    dscale = ddivergence * excess * len(shift)               # scale was broadcast over D
    return dmu, dscale, -dmu.sum(axis=0), -ddivergence * (excess + shift * shift).sum()


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    r"""Integrate the divergence of ``kl`` numerically, from the densities alone.

    Parameters
    ----------
    mu : ndarray, shape (D, K)
        Means of q, any real.
    scale : ndarray, shape (K,)
        Log standard deviation of q, one for each unit.
    prior_mu : ndarray, shape (K,)
        Means of the prior p, one for each unit.
    prior_scale : ndarray, shape ()
        Log standard deviation of the prior p, one for all weights.

    Returns
    -------
    divergence : float
        Nats, summed over all D K weights, to seven digits.
    """
    nodes = np.linspace(-12, 12, 481)[:, None, None]         # in standard deviations of q
    x = mu + np.exp(scale) * nodes
    log_q, _ = log_density(x, mu, scale)
    log_p, _ = log_density(x, prior_mu, prior_scale)
    # The trapezoidal rule converges exponentially for an integrand that vanishes at both ends.
    return np.trapezoid(np.exp(log_q) * (log_q - log_p), x, axis=0).sum()


def slope_in_sigma(x, mu, scale):
    r"""Differentiate the log density with respect to the standard deviation, element by element.

    .. math:: \partial_\sigma \log q = \frac1\sigma \Bigl(\frac{(x - \mu)^2}{\sigma^2} - 1\Bigr)

    Parameters
    ----------
    x : ndarray, shape (S, D, K)
        Where to evaluate.
    mu : ndarray, shape (D, K)
        Means, any real.
    scale : ndarray, shape (K,)
        Log standard deviation, one for each unit, any real.

    Returns
    -------
    slope : ndarray, shape (S, D, K)
        Nats per unit of the standard deviation itself, not of ``scale``.
    """
    sigma = np.exp(scale)
    standard = (x - mu) / sigma                              # (S, D, K)
    return (standard * standard - 1) / sigma
