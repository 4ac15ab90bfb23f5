r"""Masks with log-odds to base 2, and densities and divergences in bits."""

import math

import numpy as np

LOG_2 = math.log(2)
LOG2_LOG_2 = math.log2(LOG_2)


def _softplus(x):
    """Compute log(1 + e^x); the branch is chosen by the real part."""
    positive = x.real > 0
    return np.where(positive, x, 0) + np.log1p(np.exp(np.where(positive, -x, x)))


def _sigmoid(x):
    """Compute 1 / (1 + e^-x) with the relative precision of both tails."""
    positive = x.real > 0
    e = np.exp(np.where(positive, -x, x))
    return np.where(positive, 1, e) / (1 + e)


def _log_size(x):
    """Compute log |x|."""
    return np.log(np.where(x.real < 0, -x, x))


def _divergence(own, other):
    """Compute KL[sigmoid(own) || sigmoid(other)], element by element, with the digits of nearly equal ones."""
    own, other = own + 0 * other, other + 0 * own
    flip = own.real > 0                                      # on the side below one half nothing cancels
    own, other = np.where(flip, -own, own), np.where(flip, -other, other)
    theta, delta = _sigmoid(own), other - own
    near = delta.real < 30
    growth = np.log1p(theta * np.expm1(np.where(near, delta, 0)))
    return np.where(near, growth, _softplus(other) - _softplus(own)) - theta * delta


def sample(u, logit_theta, tau):
    r"""Draw relaxed masks by inversion, from log-odds to base 2.

    Parameters
    ----------
    u : ndarray, shape (S, D, K)
        Uniform noise, strictly inside (0, 1).
    logit_theta : ndarray, shape (D, K)
        Log-odds to base 2 of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    z : ndarray, shape (S, D, K)
        Relaxed masks in (0, 1).
    cache : object
        What ``sample_vjp`` needs.
    """
    y = (LOG_2 * logit_theta + np.log(u) - np.log1p(-u)) / tau           # (S, D, K), nats
    return _sigmoid(y), (y, tau)


def sample_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to ``logit_theta`` and ``tau``.

    .. math:: \partial_y z = z (1 - z), \qquad \partial_{\operatorname{logit}_2\theta} y = \frac{\ln 2}\tau, \qquad
              \partial_\tau y = -\frac{y}{\tau}, \qquad y \text{ in nats}

    Parameters
    ----------
    dz : ndarray, shape (S, D, K)
        Gradient at ``z``.
    cache : object
        From ``sample``.

    Returns
    -------
    dlogit_theta : ndarray, shape (D, K)
    dtau : ndarray, shape (K,)
    """
    y, tau = cache
    dscaled = dz * _sigmoid(y) * _sigmoid(-y) / tau          # 1 - z by its own sigmoid keeps its digits
    return LOG_2 * dscaled.sum(axis=0), -(dscaled * y).sum(axis=(0, 1))  # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r"""Evaluate the logarithm to base 2 of the density of y = log2(z / (1 - z)), element by element.

    Parameters
    ----------
    y : ndarray, shape (S, D, K)
        Logits to base 2 of relaxed masks.
    logit_theta : ndarray, shape (D, K)
        Log-odds to base 2 of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Bits, one value for each element; the density of y, not of z.
    cache : object
        What ``log_density_vjp`` needs.
    """
    r = LOG_2 * (logit_theta - tau * y)                      # (S, D, K), nats
    return LOG2_LOG_2 + (_log_size(tau) + r - 2 * _softplus(r)) / LOG_2, (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``y``, ``logit_theta`` and ``tau``.

    .. math:: \partial_r \log_2 q = -\frac{\tanh(r / 2)}{\ln 2}, \quad \partial_y r = -\tau \ln 2, \quad
              \partial_\tau \log_2 q = \frac{1}{\tau \ln 2} - y \ln 2\, \partial_r \log_2 q

    Parameters
    ----------
    dlog_q : ndarray, shape (S, D, K)
        Gradient at ``log_q``.
    cache : object
        From ``log_density``.

    Returns
    -------
    dy : ndarray, shape (S, D, K)
    dlogit_theta : ndarray, shape (D, K)
    dtau : ndarray, shape (K,)
    """
    r, y, tau = cache
    dscaled = -dlog_q * np.tanh(r / 2)                       # the factors ln 2 of r and of the logarithm cancel
    dtau = dlog_q / (tau * LOG_2) - dscaled * y              # of the normalizer, and through r
    return -tau * dscaled, dscaled.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    r"""Compute the divergence KL[q || p] of Bernoulli masks from their prior, in bits.

    Parameters
    ----------
    logit_theta : ndarray, shape (D, K)
        Log-odds to base 2 of the mask being on, any real.
    logit_pi : ndarray, shape (K,)
        Log-odds to base 2 of the prior, one for each unit.

    Returns
    -------
    divergence : float
        Bits, summed over all D K masks.
    cache : object
        What ``kl_vjp`` needs.
    """
    divergence = _divergence(LOG_2 * logit_theta, LOG_2 * logit_pi).sum() / LOG_2
    return divergence, (LOG_2 * logit_theta, LOG_2 * logit_pi)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``.

    .. math:: \partial_{\operatorname{logit}_2\theta} = \theta (1 - \theta)
              (\operatorname{logit}_e\theta - \operatorname{logit}_e\pi), \qquad
              \partial_{\operatorname{logit}_2\pi} = \sum_d \pi - \theta

    Parameters
    ----------
    ddivergence : float
        Gradient at the divergence.
    cache : object
        From ``kl``.

    Returns
    -------
    dlogit_theta : ndarray, shape (D, K)
    dlogit_pi : ndarray, shape (K,)
    """
    logit_theta, logit_pi = cache
    theta = _sigmoid(logit_theta)
    dlogit_theta = ddivergence * theta * _sigmoid(-logit_theta) * (logit_theta - logit_pi)
    dlogit_pi = ddivergence * (_sigmoid(logit_pi) - theta).sum(axis=0)   # logit_pi was broadcast over D
    return dlogit_theta, dlogit_pi


def mean_mask(logit_theta, tau):
    r"""Compute the mean of ``z`` over all draws by integrating over the density of y.

    Parameters
    ----------
    logit_theta : ndarray, shape (K,)
        Log-odds to base 2 of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        To seven digits.
    """
    r = np.linspace(-40, 40, 4001)[:, None]                  # r = ln 2 (logit_theta - tau y) is standard logistic
    y = (logit_theta - r / LOG_2) / tau
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = dr / (ln 2 |tau|).
    return np.trapezoid(np.exp2(log_q[:, 0]) * _sigmoid(LOG_2 * y), r, axis=0) / (np.abs(tau) * LOG_2)
