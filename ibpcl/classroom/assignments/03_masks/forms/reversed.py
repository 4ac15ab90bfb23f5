r"""Masks with inverse temperatures, and the divergence of the prior from the masks."""

import numpy as np


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
    r"""Draw relaxed masks of either sign of inverse temperature by inversion.

    Parameters
    ----------
    u : ndarray, shape (S, D, K)
        Uniform noise, strictly inside (0, 1).
    logit_theta : ndarray, shape (D, K)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Inverse temperatures, one for each unit: any real but 0.

    Returns
    -------
    z : ndarray, shape (S, D, K)
        Relaxed masks in (0, 1).
    cache : object
        What ``sample_vjp`` needs.
    """
    noisy = logit_theta + np.log(u) - np.log1p(-u)           # (S, D, K)
    return _sigmoid(tau * noisy), (noisy, tau)


def sample_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to ``logit_theta`` and ``tau``.

    .. math:: \partial_y z = z (1 - z), \qquad \partial_{\operatorname{logit}\theta} y = \tau, \qquad
              \partial_\tau y = \frac{y}{\tau}

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
    noisy, tau = cache
    dy = dz * _sigmoid(tau * noisy) * _sigmoid(-tau * noisy)             # 1 - z by its own sigmoid keeps its digits
    return (dy * tau).sum(axis=0), (dy * noisy).sum(axis=(0, 1))         # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r"""Evaluate the log density of y = log(z / (1 - z)), element by element.

    Parameters
    ----------
    y : ndarray, shape (S, D, K)
        Logits of relaxed masks.
    logit_theta : ndarray, shape (D, K)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Inverse temperatures, one for each unit: any real but 0.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value for each element; the density of y, not of z.
    cache : object
        What ``log_density_vjp`` needs.
    """
    r = logit_theta - y / tau                                # (S, D, K)
    return r - 2 * _softplus(r) - _log_size(tau), (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``y``, ``logit_theta`` and ``tau``.

    .. math:: \partial_r \log q = 1 - 2 \sigma(r) = -\tanh\tfrac r2, \quad \partial_y r = -\frac1\tau, \quad
              \partial_\tau \log q = -\frac1\tau + \frac{y}{\tau^2}\, \partial_r \log q

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
    dr = -dlog_q * np.tanh(r / 2)
    dtau = (dr * y / tau - dlog_q) / tau                     # through r, and of the normalizer
    return -dr / tau, dr.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    r"""Compute the reversed divergence KL[p || q] of the prior from Bernoulli masks.

    Parameters
    ----------
    logit_theta : ndarray, shape (D, K)
        Log-odds of the mask being on, any real.
    logit_pi : ndarray, shape (K,)
        Log-odds of the prior, one for each unit.

    Returns
    -------
    divergence : float
        Nats, summed over all D K masks.
    cache : object
        What ``kl_vjp`` needs.
    """
    return _divergence(logit_pi, logit_theta).sum(), (logit_theta, logit_pi)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``.

    .. math:: \partial_{\operatorname{logit}\theta} = \theta - \pi, \qquad
              \partial_{\operatorname{logit}\pi} = \pi (1 - \pi) \sum_d
              \operatorname{logit}\pi - \operatorname{logit}\theta

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
    pi = _sigmoid(logit_pi)
    dlogit_theta = ddivergence * (_sigmoid(logit_theta) - pi)
    dlogit_pi = ddivergence * pi * _sigmoid(-logit_pi) * (logit_pi - logit_theta).sum(axis=0)
    return dlogit_theta, dlogit_pi                           # logit_pi was broadcast over D


def mean_mask(logit_theta, tau):
    r"""Compute the mean of ``z`` over all draws by integrating over the density of y.

    Parameters
    ----------
    logit_theta : ndarray, shape (K,)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Inverse temperatures, one for each unit: any real but 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        To seven digits.
    """
    r = np.linspace(-40, 40, 4001)[:, None]                  # r = logit_theta - y / tau is standard logistic
    y = (logit_theta - r) * tau
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = |tau| dr.
    return np.trapezoid(np.exp(log_q[:, 0]) * _sigmoid(y), r, axis=0) * np.abs(tau)
