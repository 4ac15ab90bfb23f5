r"""Masks with log-odds to base 2, and densities and divergences in bits."""

import math

LOG_2 = math.log(2)
LOG2_LOG_2 = math.log2(LOG_2)

WORDS = {
    "Draw relaxed masks of either sign of temperature by inversion":
        "Draw relaxed masks by inversion, from log-odds to base 2",
    "Log-odds": "Log-odds to base 2",
    "Evaluate the log density of y = log(z / (1 - z))":
        "Evaluate the logarithm to base 2 of the density of y = log2(z / (1 - z))",
    "Logits": "Logits to base 2",
    "Nats": "Bits",
    "Compute the divergence KL[q || p] of Bernoulli masks from their prior":
        "Compute the divergence KL[q || p] of Bernoulli masks from their prior, in bits",
}


def sample(u, logit_theta, tau):
    y = (LOG_2 * logit_theta + np.log(u) - np.log1p(-u)) / tau           # (S, D, K), nats
    return _sigmoid(y), (y, tau)


def sample_vjp(dz, cache):
    r""".. math:: \partial_y z = z (1 - z), \qquad \partial_{\operatorname{logit}_2\theta} y = \frac{\ln 2}\tau, \qquad
              \partial_\tau y = -\frac{y}{\tau}, \qquad y \text{ in nats}
    """
    y, tau = cache
    dscaled = dz * _sigmoid(y) * _sigmoid(-y) / tau          # 1 - z by its own sigmoid keeps its digits
    return LOG_2 * dscaled.sum(axis=0), -(dscaled * y).sum(axis=(0, 1))  # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r = LOG_2 * (logit_theta - tau * y)                      # (S, D, K), nats
    return LOG2_LOG_2 + (_log_size(tau) + r - 2 * _softplus(r)) / LOG_2, (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r""".. math:: \partial_r \log_2 q = -\frac{\tanh(r / 2)}{\ln 2}, \quad \partial_y r = -\tau \ln 2, \quad
              \partial_\tau \log_2 q = \frac{1}{\tau \ln 2} - y \ln 2\, \partial_r \log_2 q
    """
    r, y, tau = cache
    dscaled = -dlog_q * np.tanh(r / 2)                       # the factors ln 2 of r and of the logarithm cancel
    dtau = dlog_q / (tau * LOG_2) - dscaled * y              # of the normalizer, and through r
    return -tau * dscaled, dscaled.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    divergence = _divergence(LOG_2 * logit_theta, LOG_2 * logit_pi).sum() / LOG_2
    return divergence, (LOG_2 * logit_theta, LOG_2 * logit_pi)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_{\operatorname{logit}_2\theta} = \theta (1 - \theta)
              (\operatorname{logit}_e\theta - \operatorname{logit}_e\pi), \qquad
              \partial_{\operatorname{logit}_2\pi} = \sum_d \pi - \theta
    """
    logit_theta, logit_pi = cache
    theta = _sigmoid(logit_theta)
    dlogit_theta = ddivergence * theta * _sigmoid(-logit_theta) * (logit_theta - logit_pi)
    dlogit_pi = ddivergence * (_sigmoid(logit_pi) - theta).sum(axis=0)   # logit_pi was broadcast over D
    return dlogit_theta, dlogit_pi


def mean_mask(logit_theta, tau):
    r = np.linspace(-40, 40, 4001)[:, None]                  # r = ln 2 (logit_theta - tau y) is standard logistic
    y = (logit_theta - r / LOG_2) / tau
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = dr / (ln 2 |tau|).
    return np.trapezoid(np.exp2(log_q[:, 0]) * _sigmoid(LOG_2 * y), r, axis=0) / (np.abs(tau) * LOG_2)


def slope_in_noise(u, logit_theta, tau):
    r""".. math:: \partial_u z = \frac{z (1 - z)}{\tau u (1 - u)}, \quad z = \sigma(y \ln 2)"""
    y = (LOG_2 * logit_theta + np.log(u) - np.log1p(-u)) / tau           # (S, D, K), nats
    return _sigmoid(y) * _sigmoid(-y) / (tau * u * (1 - u))
