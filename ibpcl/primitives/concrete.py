r"""Binary concrete masks: Bernoulli variables, relaxed so that they have a gradient.

:math:`Y = (\operatorname{logit}\theta + \ell) / \tau` with logistic noise :math:`\ell`, and
:math:`z = \sigma(Y)`; as :math:`\tau \to 0` this is Bernoulli(theta).  Kumar et al. (2021),
supplement, "Bernoulli distribution Reparameterization"; Maddison, Mnih and Teh (2017), appendix C.
In that supplement :math:`\alpha_k` is a class probability in the formula of K classes.  In the
formula of binary masks it must be the *odds* :math:`\theta / (1 - \theta)`; their logarithm is
``logit_theta`` here.
"""

import math

import numpy as np

from ibpcl.numerics import KL_SLOPE_SERIES, logistic_kl, logit, sigmoid, softplus


def sample(logistic, logit_theta, tau):
    r"""Draw relaxed masks.

    .. math:: z = \sigma\Bigl(\frac{\operatorname{logit}\theta + \ell}{\tau}\Bigr), \qquad
              \ell = \log\frac{u}{1 - u}, \; u \sim U(0, 1)

    Kumar et al. (2021), supplement (temperature :math:`\lambda` there).

    Parameters
    ----------
    logistic : ndarray, shape (S, D, K)
        Standard logistic noise.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds of the mask being on, any real.
    tau : float
        Temperature, > 0.

    Returns
    -------
    z : ndarray, shape (S, D, K)
        Relaxed masks in [0, 1].  At low temperatures many of them round to 0 or 1.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> sample(np.zeros((1, 1, 2)), np.array([[[0.0, 40.0]]]), 0.5)[0]
    array([[[0.5, 1. ]]])
    """
    y = (logit_theta + logistic) / tau
    z = sigmoid(y)
    return z, (z, sigmoid(-y), tau)  # 1 - z would be 0 where z rounds to 1


def sample_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to ``logit_theta``.

    .. math:: \partial z / \partial \operatorname{logit}\theta = z (1 - z) / \tau
    """
    z, complement, tau = cache
    return dz * z * complement / tau


def sample_given(logistic, mask, logit_theta, tau):
    r"""Draw relaxed masks given the binary masks that they round to.

    .. math:: \tilde z = \sigma\Bigl(\frac{\tilde y}{\tau}\Bigr), \qquad
              \tilde y = s \operatorname{softplus}\bigl(s \ell + \operatorname{softplus}(s
              \operatorname{logit}\theta)\bigr), \qquad s = 2 b - 1

    Tucker, Mnih, Maddison, Lawson and Sohl-Dickstein (2017), appendix.  The logits y of
    :func:`sample` are logistic, and b = 1 says that y > 0.  So the noise u of y is uniform over
    :math:`[1 - \theta, 1]`: with v uniform, :math:`u = 1 - \theta + v \theta`, and

    .. math:: \operatorname{logit}\theta + \operatorname{logit} u
              = \log\Bigl(1 + \frac{v}{(1 - v)(1 - \theta)}\Bigr)
              = \operatorname{softplus}\bigl(\ell - \log(1 - \theta)\bigr),
              \qquad \ell = \operatorname{logit} v.

    For b = 0 exchange :math:`\theta` with :math:`1 - \theta`, v with 1 - v, and the sign of y.

    Parameters
    ----------
    logistic : ndarray, shape (S, D, K)
        Standard logistic noise, independent of the noise of the binary masks.
    mask : ndarray, shape (S, D, K)
        Binary masks b, 0 or 1.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds of the mask being on, any real.
    tau : float
        Temperature, > 0.

    Returns
    -------
    z : ndarray, shape (S, D, K)
        Relaxed masks, above 1/2 where ``mask`` is 1, and below 1/2 elsewhere.
    cache : tuple
        Input of :func:`sample_given_vjp`.

    Examples
    --------
    >>> sample_given(np.zeros(2), np.array([1.0, 0.0]), np.zeros(2), 1.0)[0]
    array([0.75, 0.25])
    """
    sign = np.where(mask, 1, -1).astype(np.asarray(logit_theta).real.dtype)
    inner = sign * logistic + softplus(sign * logit_theta)
    y = sign * softplus(inner) / tau
    z = sigmoid(y)
    return z, (z, sigmoid(-y), inner, sign, logit_theta, tau)


def sample_given_vjp(dz, cache):
    r"""Pull the gradient at ``z`` back to ``logit_theta``.

    .. math:: \frac{\partial \tilde z}{\partial \operatorname{logit}\theta}
              = \frac{\tilde z (1 - \tilde z)}{\tau}\,
              \sigma\bigl(s \ell + \operatorname{softplus}(s \operatorname{logit}\theta)\bigr)\,
              \sigma(s \operatorname{logit}\theta)

    The two signs s cancel.
    """
    z, complement, inner, sign, logit_theta, tau = cache
    return dz * z * complement / tau * sigmoid(inner) * sigmoid(sign * logit_theta)


def log_density_logit(y, logit_theta, tau):
    r"""Evaluate the log density of :math:`Y = \operatorname{logit} z`, element by element.

    .. math::

        \log q(y) = \log\tau + r - 2 \log(1 + e^r), \qquad r = \operatorname{logit}\theta - \tau y

    Kumar et al. (2021), supplement.

    .. warning:: The paper gives this as the density of the mask itself, but it is the density of
       the logit of the mask: it integrates to 1 over y.  In a KL divergence the Jacobian cancels.

    Parameters
    ----------
    y : ndarray, shape (S, D, K)
        Logits of relaxed masks.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.
    tau : float
        Temperature, > 0.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value per element.
    cache : tuple
        Input of :func:`log_density_logit_vjp`.

    Examples
    --------
    >>> log_density_logit(np.zeros(1), np.zeros(1), 1.0)[0].round(4)
    array([-1.3863])
    """
    r = logit_theta - tau * y
    return math.log(tau) + r - 2 * softplus(r), (r, tau)


def log_density_logit_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``y`` and ``logit_theta``.

    .. math:: \partial_r \log q = 1 - 2 \sigma(r) = -\tanh(r / 2), \qquad \partial_y r = -\tau
    """
    r, tau = cache
    dlogit_theta = -dlog_q * np.tanh(r / 2)
    return -tau * dlogit_theta, dlogit_theta


