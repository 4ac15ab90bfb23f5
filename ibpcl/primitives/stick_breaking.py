r"""Stick breaking: the probability that the weights of a unit are on, as a product of sticks.

:math:`\pi_k = \prod_{i \le k} v_i` with :math:`v_i \sim \mathrm{Beta}(\alpha, 1)`: the truncated
construction of the Indian buffet process.  Kumar et al. (2021), Eqs. 3 and 4, where sticks are
called :math:`\nu`, and later :math:`v`.
"""

import numpy as np
import scipy  # scipy.integrate is loaded on first use
from scipy.special import gammaln

from ibpcl.numerics import log1mexp

# In single precision, pi rounds to 1 while its log-odds still grow, and 1 / (1 - pi) would
# overflow.  Beyond pi = 1 - 1e-30 (log-odds 69), where no mask changes any more, 1 - pi is held
# constant.
LEAST_LOG_REST = float(np.log(1e-30))


def log_probabilities(log_v):
    r"""Compute the logarithms of the products of sticks.

    .. math:: \log \pi_k = \sum_{i=1}^{k} \log v_i

    Kumar et al. (2021), Eq. 3.

    Parameters
    ----------
    log_v : ndarray, shape (S, K)
        Log-sticks, < 0.

    Returns
    -------
    log_pi : ndarray, shape (S, K)
        Log-probabilities, decreasing in k: earlier units are used first.
    cache : None
        :func:`log_probabilities_vjp` needs no cache.

    Examples
    --------
    >>> log_probabilities(np.array([[-1.0, -2.0, -3.0]]))[0]
    array([[-1., -3., -6.]])
    """
    return np.cumsum(log_v, axis=-1), None


def log_probabilities_vjp(dlog_pi, cache):
    r"""Pull the gradient at ``log_pi`` back to ``log_v``.

    Stick i is a factor of all :math:`\pi_k` with :math:`k \ge i`:

    .. math:: \partial_{\log v_i} = \sum_{k \ge i} \partial_{\log \pi_k}
    """
    return np.flip(np.cumsum(np.flip(dlog_pi, axis=-1), axis=-1), axis=-1)


def logit_probabilities(log_pi):
    r"""Compute log-odds from log-probabilities.

    .. math:: \operatorname{logit} \pi = \log \pi - \log(1 - \pi)

    Kumar et al. (2021), Sec. 3.2: :math:`\theta_{dk} = \sigma(\rho_{dk} +
    \operatorname{logit}(\pi_k))`.

    .. warning:: The authors' code uses :math:`\log \pi` instead, which caps the prior at one half:
       :math:`\sigma(\log \pi) = \pi / (1 + \pi)`.

    Parameters
    ----------
    log_pi : ndarray, shape (S, K)
        Log-probabilities, < 0.

    Returns
    -------
    logit_pi : ndarray, shape (S, K)
        Log-odds, any real.
    cache : tuple
        Input of :func:`logit_probabilities_vjp`.

    Examples
    --------
    >>> abs(logit_probabilities(np.log(np.array([[0.5]])))[0]).round(12)
    array([[0.]])
    """
    log_rest = log1mexp(log_pi)  # log(1 - pi)
    log_rest = np.where(
        log_rest.real > LEAST_LOG_REST, log_rest, log_rest.dtype.type(LEAST_LOG_REST)
    )
    return log_pi - log_rest, log_rest


def logit_probabilities_vjp(dlogit_pi, cache):
    r"""Pull the gradient at ``logit_pi`` back to ``log_pi``.

    .. math::

        \frac{d \operatorname{logit} \pi}{d \log \pi} = 1 + \frac{\pi}{1 - \pi} = \frac{1}{1 - \pi}
    """
    log_rest = cache
    varies = log_rest.real > log_rest.dtype.type(LEAST_LOG_REST).real
    return dlogit_pi * np.exp(np.where(varies, -log_rest, 0))


