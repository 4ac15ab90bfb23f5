r"""KL divergence between two Kumaraswamy distributions, for a previous posterior as the prior.

The first prior of a stick is Beta(alpha, 1), which is also a Kumaraswamy distribution; every later
prior is the posterior of the previous task.  All terms of the divergence have closed forms, except
for one bounded integral over the unit interval.
"""

import numpy as np
from scipy.special import digamma

from ibpcl.numerics import inexact, log1mexp
from ibpcl.primitives import kumaraswamy

# Near 0 and 1 the integrand behaves like a power of u or of 1 - u, with any exponent.  The
# substitution u = 10 w^3 - 15 w^4 + 6 w^5 flattens both ends for the Gauss-Legendre rule.  With 16
# points, the error is about 1e-6 for typical sticks, and no node rounds to 1 in float32.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_W = (_POINTS + 1) / 2
NODES = _W**3 * (10 - 15 * _W + 6 * _W**2)
WEIGHTS = _WEIGHTS / 2 * 30 * _W**2 * (1 - _W) ** 2
# at e^s = 1e-7 the integrand has reached its limit, log(a0 / a)
FAR = -16.0


def kl(a, b, prior_a, prior_b):
    r"""Compute :math:`KL[\mathrm{Kumaraswamy}(a, b) \,\|\, \mathrm{Kumaraswamy}(a_0, b_0)]`.

    .. math:: \sum_k \Bigl(1 - \frac{a_0}{a}\Bigr) c + \log\frac{a b}{a_0 b_0} - \frac{b - 1}{b}
              + (b_0 - 1) \Bigl(\frac1b - R\Bigr), \qquad c = -\gamma - \psi(b) - \frac1b,

    .. math:: R = E_q\Bigl[\log\frac{1 - v^{a_0}}{1 - v^a}\Bigr]
              = \int_0^1 \log\bigl(1 - v^{a_0}\bigr) - s \; du, \qquad
              s = \frac{\log u}{b}, \; v^a = 1 - e^s,

    because :math:`E_q[\log v] = c / a` and :math:`E_q[\log(1 - v^a)] = E[s] = -1 / b`.  R lies
    between 0 and :math:`\log(a_0 / a)`.  For :math:`b_0 = 1` the divergence is
    :func:`ibpcl.primitives.kumaraswamy.kl_to_beta`.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of q, both > 0.
    prior_a, prior_b : ndarray, shape (K,)
        Shape parameters of the prior, both > 0; not differentiated.

    Returns
    -------
    divergence : float
        Nats; summed over sticks, not divided by N.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> one = np.ones(1)
    >>> float(kl(31 * one, 2 * one, 30 * one, one)[0].round(6))
    0.17755
    >>> float(kl(2 * one, 3 * one, 2 * one, 3 * one)[0].round(9))
    0.0
    """
    a, b, prior_a, prior_b = (inexact(shape) for shape in (a, b, prior_a, prior_b))
    dtype = a.real.dtype
    s = np.log(NODES).astype(dtype)[:, None] / b  # u^(1/b) = e^s
    far = s.real < FAR
    near = np.where(far, -1, s)
    log_v = log1mexp(near) / a
    log_rest = log1mexp(prior_a * log_v)  # log(1 - v^a0)
    ratio = np.where(far, np.log(prior_a / a), log_rest - near)
    integral = WEIGHTS.astype(dtype) @ ratio
    mean_log = -kumaraswamy.EULER_GAMMA - digamma(b + 1)
    divergence = (
        (1 - prior_a / a) * mean_log
        + np.log(a * b)
        - np.log(prior_a * prior_b)
        - (b - 1) / b
        + (prior_b - 1) * (1 / b - integral)
    )
    return divergence.sum(), (a, b, prior_a, prior_b, mean_log, near, far, log_v, log_rest)


def kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``a`` and ``b``.

    The closed part has the gradient of :func:`ibpcl.primitives.kumaraswamy.kl_to_beta_vjp`.  The
    integral is differentiated under the integral sign, with :math:`r = a_0 v^{a_0} / (1 -
    v^{a_0})`,

    .. math:: \partial_a R = E\Bigl[\frac{r \log v}{a}\Bigr], \qquad
              \partial_b R = E\Bigl[\frac sb \Bigl(1 - \frac ra\, \frac{e^s}{v^a}\Bigr)\Bigr],

    and :math:`r \log v \to -1`, :math:`r\, e^s / v^a \to a` as :math:`u \to 0`.
    """
    a, b, prior_a, prior_b, mean_log, s, far, log_v, log_rest = cache
    weights = WEIGHTS.astype(a.dtype)
    da, db, _ = kumaraswamy.kl_to_beta_vjp(ddivergence, (a, b, prior_a, mean_log))
    steep = prior_a * np.exp(prior_a * log_v - log_rest)  # r
    by_a = np.where(far, -1, steep * log_v) / a
    by_b = np.where(far, 0, 1 - steep * np.exp(s - a * log_v) / a) * s / b
    outer = ddivergence * (prior_b - 1)
    return da - outer * (weights @ by_a), db - outer * (1 / (b * b) + weights @ by_b)
