r"""Bernoulli masks: the discrete model that the concrete variables relax.

:math:`B_{dk} \sim \mathrm{Bernoulli}(\pi_k)` under the prior and :math:`\mathrm{Bernoulli}(\theta_{dk})` under the
posterior.  Kumar et al. (2021), Eq. 4 and Sec. 3.2.
"""

from ibpcl.numerics import sigmoid, softplus


def log_density(z, logit_theta):
    r"""Evaluate the log probability of a mask, element by element.

    .. math:: \log q(z) = z \operatorname{logit}\theta - \log(1 + e^{\operatorname{logit}\theta})

    Parameters
    ----------
    z : ndarray, shape (S, D, K)
        Masks, 0 or 1.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.

    Returns
    -------
    log_q : ndarray, shape (S, D, K)
        Nats, one value an element.
    cache : tuple
        What :func:`log_density_vjp` needs.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_density(np.ones(1), np.zeros(1))[0])
    array([0.5])
    """
    return z * logit_theta - softplus(logit_theta), (z, logit_theta)


def log_density_vjp(dlog_q, cache):
    r"""Pull the gradient at ``log_q`` back to ``z`` and ``logit_theta``.

    .. math:: \partial_z = \operatorname{logit}\theta, \qquad \partial_{\operatorname{logit}\theta} = z - \theta
    """
    z, logit_theta = cache
    return dlog_q * logit_theta, dlog_q * (z - sigmoid(logit_theta))


def kl(logit_theta, logit_pi):
    r"""Compute the KL divergence of the masks given the sticks, :math:`KL[q(B | v) \| p(B | v)]`.

    .. math:: \sum_{d,k} \theta \log\frac{\theta}{\pi} + (1 - \theta) \log\frac{1 - \theta}{1 - \pi}
              = \sum_{d,k} \theta\, (\operatorname{logit}\theta - \operatorname{logit}\pi)
                - \log(1 + e^{\operatorname{logit}\theta}) + \log(1 + e^{\operatorname{logit}\pi})

    Kumar et al. (2021), Eqs. 7 and 8, second term; exact for the discrete model.

    Parameters
    ----------
    logit_theta : ndarray, shape (S, D, K)
        Log-odds of q, any real.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the prior, any real.

    Returns
    -------
    divergence : ndarray, shape (S,)
        Nats; summed over weights, one value a stick sample, not divided by N.
    cache : tuple
        What :func:`kl_vjp` needs.

    Examples
    --------
    >>> import numpy as np
    >>> kl(np.zeros((1, 1, 1)), np.log([[1 / 9]]))[0].round(4)
    array([0.5108])
    """
    prior = logit_pi[:, None, :]
    theta, delta = sigmoid(logit_theta), logit_theta - prior
    divergence = theta * delta - softplus(logit_theta) + softplus(prior)
    return divergence.sum(axis=(1, 2)), (theta, sigmoid(-logit_theta), delta, sigmoid(logit_pi))


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``logit_theta`` and ``logit_pi``; no logarithm is left.

    .. math:: \partial_{\operatorname{logit}\theta} = \theta (1 - \theta)
              (\operatorname{logit}\theta - \operatorname{logit}\pi), \qquad
              \partial_{\operatorname{logit}\pi} = \sum_d \pi - \theta
    """
    theta, complement, delta, pi = cache                     # 1 - theta would be 0 where theta rounds to 1
    dlogit_theta = ddivergence[:, None, None] * theta * complement * delta
    dlogit_pi = ddivergence[:, None] * (pi[:, None, :] - theta).sum(axis=1)      # logit_pi was broadcast over D
    return dlogit_theta, dlogit_pi
