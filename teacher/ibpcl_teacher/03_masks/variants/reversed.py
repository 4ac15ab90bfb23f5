r"""Masks with inverse temperatures, and the divergence of the prior from the masks."""

WORDS = {
    "Draw relaxed masks of either sign of temperature by inversion":
        "Draw relaxed masks of either sign of inverse temperature by inversion",
    "Temperatures": "Inverse temperatures",
    "Compute the divergence KL[q || p] of Bernoulli masks from their prior":
        "Compute the reversed divergence KL[p || q] of the prior from Bernoulli masks",
}


def sample(u, logit_theta, tau):
    noisy = logit_theta + np.log(u) - np.log1p(-u)           # (S, D, K)
    return _sigmoid(tau * noisy), (noisy, tau)


def sample_vjp(dz, cache):
    r""".. math:: \partial_y z = z (1 - z), \qquad \partial_{\operatorname{logit}\theta} y = \tau, \qquad
              \partial_\tau y = \frac{y}{\tau}
    """
    noisy, tau = cache
    dy = dz * _sigmoid(tau * noisy) * _sigmoid(-tau * noisy)             # 1 - z by its own sigmoid keeps its digits
    return (dy * tau).sum(axis=0), (dy * noisy).sum(axis=(0, 1))         # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r = logit_theta - y / tau                                # (S, D, K)
    return r - 2 * _softplus(r) - _log_size(tau), (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r""".. math:: \partial_r \log q = 1 - 2 \sigma(r) = -\tanh\tfrac r2, \quad \partial_y r = -\frac1\tau, \quad
              \partial_\tau \log q = -\frac1\tau + \frac{y}{\tau^2}\, \partial_r \log q
    """
    r, y, tau = cache
    dr = -dlog_q * np.tanh(r / 2)
    dtau = (dr * y / tau - dlog_q) / tau                     # through r, and of the normalizer
    return -dr / tau, dr.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    return _divergence(logit_pi, logit_theta).sum(), (logit_theta, logit_pi)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_{\operatorname{logit}\theta} = \theta - \pi, \qquad
              \partial_{\operatorname{logit}\pi} = \pi (1 - \pi) \sum_d
              \operatorname{logit}\pi - \operatorname{logit}\theta
    """
    logit_theta, logit_pi = cache
    pi = _sigmoid(logit_pi)
    dlogit_theta = ddivergence * (_sigmoid(logit_theta) - pi)
    dlogit_pi = ddivergence * pi * _sigmoid(-logit_pi) * (logit_pi - logit_theta).sum(axis=0)
    return dlogit_theta, dlogit_pi                           # logit_pi was broadcast over D


def mean_mask(logit_theta, tau):
    r = np.linspace(-40, 40, 4001)[:, None]                  # r = logit_theta - y / tau is standard logistic
    y = (logit_theta - r) * tau
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = |tau| dr.
    return np.trapezoid(np.exp(log_q[:, 0]) * _sigmoid(y), r, axis=0) * np.abs(tau)


def slope_in_noise(u, logit_theta, tau):
    r""".. math:: \partial_u z = \frac{\tau z (1 - z)}{u (1 - u)}"""
    y = tau * (logit_theta + np.log(u) - np.log1p(-u))       # (S, D, K)
    return tau * _sigmoid(y) * _sigmoid(-y) / (u * (1 - u))
