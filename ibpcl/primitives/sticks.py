r"""Sticks of a masked layer, computed from unconstrained parameters.

The posterior of stick k is :math:`\mathrm{Kumaraswamy}(a_k, b_k)` with :math:`a = \log(1 +
e^{raw_a})` and :math:`b = \log(1 + e^{raw_b})`.  There are two compositions: the prior log-odds
of the masks from sampled sticks, and the KL divergence of the sticks from the IBP prior in closed
form.
"""

from ibpcl.numerics import sigmoid, softplus
from ibpcl.primitives import kumaraswamy, stick_breaking


def prior_log_odds(log_pi, link):
    r"""Compute the prior log-odds of the masks, :math:`\operatorname{logit}\pi` or :math:`\log\pi`.

    Kumar et al. (2021), Sec. 3.2, where :math:`\pi` are the products of the sticks.  The logarithm
    is the choice of the authors' code.

    Parameters
    ----------
    log_pi : ndarray, shape (..., K)
        Logarithms of the prior probabilities.
    link : {"logit", "log"}
        Which of the two functions.

    Returns
    -------
    log_odds : ndarray, shape (..., K)
        Prior log-odds, to which the offsets :math:`\rho` of the masks are added.
    cache : tuple or None
        Input of :func:`ibpcl.primitives.stick_breaking.logit_probabilities_vjp`; None for
        ``"log"``.

    Examples
    --------
    >>> prior_log_odds(np.log([0.25]), "logit")[0].round(4)
    array([-1.0986])
    """
    return stick_breaking.logit_probabilities(log_pi) if link == "logit" else (log_pi, None)


def log_odds(u, raw_a, raw_b, link="logit"):
    r"""Draw sticks and compute the prior log-odds of the masks from their products.

    .. math::

        v_k = \bigl(1 - u_k^{1 / b_k}\bigr)^{1 / a_k}, \qquad \pi_k = \prod_{i \le k} v_i, \qquad
              \operatorname{logit} \pi_k = \log \pi_k - \log(1 - \pi_k)

    Kumar et al. (2021), Eqs. 3 and 4, Sec. 3.2, and supplement, "Beta distribution
    Reparameterization".

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1); (S, D, K) if each row has its own sticks.
    raw_a, raw_b : ndarray, shape (K,)
        Any real; (D, K) if each row has its own sticks.
    link : {"logit", "log"}
        Which function of pi: its log-odds, or its logarithm as in the authors' code, which caps the
        prior probability at one half.

    Returns
    -------
    logit_pi : ndarray, shape (S, K)
        Prior log-odds, in the shape of ``u``.
    cache : tuple
        Input of :func:`log_odds_vjp`.

    Examples
    --------
    >>> raw = np.log(np.expm1(np.ones(1)))                   # softplus gives 1: v = 1 - u
    >>> log_odds(np.array([[0.75]]), raw, raw)[0].round(4)
    array([[-1.0986]])
    """
    log_v, stick_cache = kumaraswamy.sample(u, softplus(raw_a), softplus(raw_b))
    log_pi, product_cache = stick_breaking.log_probabilities(log_v)
    logit_pi, logit_cache = prior_log_odds(log_pi, link)
    return logit_pi, (raw_a, raw_b, stick_cache, product_cache, logit_cache)


def log_odds_vjp(dlogit_pi, cache):
    r"""Pull the gradient at ``logit_pi`` back to ``raw_a`` and ``raw_b``.

    The last step is that of the softplus, :math:`da / d\,raw_a = \sigma(raw_a)`.
    """
    raw_a, raw_b, stick_cache, product_cache, logit_cache = cache
    dlog_pi = dlogit_pi
    if logit_cache is not None:
        dlog_pi = stick_breaking.logit_probabilities_vjp(dlogit_pi, logit_cache)
    da, db = kumaraswamy.sample_vjp(
        stick_breaking.log_probabilities_vjp(dlog_pi, product_cache), stick_cache
    )
    return da * sigmoid(raw_a), db * sigmoid(raw_b)


def divergence(raw_a, raw_b, alpha):
    r"""Compute the KL divergence of all sticks from their prior, :math:`\mathrm{Beta}(\alpha, 1)`.

    .. math:: \sum_k \frac{a_k - \alpha}{a_k} \Bigl(-\gamma - \psi(b_k) - \frac1{b_k}\Bigr)
              + \log\frac{a_k b_k}{\alpha} - \frac{b_k - 1}{b_k}

    Kumar et al. (2021), supplement, corrected: see :func:`ibpcl.primitives.kumaraswamy.kl_to_beta`.

    Parameters
    ----------
    raw_a, raw_b : ndarray, shape (K,)
        Any real; (D, K) if each row has its own sticks.
    alpha : ndarray, shape ()
        Concentration of the IBP prior, > 0.

    Returns
    -------
    divergence : float
        Nats; summed over sticks, not divided by N.
    cache : tuple
        Input of :func:`divergence_vjp`.

    Examples
    --------
    >>> raw = np.log(np.expm1(np.array([[30.0], [1.0]])))    # of Kumaraswamy(30, 1) = Beta(30, 1)
    >>> float(abs(divergence(*raw, 30.0)[0]).round(9))
    0.0
    """
    kl, cache = kumaraswamy.kl_to_beta(softplus(raw_a), softplus(raw_b), alpha)
    return kl, (raw_a, raw_b, cache)


def divergence_vjp(ddivergence, cache):
    """Pull the gradient at the divergence back to ``raw_a``, ``raw_b`` and ``alpha``."""
    raw_a, raw_b, inner = cache
    da, db, dalpha = kumaraswamy.kl_to_beta_vjp(ddivergence, inner)
    return da * sigmoid(raw_a), db * sigmoid(raw_b), dalpha
