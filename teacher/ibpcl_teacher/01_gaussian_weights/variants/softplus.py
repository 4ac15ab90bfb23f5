r"""Gaussian weights with the standard deviation log(1 + exp(scale))."""

WORDS = {
    "Log standard deviation": "The s in sigma = log(1 + exp(s))",
}


def _softplus(s):
    positive = s.real > 0
    return np.where(positive, s, 0) + np.log1p(np.exp(np.where(positive, -s, s)))


def _slope(s):
    """Return d log sigma / ds: one for very negative s, where sigma = e^s."""
    positive = s.real > 0
    e = np.exp(np.where(positive, -s, s))
    return np.where(positive, 1, e) / (1 + e) / _softplus(s)


def sample(eps, mu, scale):
    noise = _softplus(scale) * eps                           # (S, D, K)
    return mu + noise, (noise, scale)


def sample_vjp(dv, cache):
    r""".. math:: \partial_\mu v = 1, \qquad \partial_s v = \frac{\varepsilon}{1 + e^{-s}}"""
    noise, scale = cache
    # mu was broadcast over S, scale over S and D.
    return dv.sum(axis=0), _slope(scale) * (dv * noise).sum(axis=(0, 1))


def log_density(x, mu, scale):
    sigma = _softplus(scale)
    standard = (x - mu) / sigma                              # (S, D, K)
    return -HALF_LOG_2PI - np.log(sigma) - standard * standard / 2, (standard, sigma, scale)


def log_density_vjp(dlog_p, cache):
    r""".. math:: \partial_x = -\frac{x - \mu}{\sigma^2} = -\partial_\mu, \qquad
              \partial_s = \frac{1}{\sigma (1 + e^{-s})} \Bigl(\Bigl(\frac{x - \mu}{\sigma}\Bigr)^2 - 1\Bigr)
    """
    standard, sigma, scale = cache
    dx = -dlog_p * standard / sigma
    dscale = dlog_p * (standard * standard - 1) * _slope(scale)
    return dx, -dx.sum(axis=0), dscale.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    sigma, prior_sigma = _softplus(scale), _softplus(prior_scale)
    shift = (mu - prior_mu) / prior_sigma                    # (D, K), in prior standard deviations
    growth = (sigma - prior_sigma) / prior_sigma             # (K,), sigma / sigma_0 - 1
    excess = growth * (2 + growth)                           # sigma^2 / sigma_0^2 - 1, exact for nearly equal scales
    near = np.abs(growth) < 0.5
    log_ratio = np.where(near, np.log1p(np.where(near, growth, 0)), np.log(sigma) - np.log(prior_sigma))
    return (shift * shift / 2 + (excess / 2 - log_ratio)).sum(), (shift, excess, prior_sigma, scale, prior_scale)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_\mu = \frac{\mu - \mu_0}{\sigma_0^2} = -\partial_{\mu_0}, \quad
              \partial_{\log\sigma} = \frac{\sigma^2}{\sigma_0^2} - 1, \quad
              \frac{d\log\sigma}{ds} = \frac{1}{\sigma (1 + e^{-s})}, \quad
              \partial_{\log\sigma_0} = 1 - \frac{\sigma^2 + (\mu - \mu_0)^2}{\sigma_0^2}
    """
    shift, excess, prior_sigma, scale, prior_scale = cache
    dmu = ddivergence * shift / prior_sigma
    dscale = ddivergence * excess * len(shift) * _slope(scale)           # scale was broadcast over D
    dprior_scale = -ddivergence * (excess + shift * shift).sum() * _slope(prior_scale)
    return dmu, dscale, -dmu.sum(axis=0), dprior_scale


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    nodes = np.linspace(-12, 12, 481)[:, None, None]         # in standard deviations of q
    x = mu + _softplus(scale) * nodes
    log_q, _ = log_density(x, mu, scale)
    log_p, _ = log_density(x, prior_mu, prior_scale)
    # The trapezoidal rule converges exponentially for an integrand that vanishes at both ends.
    return np.trapezoid(np.exp(log_q) * (log_q - log_p), x, axis=0).sum()


def slope_in_sigma(x, mu, scale):
    r""".. math:: \partial_\sigma \log q = \frac1\sigma \Bigl(\frac{(x - \mu)^2}{\sigma^2} - 1\Bigr), \quad \sigma = \log(1 + e^s)"""
    sigma = _softplus(scale)
    standard = (x - mu) / sigma                              # (S, D, K)
    return (standard * standard - 1) / sigma