def expected_weights(alpha, units):
    r"""Compute the expected number of weights in a row that are on under the prior.

    .. math:: \sum_{k=1}^{K} E[\pi_k] = \sum_{k=1}^{K} \Bigl(\frac{\alpha}{\alpha + 1}\Bigr)^k
              = \alpha \Bigl(1 - \Bigl(\frac{\alpha}{\alpha + 1}\Bigr)^K\Bigr)

    Divided by K this is the share of connections, 14.98 % for alpha = 30 and K = 200.  So the
    "around 15 %" of Kumar et al. (2021), Sec. 6.3, is a property of the prior.

    Parameters
    ----------
    alpha : float
        Concentration of the IBP prior, > 0.
    units : int
        Number K of units.

    Returns
    -------
    weights : float
        Expected number, in 0 .. K.

    Examples
    --------
    >>> round(expected_weights(30.0, 200) / 200, 4)
    0.1498
    """
    return float(-alpha * np.expm1(-units * np.log1p(1 / alpha)))


def expected_active_units(alpha, units, inputs):
    r"""Compute the expected number of units with at least one weight that is on under the prior.

    :math:`-\log \pi_k` is a sum of k exponential variables with rate alpha, so it has the
    distribution Gamma(k, alpha), and the expected number is

    .. math::

        \sum_{k=1}^{K} \int_0^\infty \bigl(1 - (1
            - e^{-g})^D\bigr) \mathrm{Gamma}(g; k, \alpha) \, dg.

    Without truncation it is :math:`\alpha \sum_{d=1}^{D} 1 / d` (Griffiths and Ghahramani, 2011),
    15.56 in the example.

    Parameters
    ----------
    alpha : float
        Concentration of the IBP prior, > 0.
    units : int
        Number K of units.
    inputs : int
        Number D of inputs, that is, of weights per unit.

    Returns
    -------
    units : float
        Expected number, in 0 .. K.

    Examples
    --------
    >>> round(expected_active_units(3.0, 50, 100), 2)
    15.56
    """

    def one_unit(k):
        def integrand(g):
            log_gamma = k * np.log(alpha) + (k - 1) * np.log(g) - alpha * g - gammaln(k)
            return -np.expm1(inputs * log1mexp(-g)) * np.exp(log_gamma)

        centre = k / alpha
        spread = np.sqrt(k) / alpha
        first = max(0.0, centre - 12 * spread)
        last = min(centre + 40 * spread, never)
        return scipy.integrate.quad(integrand, first, last, limit=200)[0] if first < last else 0.0

    # for g beyond this, a unit is on with a probability below e^-40
    never = np.log(max(inputs, 1)) + 40
    return sum(one_unit(k) for k in range(1, units + 1))


def sample_prior(u_stick, u_mask, alpha):
    r"""Draw masks from the truncated IBP prior.

    .. math::

        v_k = u^{1 / \alpha} \sim \mathrm{Beta}(\alpha, 1), \quad \pi_k = \prod_{i \le k} v_i, \quad
              B_{dk} = \mathbb 1[u'_{dk} < \pi_k]

    Kumar et al. (2021), Eqs. 3 and 4.

    Parameters
    ----------
    u_stick : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1), for the sticks.
    u_mask : ndarray, shape (S, D, K)
        Uniform noise for the masks.
    alpha : float
        Concentration, > 0.

    Returns
    -------
    mask : ndarray of bool, shape (S, D, K)
        Which weights are on.
    log_pi : ndarray, shape (S, K)
        Log-probabilities with which the masks were drawn.

    Examples
    --------
    >>> sample_prior(np.array([[0.5, 0.5]]), np.full((1, 1, 2), 0.3), 1.0)[0]
    array([[[ True, False]]])
    """
    log_pi, _ = log_probabilities(np.log(u_stick) / alpha)
    return np.log(u_mask) < log_pi[:, None, :], log_pi