def log_density(z, logit_theta, tau):
    r"""Evaluate the log density of the relaxed mask z itself, element by element.

    .. math:: \log q(z) = \log q_Y(\operatorname{logit} z) - \log z - \log(1 - z)

    Maddison, Mnih and Teh (2017), Eq. 23, for two categories.

    Parameters
    ----------
    z : ndarray, shape (S, D, K)
        Relaxed masks in [0, 1].  A mask that was rounded to 0 or 1 is replaced by the adjacent
        number of its type.  :func:`log_density_logit`, evaluated at the logit, avoids this
        rounding.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.
    tau : float
        Temperature, > 0.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value per element.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Examples
    --------
    >>> abs(log_density(np.array([0.3]), np.zeros(1), 1.0)[0]).round(12)
    array([0.])
    """
    z = _inside(z)
    log_q, inner = log_density_logit(logit(z), logit_theta, tau)
    return log_q - np.log(z) - np.log1p(-z), (z, inner)


def _inside(z):
    """Return masks with 0, subnormal numbers and 1 replaced by the next number in (0, 1)."""
    z = np.asarray(z)
    limits = np.finfo(z.dtype)
    below = np.where((z.real >= 0) & (z.real < limits.tiny), limits.tiny, z)
    return np.where(z.real == 1, 1 - limits.epsneg, below)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``z`` and ``logit_theta``.

    .. math:: \frac{dy}{dz} = \frac{1}{z (1 - z)}, \qquad
              \frac{d}{dz} \bigl(-\log z - \log(1 - z)\bigr) = \frac{2 z - 1}{z (1 - z)}
    """
    z, inner = cache
    dy, dlogit_theta = log_density_logit_vjp(dlog_q, inner)
    return (dy + dlog_q * (2 * z - 1)) / (z * (1 - z)), dlogit_theta


def kl(logit_theta, logit_pi):
    r"""Compute the KL divergence of two binary concrete variables of equal temperature.

    .. math:: \sum_{d,k} \Delta \coth\frac\Delta2 - 2, \qquad
              \Delta_{dk} = \operatorname{logit}\theta_{dk} - \operatorname{logit}\pi_k

    At equal temperatures Y is a logistic variable scaled by :math:`1 / \tau` on both sides, so the
    temperature cancels.  The divergence is an upper bound of the Bernoulli divergence, and with
    :math:`\theta = \sigma(\rho + \operatorname{logit}\pi)` it depends on rho alone.  Kumar et al.
    (2021), supplement, estimate it by sampling, but no sampling is needed.

    Parameters
    ----------
    logit_theta : ndarray, shape (S, D, K)
        Log-odds of q, any real.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the prior, any real.

    Returns
    -------
    divergence : ndarray, shape (S,)
        Nats; summed over weights, one value per stick sample, not divided by N.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> kl(np.full((1, 1, 1), 1.0), np.zeros((1, 1)))[0].round(4)
    array([0.164])
    """
    delta = logit_theta - logit_pi[:, None, :]  # (S, D, K)
    return logistic_kl(delta).sum(axis=(1, 2)), delta


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``.

    .. math:: \partial_\Delta = \coth\frac\Delta2 - \frac{\Delta}{2 \sinh^2(\Delta / 2)}
              = \frac{\sinh\Delta - \Delta}{\cosh\Delta - 1}

    For :math:`|\Delta| < 1`, where this form loses digits, the series of
    :func:`ibpcl.numerics.logistic_kl` is differentiated term by term: :math:`\Delta / 3 - \Delta^3
    / 90 + \dots`
    """
    delta = cache
    d = np.abs(delta)
    near_zero = d < 1
    x = np.where(near_zero, d, 0)
    series = x * np.polyval(KL_SLOPE_SERIES.astype(x.dtype), x * x)
    far = np.where(near_zero, 1, d)
    # Numerator and denominator are divided by e^d / 2, so that nothing overflows.
    e = np.exp(-far)
    slope = np.where(near_zero, series, (1 - e * e - 2 * far * e) / (1 - e) ** 2)
    dlogit_theta = ddivergence[:, None, None] * np.copysign(slope, delta)
    return dlogit_theta, -dlogit_theta.sum(axis=1)  # logit_pi was broadcast over D


