r"""Gaussian weights with ``scale`` the logarithm to base 2, and densities and divergences in bits."""

LOG_2 = math.log(2)
HALF_LOG2_2PI = 0.5 * math.log2(2 * math.pi)

WORDS = {
    "Log standard deviation": "Logarithm to base 2 of the standard deviation",
    "Evaluate the log density of a Gaussian": "Evaluate the logarithm to base 2 of a Gaussian's density",
    "Nats": "Bits",
}


def sample(eps, mu, scale):
    noise = np.exp(LOG_2 * scale) * eps                      # (S, D, K)
    return mu + noise, noise


def sample_vjp(dv, cache):
    r""".. math:: \partial_\mu v = 1, \qquad \partial_{\log_2\sigma} v = \sigma \varepsilon \ln 2"""
    noise = cache
    return dv.sum(axis=0), LOG_2 * (dv * noise).sum(axis=(0, 1))    # mu: broadcast over S, scale: over S and D


def log_density(x, mu, scale):
    inverse_sigma = np.exp(-LOG_2 * scale)
    standard = (x - mu) * inverse_sigma                      # (S, D, K)
    return -HALF_LOG2_2PI - scale - standard * standard / (2 * LOG_2), (standard, inverse_sigma)


def log_density_vjp(dlog_p, cache):
    r""".. math:: \partial_x = -\frac{x - \mu}{\sigma^2 \ln 2} = -\partial_\mu, \qquad
              \partial_{\log_2\sigma} = \Bigl(\frac{x - \mu}{\sigma}\Bigr)^2 - 1
    """
    standard, inverse_sigma = cache
    dx = -dlog_p * standard * inverse_sigma / LOG_2
    dscale = dlog_p * (standard * standard - 1)
    return dx, -dx.sum(axis=0), dscale.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    shift = (mu - prior_mu) * np.exp(-LOG_2 * prior_scale)   # (D, K), in prior standard deviations
    log_ratio = LOG_2 * (scale - prior_scale)                # (K,), nats
    excess = np.expm1(2 * log_ratio)                         # sigma^2 / sigma_0^2 - 1, exact for nearly equal scales
    return (shift * shift / 2 + (excess / 2 - log_ratio)).sum() / LOG_2, (shift, excess, prior_scale)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_\mu = \frac{\mu - \mu_0}{\sigma_0^2 \ln 2} = -\partial_{\mu_0}, \quad
              \partial_{\log_2\sigma} = \frac{\sigma^2}{\sigma_0^2} - 1, \quad
              \partial_{\log_2\sigma_0} = 1 - \frac{\sigma^2 + (\mu - \mu_0)^2}{\sigma_0^2}
    """
    shift, excess, prior_scale = cache
    dmu = ddivergence * shift * np.exp(-LOG_2 * prior_scale) / LOG_2
    dscale = ddivergence * excess * len(shift)               # scale was broadcast over D
    return dmu, dscale, -dmu.sum(axis=0), -ddivergence * (excess + shift * shift).sum()


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    nodes = np.linspace(-12, 12, 481)[:, None, None]         # in standard deviations of q
    x = mu + np.exp(LOG_2 * scale) * nodes
    log_q, _ = log_density(x, mu, scale)
    log_p, _ = log_density(x, prior_mu, prior_scale)
    # The trapezoidal rule converges exponentially for an integrand that vanishes at both ends.
    return np.trapezoid(np.exp(LOG_2 * log_q) * (log_q - log_p), x, axis=0).sum()


def slope_in_sigma(x, mu, scale):
    r""".. math:: \partial_\sigma \log_2 q = \frac{1}{\sigma \ln 2} \Bigl(\frac{(x - \mu)^2}{\sigma^2} - 1\Bigr)"""
    sigma = np.exp(LOG_2 * scale)
    standard = (x - mu) / sigma                              # (S, D, K)
    return (standard * standard - 1) / (sigma * LOG_2)
