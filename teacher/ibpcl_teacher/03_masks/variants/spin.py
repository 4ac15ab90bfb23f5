r"""Masks as spins between -1 and 1, and the symmetric divergence."""

import math

WORDS = {
    "Draw relaxed masks": "Draw relaxed spins",
    "Log-odds of the mask being on": "Log-odds of the spin being up",
    "Relaxed masks in (0": "Relaxed spins in (-1",
    "Evaluate the log density of y = log(z / (1 - z))": "Evaluate the log density of y = artanh z",
    "Logits of relaxed masks": "Inverse hyperbolic tangents of relaxed spins",
    "Compute the divergence KL[q || p] of Bernoulli masks from their prior":
        "Compute the symmetric divergence KL[q || p] + KL[p || q] of Bernoulli masks and their prior",
}


def _halves(logit):
    """Return probability and its complement, each with all its digits."""
    return _sigmoid(logit), _sigmoid(-logit)


def sample(u, logit_theta, tau):
    y = (logit_theta + np.log(u) - np.log1p(-u)) / (2 * tau) # (S, D, K)
    return np.tanh(y), (y, tau)


def sample_vjp(dz, cache):
    r""".. math:: \partial_y z = \frac{1}{\cosh^2 y}, \qquad
              \partial_{\operatorname{logit}\theta} y = \frac{1}{2 \tau}, \qquad \partial_\tau y = -\frac{y}{\tau}
    """
    y, tau = cache
    up, down = _halves(2 * y)
    dscaled = dz * 4 * up * down / tau                       # 1 - z^2 = 4 up down keeps its digits
    return dscaled.sum(axis=0) / 2, -(dscaled * y).sum(axis=(0, 1))      # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r = logit_theta - 2 * tau * y                            # (S, D, K)
    return math.log(2) + _log_size(tau) + r - 2 * _softplus(r), (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r""".. math:: \partial_r \log q = 1 - 2 \sigma(r) = -\tanh\tfrac r2, \quad \partial_y r = -2 \tau, \quad
              \partial_\tau \log q = \frac1\tau - 2 y\, \partial_r \log q
    """
    r, y, tau = cache
    dr = -dlog_q * np.tanh(r / 2)
    dtau = dlog_q / tau - 2 * dr * y                         # of the normalizer, and through r
    return -2 * tau * dr, dr.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    delta = logit_theta - logit_pi                           # (D, K)
    (theta, off), (pi, prior_off) = _halves(logit_theta), _halves(logit_pi)
    # theta - pi = off pi (e^delta - 1) = -theta (1 - pi) (e^-delta - 1): the exponential that cannot overflow.
    positive = delta.real > 0
    rise = -np.expm1(np.where(positive, -delta, delta))
    gap = np.where(positive, theta * prior_off * rise, -off * pi * rise)
    return (gap * delta).sum(), (gap, delta, theta * off, pi * prior_off)


def kl_vjp(ddivergence, cache):
    r""".. math:: \partial_{\operatorname{logit}\theta} = \theta (1 - \theta) \Delta + \theta - \pi, \quad
              \partial_{\operatorname{logit}\pi} = -\sum_d \pi (1 - \pi) \Delta + \theta - \pi, \quad
              \Delta = \operatorname{logit}\theta - \operatorname{logit}\pi
    """
    gap, delta, spread, prior_spread = cache
    dlogit_theta = ddivergence * (spread * delta + gap)
    dlogit_pi = -ddivergence * (prior_spread * delta + gap).sum(axis=0)  # logit_pi was broadcast over D
    return dlogit_theta, dlogit_pi


def mean_mask(logit_theta, tau):
    r = np.linspace(-40, 40, 4001)[:, None]                  # r = logit_theta - 2 tau y is standard logistic
    y = (logit_theta - r) / (2 * tau)
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = dr / |2 tau|.
    return np.trapezoid(np.exp(log_q[:, 0]) * np.tanh(y), r, axis=0) / np.abs(2 * tau)


def slope_in_noise(u, logit_theta, tau):
    r""".. math:: \partial_u z = \frac{1 - z^2}{2 \tau u (1 - u)}"""
    y = (logit_theta + np.log(u) - np.log1p(-u)) / (2 * tau) # (S, D, K)
    up, down = _halves(2 * y)
    return 2 * up * down / (tau * u * (1 - u))               # 1 - z^2 = 4 up down
