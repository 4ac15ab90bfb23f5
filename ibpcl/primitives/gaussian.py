r"""Gaussian weights: :math:`q(V) = \prod_{d,k} \mathcal N(\mu_{dk}, \sigma_{dk}^2)`.

Kumar et al. (2021), Sec. 3.2 and supplement, "Gaussian distribution Reparameterization".  The scale
is always stored as ``log_sigma``, the logarithm of the standard deviation, so that it needs no
constraint.
"""

import numpy as np

from ibpcl.numerics import expm1_rest

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


def sample(eps, mu, log_sigma):
    r"""Draw weights by moving and scaling standard normal noise.

    .. math:: V = \mu + e^{\log \sigma} \, \varepsilon, \qquad \varepsilon \sim \mathcal N(0, 1)

    Kumar et al. (2021), supplement, "Gaussian distribution Reparameterization".

    Parameters
    ----------
    eps : ndarray, shape (S, D, K)
        Standard normal noise; (S, K) for a bias.
    mu, log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation, any real.

    Returns
    -------
    v : ndarray, shape (S, D, K)
        The weights, one set per sample.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> sample(np.array([[1.0]]), np.array([2.0]), np.array([0.0]))[0]
    array([[3.]])
    """
    noise = np.exp(log_sigma) * eps  # (S, D, K)
    return mu + noise, noise


def sample_vjp(dv, cache):
    r"""Pull the gradient at ``v`` back to ``mu`` and ``log_sigma``.

    .. math:: \partial_\mu V = 1, \qquad \partial_{\log\sigma} V = \sigma \varepsilon
    """
    noise = cache
    return dv.sum(axis=0), (dv * noise).sum(axis=0)  # mu, log_sigma were broadcast over S


def log_density(x, mu, log_sigma):
    r"""Evaluate the log density of a Gaussian, element by element.

    .. math:: \log \mathcal N(x; \mu, \sigma^2) = -\tfrac12 \log 2\pi - \log\sigma - \tfrac12
              \Bigl(\frac{x - \mu}{\sigma}\Bigr)^2

    Parameters
    ----------
    x : ndarray, shape (S, D, K)
        Where to evaluate.
    mu, log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation, any real.

    Returns
    -------
    log_p : ndarray, shape (S, D, K)
        Nats, one value per element.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Examples
    --------
    >>> log_density(np.zeros((1, 1)), np.zeros(1), np.zeros(1))[0].round(4)
    array([[-0.9189]])
    """
    inverse_sigma = np.exp(-log_sigma)
    standard = (x - mu) * inverse_sigma  # (S, D, K)
    return -HALF_LOG_2PI - log_sigma - standard * standard / 2, (standard, inverse_sigma)


def log_density_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``x``, ``mu`` and ``log_sigma``.

    .. math:: \partial_x = -\frac{x - \mu}{\sigma^2} = -\partial_\mu, \qquad
              \partial_{\log\sigma} = \Bigl(\frac{x - \mu}{\sigma}\Bigr)^2 - 1
    """
    standard, inverse_sigma = cache
    dx = -dlog_p * standard * inverse_sigma
    dlog_sigma = dlog_p * (standard * standard - 1)
    return dx, -dx.sum(axis=0), dlog_sigma.sum(axis=0)  # mu, log_sigma were broadcast over S


def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    r"""Compute the KL divergence of diagonal Gaussians, :math:`KL[q(V) \| p(V)]`.

    .. math::

        \sum \log\frac{\sigma_0}{\sigma} + \frac{\sigma^2 + (\mu - \mu_0)^2}{2 \sigma_0^2} - \frac12

    Kumar et al. (2021), Eq. 7, first term.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation of q.
    prior_mu, prior_log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation of the prior p.

    Returns
    -------
    divergence : float
        Nats; summed over all elements, not divided by N.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> float(kl(np.ones(2), np.zeros(2), np.zeros(2), np.zeros(2))[0])
    1.0
    """
    shift = (mu - prior_mu) * np.exp(-prior_log_sigma)  # in prior standard deviations
    log_ratio = log_sigma - prior_log_sigma
    # sigma^2 / sigma_0^2 - 1, computed by expm1, keeps its digits for nearly equal scales.  The
    # divergence needs it without its linear term, which expm1_rest computes.
    excess = np.expm1(2 * log_ratio)
    return (shift * shift + expm1_rest(2 * log_ratio)).sum() / 2, (shift, excess, prior_log_sigma)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to both means and both log standard deviations.

    .. math:: \partial_\mu = \frac{\mu - \mu_0}{\sigma_0^2} = -\partial_{\mu_0}, \quad
              \partial_{\log\sigma} = \frac{\sigma^2}{\sigma_0^2} - 1, \quad
              \partial_{\log\sigma_0} = 1 - \frac{\sigma^2 + (\mu - \mu_0)^2}{\sigma_0^2}
    """
    shift, excess, prior_log_sigma = cache
    dmu = ddivergence * shift * np.exp(-prior_log_sigma)
    dlog_sigma = ddivergence * excess
    return dmu, dlog_sigma, -dmu, -ddivergence * (excess + shift * shift)


def add_kl_gradient(ddivergence, cache, dmu, dlog_sigma):
    r"""Add the gradient of the divergence at ``mu`` and ``log_sigma`` to gradients, in place.

    Only a sum over the parts of an objective needs it.  The gradients at the prior are left out.

    Parameters
    ----------
    ddivergence : float
        Gradient at the divergence.
    cache : tuple
        From :func:`kl`.
    dmu, dlog_sigma : ndarray, shape (D, K)
        Gradients of the other parts of the objective, written to.

    Examples
    --------
    >>> _, cache = kl(np.ones(2), np.zeros(2), np.zeros(2), np.zeros(2))
    >>> dmu, dlog_sigma = np.full(2, 10.0), np.zeros(2)
    >>> add_kl_gradient(1.0, cache, dmu, dlog_sigma)
    >>> dmu.tolist(), dlog_sigma.tolist()
    ([11.0, 11.0], [0.0, 0.0])
    """
    for total, value in zip((dmu, dlog_sigma), kl_vjp(ddivergence, cache), strict=False):
        total += value
