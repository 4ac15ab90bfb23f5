r"""Gaussian weights with ``scale`` the logarithm of the variance, and the divergence of the prior from q."""

WORDS = {
    "Log standard deviation": "Log variance",
    "Compute the divergence KL[q || p] of the weights' Gaussians from their priors":
        "Compute the divergence KL[p || q] of the priors from the weights' Gaussians: the reversed one",
    "Integrate the divergence": "Integrate the reversed divergence",
}


def sample(eps, mu, scale):
    noise = np.exp(scale / 2) * eps                          # (S, D, K)
    return mu + noise, noise


def sample_vjp(dv, cache):
    r""".. math:: \partial_\mu v = 1, \qquad \partial_{\log\sigma^2} v = \tfrac12 \sigma \varepsilon"""
    noise = cache
    return dv.sum(axis=0), (dv * noise).sum(axis=(0, 1)) / 2    # mu was broadcast over S, scale over S and D


def log_density(x, mu, scale):
    inverse_sigma = np.exp(-scale / 2)
    standard = (x - mu) * inverse_sigma                      # (S, D, K)
    return -HALF_LOG_2PI - (scale + standard * standard) / 2, (standard, inverse_sigma)


def log_density_vjp(dlog_p, cache):
    r""".. math:: \partial_x = -\frac{x - \mu}{\sigma^2} = -\partial_\mu, \qquad
              \partial_{\log\sigma^2} = \tfrac12 \Bigl(\frac{x - \mu}{\sigma}\Bigr)^2 - \tfrac12
    """
    standard, inverse_sigma = cache
    dx = -dlog_p * standard * inverse_sigma
    dscale = dlog_p * (standard * standard - 1) / 2
    return dx, -dx.sum(axis=0), dscale.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    shift = (mu - prior_mu) * np.exp(-scale / 2)             # (D, K), in standard deviations of q
    log_ratio = prior_scale - scale                          # (K,)
    excess = np.expm1(log_ratio)                             # sigma_0^2 / sigma^2 - 1, exact for nearly equal scales
    return (shift * shift + (excess - log_ratio)).sum() / 2, (shift, excess, scale)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_\mu = \frac{\mu - \mu_0}{\sigma^2} = -\partial_{\mu_0}, \quad
              \partial_{\log\sigma^2} = \frac12 - \frac{\sigma_0^2 + (\mu - \mu_0)^2}{2 \sigma^2}, \quad
              \partial_{\log\sigma_0^2} = \frac{\sigma_0^2}{2 \sigma^2} - \frac12
    """
    shift, excess, scale = cache
    dmu = ddivergence * shift * np.exp(-scale / 2)
    dscale = -ddivergence * (excess + shift * shift).sum(axis=0) / 2
    return dmu, dscale, -dmu.sum(axis=0), ddivergence * excess.sum() * len(shift) / 2


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    nodes = np.linspace(-12, 12, 481)[:, None, None]         # in standard deviations of p
    x = prior_mu + np.exp(prior_scale / 2) * nodes + 0 * mu
    log_q, _ = log_density(x, mu, scale)
    log_p, _ = log_density(x, prior_mu, prior_scale)
    # The trapezoidal rule converges exponentially for an integrand that vanishes at both ends.
    return np.trapezoid(np.exp(log_p) * (log_p - log_q), x, axis=0).sum()


def slope_in_sigma(x, mu, scale):
    r""".. math:: \partial_\sigma \log q = \frac1\sigma \Bigl(\frac{(x - \mu)^2}{\sigma^2} - 1\Bigr), \quad \sigma = e^{s / 2}"""
    sigma = np.exp(scale / 2)
    standard = (x - mu) / sigma                              # (S, D, K)
    return (standard * standard - 1) / sigma
