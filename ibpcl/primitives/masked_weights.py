r"""Sampled masked weights: the composition that a masked layer evaluates for every sample.

Gaussian weights are multiplied by concrete masks.  The log-odds of a mask are those of its stick
plus an offset, :math:`\operatorname{logit}\theta_{dk} = \rho_{dk} + \operatorname{logit}\pi_k`
(Kumar et al., 2021, Sec. 3.2).  The same function computes the KL divergence of the masks from
their prior.  It is a single function because training spends most of its time here.
"""

import numpy as np

from ibpcl.primitives import bernoulli, concrete, gaussian, masked_linear

MASK_KL = {"bernoulli": bernoulli, "concrete": concrete}


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    r"""Draw masked weights, and compute the activity of each unit and the masks' KL divergence.

    .. math:: W = z \odot (\mu + \sigma \varepsilon), \qquad
              z = \sigma\Bigl(\frac{\rho + \operatorname{logit}\pi + \ell}{\tau}\Bigr), \qquad
              u_k = \max_d z_{dk}

    Kumar et al. (2021), Sec. 3.1 (:math:`W = B \odot V`), Sec. 3.2 (:math:`\theta`) and Sec. 4.5
    (bias terms).

    Parameters
    ----------
    eps, logistic : ndarray, shape (S, D, K)
        Standard normal and standard logistic noise.
    mu, log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation of the weights.
    rho : ndarray, shape (D, K)
        Offset of the masks' log-odds from the sticks'.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the prior, from the sticks of each sample.
    tau : float
        Temperature, > 0.
    mask_kl : {"bernoulli", "concrete"}
        The divergence: of the discrete masks, or of the relaxed ones at equal temperatures.

    Returns
    -------
    out : tuple
        ``w`` (S, D, K), the masked weights; ``activity`` (S, K), by which biases are scaled;
        ``divergence`` (S,), nats, summed over weights, not divided by N.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> zero, one = np.zeros((1, 1, 1)), np.ones((1, 1))
    >>> [part.item() for part in sample(zero, zero, one, 0 * one, 0 * one, 0 * one, 1.0)[0]]
    [0.5, 0.5, 0.0]
    """
    return _sample(eps, logistic, mu, log_sigma, rho + logit_pi[:, None, :], logit_pi, tau, mask_kl)


def _sample(eps, logistic, mu, log_sigma, logit_theta, logit_pi, tau, mask_kl):
    v, weight_cache = gaussian.sample(eps, mu, log_sigma)
    z, mask_cache = concrete.sample(logistic, logit_theta, tau)
    activity, largest = masked_linear.column_activity(z)
    divergence, kl_cache = MASK_KL[mask_kl].kl(logit_theta, logit_pi)
    return (z * v, activity, divergence), (
        v,
        z,
        weight_cache,
        mask_cache,
        largest,
        kl_cache,
        mask_kl,
    )


def sample_vjp(dout, cache):
    r"""Pull the gradients at all three outputs back to ``mu, log_sigma, rho, logit_pi``.

    The product rule splits ``dw`` into :math:`dv = z \odot dw` and :math:`dz = v \odot dw`.  The
    gradient at the log-odds is the sum of those through the mask, the activity and the divergence.
    It is passed on to rho and to the sticks.
    """
    dmu, dlog_sigma, dlogit_theta, dlogit_pi = _sample_vjp(dout, cache)
    # rho was broadcast over S, logit_pi over D
    return dmu, dlog_sigma, dlogit_theta.sum(axis=0), dlogit_pi + dlogit_theta.sum(axis=1)


def _sample_vjp(dout, cache):
    dw, dactivity, ddivergence = dout
    v, z, weight_cache, mask_cache, largest, kl_cache, mask_kl = cache
    dmu, dlog_sigma = gaussian.sample_vjp(dw * z, weight_cache)
    dz = dw * v + masked_linear.column_activity_vjp(dactivity, largest)
    dlogit_theta, dlogit_pi = MASK_KL[mask_kl].kl_vjp(ddivergence, kl_cache)
    return dmu, dlog_sigma, dlogit_theta + concrete.sample_vjp(dz, mask_cache), dlogit_pi


def sample_mean_field(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    r"""Draw masked weights from masks that are independent of the sticks (mean field).

    .. math:: z = \sigma\Bigl(\frac{\rho + \ell}{\tau}\Bigr), \qquad q(B, v) = q(B)\, q(v)

    Kumar et al. (2021), Sec. 3.2: the "normally used mean-field approximation".  The paper
    replaces it with the structured approximation, :func:`sample`.

    Parameters
    ----------
    eps, logistic : ndarray, shape (S, D, K)
        Standard normal and standard logistic noise.
    mu, log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation of the weights.
    rho : ndarray, shape (D, K)
        The masks' log-odds.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the prior, from the sticks of each sample.
    tau : float
        Temperature, > 0.
    mask_kl : {"bernoulli", "concrete"}
        The divergence: of the discrete masks, or of the relaxed ones at equal temperatures.

    Returns
    -------
    out : tuple
        ``w`` (S, D, K), the masked weights; ``activity`` (S, K), by which biases are scaled;
        ``divergence`` (S,), nats, summed over weights, not divided by N.
    cache : tuple
        Input of :func:`sample_mean_field_vjp`.
    """
    logit_theta = np.broadcast_to(rho, (len(logit_pi), *rho.shape))
    return _sample(eps, logistic, mu, log_sigma, logit_theta, logit_pi, tau, mask_kl)


def sample_mean_field_vjp(dout, cache):
    r"""Pull the gradients at all three outputs back to ``mu, log_sigma, rho, logit_pi``.

    Unlike in :func:`sample_vjp`, the sticks have a gradient through the divergence only.
    """
    dmu, dlog_sigma, dlogit_theta, dlogit_pi = _sample_vjp(dout, cache)
    return dmu, dlog_sigma, dlogit_theta.sum(axis=0), dlogit_pi  # rho was broadcast over S
