r"""Bernoulli masks: the discrete model that the concrete variables relax.

:math:`B_{dk} \sim \mathrm{Bernoulli}(\pi_k)` under the prior and
:math:`\mathrm{Bernoulli}(\theta_{dk})` under the posterior.  Kumar et al. (2021), Eq. 4 and Sec.
3.2.
"""

import numpy as np

from ibpcl.numerics import log1p_rest, sigmoid, softplus


def log_density(z, logit_theta):
    r"""Evaluate the log probability of a mask, element by element.

    .. math:: \log q(z) = z \log\theta + (1 - z) \log(1 - \theta), \qquad
              -\log\theta = \log(1 + e^{-\operatorname{logit}\theta})

    Parameters
    ----------
    z : ndarray, shape (S, D, K)
        Masks, 0 or 1.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value per element.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_density(np.ones(1), np.zeros(1))[0])
    array([0.5])
    """
    return -(z * softplus(-logit_theta) + (1 - z) * softplus(logit_theta)), (z, logit_theta)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``z`` and ``logit_theta``.

    .. math:: \partial_z = \operatorname{logit}\theta, \qquad
              \partial_{\operatorname{logit}\theta} = z - \theta = z (1 - \theta) - (1 - z) \theta
    """
    z, logit_theta = cache
    return dlog_q * logit_theta, dlog_q * (
        z * sigmoid(-logit_theta) - (1 - z) * sigmoid(logit_theta)
    )


def kl(logit_theta, logit_pi):
    r"""Compute the KL divergence of the masks given the sticks, :math:`KL[q(B | v) \| p(B | v)]`.

    .. math:: \sum_{d,k} \theta \log\frac{\theta}{\pi} + (1 - \theta) \log\frac{1 - \theta}{1 - \pi}
              = \sum_{d,k} \theta\, m\Bigl(\frac\pi\theta - 1\Bigr)
                + (1 - \theta)\, m\Bigl(\frac{1 - \pi}{1 - \theta} - 1\Bigr), \qquad
                m(u) = u - \log(1 + u)

    Kumar et al. (2021), Eqs. 7 and 8, second term; exact for the discrete model.  For nearly equal
    masks, the terms on the left cancel.  The form on the right adds :math:`(\pi - \theta) + (\theta
    - \pi) = 0`; none of its terms is negative, so nothing cancels.

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
    >>> import numpy as np
    >>> kl(np.zeros((1, 1, 1)), np.log([[1 / 9]]))[0].round(4)
    array([0.5108])
    """
    prior = logit_pi[:, None, :]
    theta = sigmoid(logit_theta)
    complement = sigmoid(-logit_theta)
    delta = logit_theta - prior
    near = np.abs(delta.real) < 1
    far_apart = theta * (softplus(-prior) - softplus(-logit_theta)) + complement * (
        softplus(prior) - softplus(logit_theta)
    )
    small = np.where(near, delta, 0).astype(delta.dtype)
    # pi / theta - 1 = (1 - pi) (e^-delta - 1); (1 - pi) / (1 - theta) - 1 = pi (e^delta - 1).
    nearly_equal = theta * log1p_rest(sigmoid(-prior) * np.expm1(-small)) + complement * log1p_rest(
        sigmoid(prior) * np.expm1(small)
    )
    divergence = np.where(near, nearly_equal, far_apart)
    return divergence.sum(axis=(1, 2)), (
        theta,
        complement,
        delta,
        sigmoid(logit_pi),
        sigmoid(-logit_pi),
    )


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``.

    All logarithms cancel:

    .. math:: \partial_{\operatorname{logit}\theta} = \theta (1 - \theta)
              (\operatorname{logit}\theta - \operatorname{logit}\pi), \qquad
              \partial_{\operatorname{logit}\pi} = \sum_d \pi - \theta

    With :math:`\Delta` the difference of the log-odds, :math:`\pi - \theta = \theta (1 - \pi)
    (e^{-\Delta} - 1) = -\pi (1 - \theta) (e^\Delta - 1)`.  The first form is used for
    :math:`\Delta > 0`, the second for :math:`\Delta \le 0`.
    """
    # 1 - theta would be 0 where theta rounds to 1
    theta, complement, delta, pi, not_pi = cache
    dlogit_theta = ddivergence[:, None, None] * theta * complement * delta
    apart = np.expm1(-np.abs(delta)) * np.where(
        delta > 0, theta * not_pi[:, None, :], complement * pi[:, None, :]
    )
    # logit_pi was broadcast over D
    dlogit_pi = ddivergence[:, None] * np.copysign(apart, -delta).sum(axis=1)
    return dlogit_theta, dlogit_pi
