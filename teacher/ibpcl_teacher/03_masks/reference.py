r"""Masks: relaxed draws, the density of their logits and their divergence, with gradients."""

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
    """Compute KL[sigmoid(own) || sigmoid(other)], element by element, without cancellation."""
    own, other = own + 0 * other, other + 0 * own
    flip = own.real > 0  # below one half nothing cancels
    own = np.where(flip, -own, own)
    other = np.where(flip, -other, other)
    theta = _sigmoid(own)
    delta = other - own
    near = delta.real < 30
    growth = np.log1p(theta * np.expm1(np.where(near, delta, 0)))
    return np.where(near, growth, _softplus(other) - _softplus(own)) - theta * delta


def sample(u, logit_theta, tau):
    r"""Draw relaxed masks of either sign of temperature by inversion.

    Parameters
    ----------
    u : ndarray, shape (S, D, K)
        Uniform noise, strictly inside (0, 1).
    logit_theta : ndarray, shape (D, K)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    z : ndarray, shape (S, D, K)
        Relaxed masks in (0, 1).
    cache : object
        What ``sample_vjp`` needs.
    """
    y = (logit_theta + np.log(u) - np.log1p(-u)) / tau       # (S, D, K)
    return _sigmoid(y), (y, tau)


def sample_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to ``logit_theta`` and ``tau``.

    .. math:: \partial_y z = z (1 - z), \qquad \partial_{\operatorname{logit}\theta} y = \frac1\tau, \qquad
              \partial_\tau y = -\frac{y}{\tau}

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
    dscaled = dz * _sigmoid(y) * _sigmoid(-y) / tau  # 1 - z as a sigmoid keeps its digits
    return dscaled.sum(axis=0), -(dscaled * y).sum(axis=(0, 1))  # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r"""Evaluate the log density of y = log(z / (1 - z)), element by element.

    Parameters
    ----------
    y : ndarray, shape (S, D, K)
        Logits of relaxed masks.
    logit_theta : ndarray, shape (D, K)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value for each element; the density of y, not of z.
    cache : object
        What ``log_density_vjp`` needs.
    """
    r = logit_theta - tau * y                                # (S, D, K)
    return _log_size(tau) + r - 2 * _softplus(r), (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``y``, ``logit_theta`` and ``tau``.

    .. math:: \partial_r \log q = 1 - 2 \sigma(r) = -\tanh\tfrac r2, \quad \partial_y r = -\tau, \quad
              \partial_\tau \log q = \frac1\tau - y\, \partial_r \log q

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
    dtau = dlog_q / tau - dr * y                             # of the normalizer, and through r
    return -tau * dr, dr.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    r"""Compute the divergence KL[q || p] of Bernoulli masks from their prior.

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
    return _divergence(logit_theta, logit_pi).sum(), (logit_theta, logit_pi)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``.

    .. math:: \partial_{\operatorname{logit}\theta} = \theta (1 - \theta)
              (\operatorname{logit}\theta - \operatorname{logit}\pi), \qquad
              \partial_{\operatorname{logit}\pi} = \sum_d \pi - \theta

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
    dlogit_pi = ddivergence * (_sigmoid(logit_pi) - theta).sum(axis=0)  # broadcast over D
    return dlogit_theta, dlogit_pi


def mean_mask(logit_theta, tau):
    r"""Compute the mean of ``z`` over all draws by integrating over the density of y.

    Parameters
    ----------
    logit_theta : ndarray, shape (K,)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        To seven digits.
    """
    r = np.linspace(-40, 40, 4001)[:, None]  # r = logit_theta - tau y is standard logistic
    y = (logit_theta - r) / tau
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = dr / |tau|.
    return np.trapezoid(np.exp(log_q[:, 0]) * _sigmoid(y), r, axis=0) / np.abs(tau)


def slope_in_noise(u, logit_theta, tau):
    r"""Differentiate ``z`` with respect to the noise, element by element.

    .. math:: \partial_u z = \frac{z (1 - z)}{\tau u (1 - u)}

    Parameters
    ----------
    u : ndarray, shape (S, D, K)
        Uniform noise, strictly inside (0, 1).
    logit_theta : ndarray, shape (D, K)
        Log-odds of the mask being on, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    slope : ndarray, shape (S, D, K)
        The derivative of what ``sample`` returns.
    """
    y = (logit_theta + np.log(u) - np.log1p(-u)) / tau       # (S, D, K)
    return _sigmoid(y) * _sigmoid(-y) / (tau * u * (1 - u))
