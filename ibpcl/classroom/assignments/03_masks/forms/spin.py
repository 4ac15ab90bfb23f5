r"""Masks as spins between -1 and 1, and the symmetric divergence."""

import math

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


def _halves(logit):
    """Return probability and its complement, each with all its digits."""
    return _sigmoid(logit), _sigmoid(-logit)


def sample(u, logit_theta, tau):
    r"""Draw relaxed spins of either sign of temperature by inversion.

    Parameters
    ----------
    u : ndarray, shape (S, D, K)
        Uniform noise, strictly inside (0, 1).
    logit_theta : ndarray, shape (D, K)
        Log-odds of the spin being up, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    z : ndarray, shape (S, D, K)
        Relaxed spins in (-1, 1).
    cache : object
        What ``sample_vjp`` needs.
    """
    y = (logit_theta + np.log(u) - np.log1p(-u)) / (2 * tau) # (S, D, K)
    return np.tanh(y), (y, tau)


def sample_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to ``logit_theta`` and ``tau``.

    .. math:: \partial_y z = \frac{1}{\cosh^2 y}, \qquad
              \partial_{\operatorname{logit}\theta} y = \frac{1}{2 \tau}, \qquad \partial_\tau y = -\frac{y}{\tau}

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
    up, down = _halves(2 * y)
    dscaled = dz * 4 * up * down / tau                       # 1 - z^2 = 4 up down keeps its digits
    return dscaled.sum(axis=0) / 2, -(dscaled * y).sum(axis=(0, 1))      # broadcast over S; over S and D


def log_density(y, logit_theta, tau):
    r"""Evaluate the log density of y = artanh z, element by element.

    Parameters
    ----------
    y : ndarray, shape (S, D, K)
        Inverse hyperbolic tangents of relaxed spins.
    logit_theta : ndarray, shape (D, K)
        Log-odds of the spin being up, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value for each element; the density of y, not of z.
    cache : object
        What ``log_density_vjp`` needs.
    """
    r = logit_theta - 2 * tau * y                            # (S, D, K)
    return math.log(2) + _log_size(tau) + r - 2 * _softplus(r), (r, y, tau)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``y``, ``logit_theta`` and ``tau``.

    .. math:: \partial_r \log q = 1 - 2 \sigma(r) = -\tanh\tfrac r2, \quad \partial_y r = -2 \tau, \quad
              \partial_\tau \log q = \frac1\tau - 2 y\, \partial_r \log q

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
    dtau = dlog_q / tau - 2 * dr * y                         # of the normalizer, and through r
    return -2 * tau * dr, dr.sum(axis=0), dtau.sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    r"""Compute the symmetric divergence KL[q || p] + KL[p || q] of Bernoulli masks and their prior.

    Parameters
    ----------
    logit_theta : ndarray, shape (D, K)
        Log-odds of the spin being up, any real.
    logit_pi : ndarray, shape (K,)
        Log-odds of the prior, one for each unit.

    Returns
    -------
    divergence : float
        Nats, summed over all D K masks.
    cache : object
        What ``kl_vjp`` needs.
    """
    delta = logit_theta - logit_pi                           # (D, K)
    (theta, off), (pi, prior_off) = _halves(logit_theta), _halves(logit_pi)
    # theta - pi = off pi (e^delta - 1) = -theta (1 - pi) (e^-delta - 1): the exponential that cannot overflow.
    positive = delta.real > 0
    rise = -np.expm1(np.where(positive, -delta, delta))
    gap = np.where(positive, theta * prior_off * rise, -off * pi * rise)
    return (gap * delta).sum(), (gap, delta, theta * off, pi * prior_off)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``.

    .. math:: \partial_{\operatorname{logit}\theta} = \theta (1 - \theta) \Delta + \theta - \pi, \quad
              \partial_{\operatorname{logit}\pi} = -\sum_d \pi (1 - \pi) \Delta + \theta - \pi, \quad
              \Delta = \operatorname{logit}\theta - \operatorname{logit}\pi

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
    gap, delta, spread, prior_spread = cache
    dlogit_theta = ddivergence * (spread * delta + gap)
    dlogit_pi = -ddivergence * (prior_spread * delta + gap).sum(axis=0)  # logit_pi was broadcast over D
    return dlogit_theta, dlogit_pi


def mean_mask(logit_theta, tau):
    r"""Compute the mean of ``z`` over all draws by integrating over the density of y.

    Parameters
    ----------
    logit_theta : ndarray, shape (K,)
        Log-odds of the spin being up, any real.
    tau : ndarray, shape (K,)
        Temperatures, one for each unit: any real but 0.

    Returns
    -------
    mean : ndarray, shape (K,)
        To seven digits.
    """
    r = np.linspace(-40, 40, 4001)[:, None]                  # r = logit_theta - 2 tau y is standard logistic
    y = (logit_theta - r) / (2 * tau)
    log_q, _ = log_density(y[:, None, :], logit_theta[None, :], tau)
    # The trapezoidal rule converges exponentially here; dy = dr / |2 tau|.
    return np.trapezoid(np.exp(log_q[:, 0]) * np.tanh(y), r, axis=0) / np.abs(2 * tau)