def kl_monte_carlo(logistic, logit_theta, logit_pi, tau, prior_tau):
    r"""Estimate the KL divergence of binary concrete variables from one sample.

    .. math:: \sum_{d,k} \log q(Y_{dk}; \theta_{dk}, \tau) - \log p(Y_{dk}; \pi_k, \tau_0), \qquad
              Y = (\operatorname{logit}\theta + \ell) / \tau

    Kumar et al. (2021), supplement: "the KL-Divergence can be calculated as difference of log
    density".  With unequal temperatures the divergence is positive even if :math:`\theta =
    \pi`, so it pulls the masks towards 0 and 1.  The paper does not give :math:`\tau_0`.

    Parameters
    ----------
    logistic : ndarray, shape (S, D, K)
        Standard logistic noise.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds of q, any real.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the prior, any real.
    tau, prior_tau : float
        Temperatures of q and of the prior, > 0.

    Returns
    -------
    divergence : ndarray, shape (S,)
        Nats; summed over weights, one unbiased value per sample, not divided by N.
    cache : tuple
        Input of :func:`kl_monte_carlo_vjp`.

    Examples
    --------
    >>> kl_monte_carlo(np.ones((1, 1, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1)), 0.5, 0.5)[0]
    array([0.])
    """
    y = (logit_theta + logistic) / tau
    log_q, _ = log_density_logit(y, logit_theta, tau)
    log_p, prior = log_density_logit(y, logit_pi[:, None, :], prior_tau)
    return (log_q - log_p).sum(axis=(1, 2)), (prior, tau)


def kl_monte_carlo_vjp(ddivergence, cache):
    r"""Pull the gradient at the estimate back to ``logit_theta`` and ``logit_pi``.

    ``logit_theta`` acts through the sample only, with :math:`\partial Y = 1 / \tau`.  The density
    of q depends on :math:`\operatorname{logit}\theta - \tau Y = -\ell`, which is the noise alone.
    """
    prior, tau = cache
    dy, dlogit_pi = log_density_logit_vjp(-ddivergence[:, None, None], prior)
    return dy / tau, dlogit_pi.sum(axis=1)  # logit_pi was broadcast over D
