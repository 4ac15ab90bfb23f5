r"""All that a masked layer asks of its sticks, from their unconstrained parameters on.

The posterior of stick k is :math:`\mathrm{Kumaraswamy}(a_k, b_k)` with :math:`a = \log(1 +
e^{raw_a})` and :math:`b = \log(1 + e^{raw_b})`.  Two compositions: sampled, sticks give the prior
log-odds of the masks; in closed form, their divergence from the IBP's prior.
"""

from ibpcl.numerics import sigmoid, softplus
from ibpcl.primitives import kumaraswamy, stick_breaking


def prior_log_odds(log_pi, link):
    r"""Link the sticks to the masks: :math:`\operatorname{logit}\pi`, or :math:`\log\pi` as in the
    authors' code.

    Kumar et al. (2021), Sec. 3.2, with :math:`\pi` the products of the sticks.

    Parameters
    ----------
    log_pi : ndarray, shape (..., K)
        Logarithms of the prior probabilities.
    link : {"logit", "log"}
        Which of the two.

    Returns
    -------
    log_odds : ndarray, shape (..., K)
        What is added to the masks' :math:`\rho`.
    cache : tuple or None
        What :func:`ibpcl.primitives.stick_breaking.logit_probabilities_vjp` needs; nothing for
        ``"log"``.

    Examples
    --------
    >>> prior_log_odds(np.log([0.25]), "logit")[0].round(4)
    array([-1.0986])
    """
    return stick_breaking.logit_probabilities(log_pi) if link == "logit" else (log_pi, None)


def log_odds(u, raw_a, raw_b, link="logit"):
    r"""Draw sticks, multiply them, and turn the products into the prior log-odds of masks.

    .. math::

        v_k = \bigl(1 - u_k^{1 / b_k}\bigr)^{1 / a_k}, \qquad \pi_k = \prod_{i \le k} v_i, \qquad
              \operatorname{logit} \pi_k = \log \pi_k - \log(1 - \pi_k)

    Kumar et al. (2021), Eqs. 3 and 4, Sec. 3.2, and the supplement's reparameterization.

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1); (S, D, K) where each row has sticks of its own.
    raw_a, raw_b : ndarray, shape (K,)
        Any real; (D, K) where each row has sticks of its own.
    link : {"logit", "log"}
        Which function of pi: its log-odds, or its logarithm as in the authors' code, which caps the
        prior at one half.

    Returns
    -------
    logit_pi : ndarray, shape (S, K)
        Of the shape of ``u``.
    cache : tuple
        What :func:`log_odds_vjp` needs.

    Examples
    --------
    >>> raw = np.log(np.expm1(np.ones(1)))                   # softplus gives 1: v = 1 - u
    >>> log_odds(np.array([[0.75]]), raw, raw)[0].round(4)
    array([[-1.0986]])
    """
    log_v, stick_cache = kumaraswamy.sample(u, softplus(raw_a), softplus(raw_b))
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    logit_pi, logit_cache = prior_log_odds(log_pi, link)
    return logit_pi, (raw_a, raw_b, stick_cache, logit_cache)


def log_odds_vjp(dlogit_pi, cache):
    r"""Pull the gradient back to ``raw_a`` and ``raw_b`` through all steps; at last :math:`da /
    d\,raw_a = \sigma`.
    """
    raw_a, raw_b, stick_cache, logit_cache = cache
    dlog_pi = dlogit_pi
    if logit_cache is not None:
        dlog_pi = stick_breaking.logit_probabilities_vjp(dlogit_pi, logit_cache)
    da, db = kumaraswamy.sample_vjp(
        stick_breaking.log_probabilities_vjp(dlog_pi, None), stick_cache
    )
    return da * sigmoid(raw_a), db * sigmoid(raw_b)


def divergence(raw_a, raw_b, alpha):
    r"""Compute the divergence of all sticks from their prior, :math:`\mathrm{Beta}(\alpha, 1)`.

    .. math:: \sum_k \frac{a_k - \alpha}{a_k} \Bigl(-\gamma - \psi(b_k) - \frac1{b_k}\Bigr)
              + \log\frac{a_k b_k}{\alpha} - \frac{b_k - 1}{b_k}

    Kumar et al. (2021), supplement, corrected: see :func:`ibpcl.primitives.kumaraswamy.kl_to_beta`.

    Parameters
    ----------
    raw_a, raw_b : ndarray, shape (K,)
        Any real; (D, K) where each row has sticks of its own.
    alpha : ndarray, shape ()
        Concentration of the IBP prior, > 0.

    Returns
    -------
    divergence : float
        Nats; summed over sticks, not divided by N.
    cache : tuple
        What :func:`divergence_vjp` needs.

    Examples
    --------
    >>> raw = np.log(np.expm1(np.array([[30.0], [1.0]])))    # of Kumaraswamy(30, 1) = Beta(30, 1)
    >>> float(abs(divergence(*raw, 30.0)[0]).round(9))
    0.0
    """
    kl, cache = kumaraswamy.kl_to_beta(softplus(raw_a), softplus(raw_b), alpha)
    return kl, (raw_a, raw_b, cache)


def divergence_vjp(ddivergence, cache):
    """Pull the gradient back to ``raw_a``, ``raw_b`` and ``alpha``."""
    raw_a, raw_b, inner = cache
    da, db, dalpha = kumaraswamy.kl_to_beta_vjp(ddivergence, inner)
    return da * sigmoid(raw_a), db * sigmoid(raw_b), dalpha
