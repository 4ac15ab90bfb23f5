r"""Latent variables with one Gaussian posterior per example, :math:`q(z_n | x_n) = N(m_n, s_n^2)`.

Kumar et al. (2021), Sec. 3.3 and supplement G.  The encoder computes means and log standard
deviations ("amortized inference").  Unlike the parameters of the weights, they therefore have a
sample axis and an example axis.
"""

import numpy as np

from ibpcl.numerics import expm1_rest


def sample(eps, z_mean, z_log_sigma):
    r"""Draw codes by moving and scaling standard normal noise.

    .. math:: z_n = m_n + e^{\log s_n} \, \varepsilon_n, \qquad \varepsilon_n \sim \mathcal N(0, I)

    Kingma and Welling (2014), "Auto-Encoding Variational Bayes", Sec. 2.4.

    Parameters
    ----------
    eps : ndarray, shape (S, N, K)
        Standard normal noise.
    z_mean, z_log_sigma : ndarray, shape (S, N, K)
        Mean and log standard deviation of each example's posterior, any real.

    Returns
    -------
    z : ndarray, shape (S, N, K)
        The codes.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> sample(one, 2 * one, 0 * one)[0]
    array([[[3.]]])
    """
    noise = np.exp(z_log_sigma) * eps  # (S, N, K)
    return z_mean + noise, noise


def sample_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to its mean and log standard deviation.

    .. math:: \partial_m z = 1, \qquad \partial_{\log s} z = s\, \varepsilon
    """
    noise = cache
    return dz, dz * noise  # nothing was broadcast


def kl(z_mean, z_log_sigma, prior_mu, prior_log_sigma):
    r"""Compute the KL divergence of each example's code from the prior, :math:`KL[q(z_n) \| p(z)]`.

    .. math::

        \sum_k \log\frac{\sigma_k}{s_{nk}} + \frac{s_{nk}^2 + (m_{nk} - \mu_k)^2}{2 \sigma_k^2}
            - \frac12

    Kingma and Welling (2014), App. B, for any diagonal prior :math:`\mathcal N(\mu, \sigma^2)`.

    Parameters
    ----------
    z_mean, z_log_sigma : ndarray, shape (S, N, K)
        Mean and log standard deviation of each example's posterior.
    prior_mu, prior_log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of the prior.

    Returns
    -------
    divergence : ndarray, shape (S, N)
        Nats, >= 0; summed over latent units, not over examples.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> kl(np.ones((1, 1, 2)), np.zeros((1, 1, 2)), np.zeros(2), np.zeros(2))[0]
    array([[1.]])
    """
    inverse = np.exp(-prior_log_sigma)
    shift = (z_mean - prior_mu) * inverse  # in prior standard deviations
    log_ratio = z_log_sigma - prior_log_sigma
    # s^2 / sigma^2 - 1, computed by expm1, keeps its digits for nearly equal scales.  The
    # divergence needs it without its linear term, which expm1_rest computes.
    excess = np.expm1(2 * log_ratio)
    return (shift * shift + expm1_rest(2 * log_ratio)).sum(axis=-1) / 2, (shift, excess, inverse)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergences back to both means and both log standard deviations.

    .. math:: \partial_m = \frac{m - \mu}{\sigma^2} = -\partial_\mu, \quad
              \partial_{\log s} = \frac{s^2}{\sigma^2} - 1, \quad
              \partial_{\log\sigma} = 1 - \frac{s^2 + (m - \mu)^2}{\sigma^2}
    """
    shift, excess, inverse = cache
    d = ddivergence[..., None]
    dmean = d * (shift * inverse)
    dlog_sigma = d * excess
    dprior_log_sigma = -(dlog_sigma + d * (shift * shift)).sum(axis=(0, 1))
    # the prior was broadcast over S and N
    return dmean, dlog_sigma, -dmean.sum(axis=(0, 1)), dprior_log_sigma
