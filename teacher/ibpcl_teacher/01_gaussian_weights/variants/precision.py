r"""Gaussian weights with ``scale`` the logarithm of the precision, one over the variance."""

WORDS = {
    "Log standard deviation": "Log precision (one over the variance)",
}


def sample(eps, mu, scale):
    noise = np.exp(-scale / 2) * eps                         # (S, D, K)
    return mu + noise, noise


def sample_vjp(dv, cache):
    r""".. math:: \partial_\mu v = 1, \qquad \partial_{\log\lambda} v = -\tfrac12 \sigma \varepsilon"""
    noise = cache
    return dv.sum(axis=0), -(dv * noise).sum(axis=(0, 1)) / 2   # mu was broadcast over S, scale over S and D


def log_density(x, mu, scale):
    root = np.exp(scale / 2)                                 # one over the standard deviation
    standard = (x - mu) * root                               # (S, D, K)
    return scale / 2 - HALF_LOG_2PI - standard * standard / 2, (standard, root)


def log_density_vjp(dlog_p, cache):
    r""".. math:: \partial_x = -\lambda (x - \mu) = -\partial_\mu, \qquad
              \partial_{\log\lambda} = \tfrac12 - \tfrac\lambda2 (x - \mu)^2
    """
    standard, root = cache
    dx = -dlog_p * standard * root
    dscale = dlog_p * (1 - standard * standard) / 2
    return dx, -dx.sum(axis=0), dscale.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    shift = (mu - prior_mu) * np.exp(prior_scale / 2)        # (D, K), in prior standard deviations
    log_ratio = prior_scale - scale                          # (K,), twice the logarithm of sigma / sigma_0
    excess = np.expm1(log_ratio)                             # sigma^2 / sigma_0^2 - 1, exact for nearly equal scales
    return (shift * shift + (excess - log_ratio)).sum() / 2, (shift, excess, prior_scale)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_\mu = \lambda_0 (\mu - \mu_0) = -\partial_{\mu_0}, \quad
              \partial_{\log\lambda} = \tfrac12 - \frac{\lambda_0}{2 \lambda}, \quad
              \partial_{\log\lambda_0} = \tfrac{\lambda_0}2 \Bigl(\frac1\lambda + (\mu - \mu_0)^2\Bigr) - \tfrac12
    """
    shift, excess, prior_scale = cache
    dmu = ddivergence * shift * np.exp(prior_scale / 2)
    dscale = -ddivergence * excess * len(shift) / 2          # scale was broadcast over D
    return dmu, dscale, -dmu.sum(axis=0), ddivergence * (excess + shift * shift).sum() / 2


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    nodes = np.linspace(-12, 12, 481)[:, None, None]         # in standard deviations of q
    x = mu + np.exp(-scale / 2) * nodes
    log_q, _ = log_density(x, mu, scale)
    log_p, _ = log_density(x, prior_mu, prior_scale)
    # The trapezoidal rule converges exponentially for an integrand that vanishes at both ends.
    return np.trapezoid(np.exp(log_q) * (log_q - log_p), x, axis=0).sum()


def slope_in_sigma(x, mu, scale):
    r""".. math:: \partial_\sigma \log q = \frac1\sigma \Bigl(\frac{(x - \mu)^2}{\sigma^2} - 1\Bigr), \quad \sigma = e^{-s / 2}"""
    sigma = np.exp(-scale / 2)
    standard = (x - mu) / sigma                              # (S, D, K)
    return (standard * standard - 1) / sigma
