r"""Kumaraswamy sticks: the posterior :math:`q(v_k)` of the stick-breaking construction.

:math:`p(v; a, b) = a b v^{a - 1} (1 - v^a)^{b - 1}` on (0, 1).  It equals Beta(a, b) when a or b is
one, and unlike the Beta it can be sampled by a formula.  Kumar et al. (2021), supplement, "Beta
distribution Reparameterization".
"""

import numpy as np
from scipy.special import digamma, loggamma, zeta, zetac

from ibpcl.numerics import inexact, log1mexp, log1p_rest, log_beta

EULER_GAMMA = float(np.euler_gamma)
# Coefficients of harmonic(b) / b, a power series in b; the highest power comes first.
HARMONIC_SERIES = ((-1.0) ** np.arange(2, 20) * zeta(np.arange(2, 20)))[::-1]
# The same for (harmonic(b) - 1) / (b - 1), in powers of b - 1; zetac is zeta - 1 with all its
# digits.
HARMONIC_MINUS_ONE_SERIES = ((-1.0) ** np.arange(2, 22) * zetac(np.arange(2, 22)))[::-1]


def sample(u, a, b):
    r"""Draw log-sticks from Kumaraswamy(a, b) by inverting its distribution function.

    .. math:: \log v = \tfrac{1}{a} \log\bigl(1 - u^{1/b}\bigr)

    Kumar et al. (2021), supplement, "Beta distribution Reparameterization" (:math:`\alpha, \beta`
    there).

    Parameters
    ----------
    u : ndarray, shape (S, K)
        Uniform noise, strictly inside (0, 1).
    a, b : ndarray, shape (K,)
        Shape parameters, both > 0.

    Returns
    -------
    log_v : ndarray, shape (S, K)
        Log-samples, all < 0.  Logarithms, because sticks are multiplied.  A sample too close to 0
        for the type is replaced by the largest normal number below 0.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> np.exp(sample(np.array([[0.75]]), np.array([1.0]), np.array([1.0]))[0])
    array([[0.25]])
    """
    s = np.log(u) / b  # u^(1/b) = e^s,  s < 0
    # it is 0 where the type has no number this close to 0
    log_v = log1mexp(s) / a
    return _below_zero(log_v), (s, a, b, log_v)


def _below_zero(x):
    """Return numbers <= 0, with those too close to 0 replaced by the largest normal number < 0."""
    largest = -np.finfo(x.dtype).tiny
    return np.where(x.real > largest, largest, x)


def sample_vjp(dlog_v, cache):
    r"""Pull the gradient at ``log_v`` back to ``a`` and ``b``.

    .. math:: \partial_a \log v = -\frac{\log v}{a}, \qquad
              \partial_b \log v = \frac{s}{a b}\,\frac{e^s}{1 - e^s}, \quad 1 - e^s = v^a
    """
    s, a, b, log_v = cache
    da = -dlog_v * log_v / a
    # a single exp: e^s / v^a overflows only if the ratio itself does
    db = dlog_v * s * np.exp(s - a * log_v) / (a * b)
    return da.sum(axis=0), db.sum(axis=0)  # a, b were broadcast over S


def log_density(log_v, a, b):
    r"""Evaluate the log density of v, at the logarithm of v.

    .. math:: \log p(v) = \log a + \log b + (a - 1) \log v + (b - 1) \log(1 - v^a)

    Parameters
    ----------
    log_v : ndarray, shape (S, K)
        Log-sticks, < 0.  The density is with respect to v, not to log v.
    a, b : ndarray, shape (K,)
        Shape parameters, both > 0.

    Returns
    -------
    log_p : ndarray, shape (S, K)
        Nats, one value per stick.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Examples
    --------
    >>> float(log_density(np.log([[0.3]]), np.ones(1), np.ones(1))[0][0, 0])
    0.0
    """
    log_power = a * log_v  # log v^a
    log_rest = log1mexp(log_power)  # log(1 - v^a)
    log_p = np.log(a) + np.log(b) + (a - 1) * log_v + (b - 1) * log_rest
    return log_p, (log_v, a, b, log_power, log_rest)


def log_density_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``log_v``, ``a`` and ``b``.

    .. math:: \partial_{\log v} = a - 1 - (b - 1) \frac{g}{\log v}, \quad
              \partial_a = \frac1a + \log v - (b - 1) \frac ga, \quad
              \partial_b = \frac1b + \log(1 - v^a), \qquad
              g = \frac{v^a \log v^a}{1 - v^a} \in (-1, 0)
    """
    log_v, a, b, log_power, log_rest = cache
    g = -log_power * np.exp(log_power) / np.expm1(log_power)
    dlog_v = dlog_p * (a - 1 - (b - 1) * g / log_v)
    da = dlog_p * (1 / a + log_v - (b - 1) * g / a)
    db = dlog_p * (1 / b + log_rest)
    return dlog_v, da.sum(axis=0), db.sum(axis=0)  # a, b were broadcast over S


def harmonic(b):
    r"""Compute the harmonic number :math:`H_b = \psi(b + 1) + \gamma`, element by element.

    .. math:: H_b = \zeta(2)\, b - \zeta(3)\, b^2 + \dots

    The sum with :math:`\gamma` loses all digits for small b.  Below 0.1 the series (Abramowitz and
    Stegun, 6.3.14) is used, with an error below 1e-16.

    Parameters
    ----------
    b : ndarray
        Any numbers > 0.

    Returns
    -------
    value : ndarray
        Harmonic numbers, of the shape of ``b``.

    Examples
    --------
    >>> float(harmonic(np.array(3.0)).round(6)), float(harmonic(np.array(1e-20)) * 1e20)
    (1.833333, 1.6449340668482264)
    """
    small = b.real < 0.1
    value = digamma(b + 1) + b.dtype.type(EULER_GAMMA)
    if not small.any():  # the usual case
        return value
    near_zero = np.where(small, b, 0).astype(b.dtype)
    return np.where(
        small, near_zero * np.polyval(HARMONIC_SERIES.astype(b.dtype), near_zero), value
    )


def trigamma(b):
    r"""Compute the trigamma function :math:`\psi'(b + 1)` and its difference from :math:`1 / b`.

    .. math:: \psi'(x) = \zeta(2, x), \qquad
              \frac1b - \psi'(b + 1) = \frac1{2 b^2} - \frac1{6 b^3} + \frac1{30 b^5} - \dots

    Computed directly, the difference loses all digits for large b.  From 30 on the series
    (Abramowitz and Stegun, 6.4.12) is used, with an error below 1e-14.

    Parameters
    ----------
    b : ndarray
        Any numbers > 0.

    Returns
    -------
    value : ndarray
        :math:`\psi'(b + 1)`, of the shape of ``b``.
    rest : ndarray
        :math:`1 / b - \psi'(b + 1)`, of the shape of ``b``.

    Examples
    --------
    >>> value, rest = trigamma(np.array(1e8))
    >>> float((value * 1e8).round(9)), float(rest * 1e16)
    (0.999999995, 0.4999999983333333)
    """
    b = np.asarray(b)
    wide = b.astype(np.float64)
    # each form may fail where the other one is used
    with np.errstate(all="ignore"):
        t = 1 / (wide * wide)
        series = t * (1 / 2 - (1 / 6 - t * (1 / 30 - t * (1 / 42 - t / 30))) / wide)
        value = zeta(2, wide + 1)
        return value.astype(b.dtype), np.where(wide < 30, 1 / wide - value, series).astype(b.dtype)[
            ()
        ]


def kl_to_beta(a, b, alpha):
    r"""Compute :math:`KL[\mathrm{Kumaraswamy}(a, b) \,\|\, \mathrm{Beta}(\alpha, 1)]` exactly.

    .. math:: \sum_k \frac{a - \alpha}{a} \Bigl(-\gamma - \psi(b) - \frac1b\Bigr)
              + \log\frac{a b}{\alpha} - \frac{b - 1}{b}
              = \sum_k m\Bigl(\frac\alpha a\Bigr) + m\Bigl(\frac1b\Bigr)
              + \Bigl(\frac\alpha a - 1\Bigr) (H_b - 1), \qquad m(r) = r - 1 - \log r \ge 0

    with :math:`H_b = \psi(b + 1) + \gamma`.  Kumar et al. (2021), supplement, KL between
    Kumaraswamy and Beta, with :math:`\beta = 1`, the case of the IBP.  Then the infinite series
    has weight 0, and :math:`\log B(\alpha, 1) = -\log \alpha`.  For nearly equal distributions, the
    terms on the left are of order one and cancel; those on the right are as small as the
    divergence.

    .. warning:: The paper gives the last term as :math:`-b / (1 - b)`.  That form is negative for
       some (a, b) and singular at b = 1, where the divergence of equal distributions must be 0.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of q, both > 0.
    alpha : ndarray, shape (K,)
        Concentration of the IBP prior, > 0; a scalar applies to all sticks.

    Returns
    -------
    divergence : float
        Nats; summed over sticks, not divided by N.
    cache : tuple
        Input of :func:`kl_to_beta_vjp`.

    Examples
    --------
    >>> float(kl_to_beta(np.array([31.0]), np.array([2.0]), 30.0)[0].round(6))
    0.17755
    """
    a = inexact(a)
    b = inexact(b)
    # a E_q[log v]; psi(b) + 1 / b would cancel for small b
    mean_log = -harmonic(b)
    # alpha / a - 1; the difference is exact near equality
    excess = (alpha - a) / a
    ratio = alpha / a
    # far from equality, -1 and +1 in the form on the right would cancel
    near = np.abs(excess.real) < 1
    by_a = np.where(
        near,
        _minus_log(ratio, excess) + excess * _harmonic_minus_one(b),
        -excess * mean_log - np.log(ratio),
    )
    return (by_a + _minus_log(1 / b, (1 - b) / b)).sum(), (a, b, alpha, mean_log)


def _minus_log(ratio, excess):
    r"""Return :math:`r - 1 - \log r`, given the ratio r and the excess :math:`r - 1`.

    Near r = 1 it is about :math:`(r - 1)^2 / 2`.
    """
    near = np.abs(excess.real) < 0.25
    value = excess - np.log(ratio)
    if not near.any():  # the series costs more than the rest
        return value
    return np.where(near, log1p_rest(np.where(near, excess, 0)), value)


def _harmonic_minus_one(b):
    r"""Return :math:`H_b - 1`.

    For small :math:`d = b - 1` it is the series :math:`(\zeta(2) - 1)\, d - (\zeta(3) - 1)\, d^2 +
    \dots` of :math:`\psi` at 2.
    """
    near = np.abs(b.real - 1) < 0.25
    value = harmonic(b) - 1
    if not near.any():  # the series costs more than the rest
        return value
    d = np.where(near, b - 1, 0).astype(b.dtype)
    return np.where(near, d * np.polyval(HARMONIC_MINUS_ONE_SERIES.astype(b.dtype), d), value)


def kl_to_beta_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``a``, ``b`` and ``alpha``.

    With :math:`c = -\gamma - \psi(b) - 1/b = -\gamma - \psi(b + 1)`,

    .. math:: \partial_a = \frac{\alpha c}{a^2} + \frac1a, \quad
              \partial_b = \frac1b - \frac1{b^2} - \frac{a - \alpha}{a} \psi'(b + 1), \quad
              \partial_\alpha = -\frac ca - \frac1\alpha
    """
    a, b, alpha, mean_log = cache
    da = ddivergence * (alpha * mean_log / (a * a) + 1 / a)
    value, rest = trigamma(b)
    db = ddivergence * (alpha / a * value + (rest - 1 / (b * b)))
    dalpha = ddivergence * (-mean_log / a - 1 / alpha)
    # a scalar alpha was broadcast over K
    return da, db, dalpha if np.ndim(alpha) else dalpha.sum()


def expected_kl_to_beta(a, b, mean_alpha, mean_log_alpha):
    r"""Compute the mean of :func:`kl_to_beta` over a distribution of alpha, common to all sticks.

    .. math:: \sum_k \Bigl(1 - \frac{E[\alpha]}{a}\Bigr)\Bigl(-\gamma - \psi(b) - \frac1b\Bigr)
              + \log(a b) - E[\log \alpha] - \frac{b - 1}{b}

    Given alpha, the divergence is linear in alpha and log alpha, so a learned alpha needs only two
    moments.  Kumar et al. (2021), supplement, "Learning :math:`\alpha`", consider sampling
    necessary; it is not.

    Parameters
    ----------
    a, b : ndarray, shape (K,)
        Shape parameters of q, both > 0.
    mean_alpha, mean_log_alpha : ndarray, shape ()
        Means of alpha (> 0) and of its logarithm.

    Returns
    -------
    divergence : float
        Nats; summed over sticks, not divided by N.
    cache : tuple
        Input of :func:`expected_kl_to_beta_vjp`.

    Examples
    --------
    >>> float(expected_kl_to_beta(np.array([31.0]), np.array([2.0]), 30.0,
    ...     np.log(30.0))[0].round(6))
    0.17755
    """
    mean_log = -harmonic(b)  # a E_q[log v]
    divergence = (
        (1 - mean_alpha / a) * mean_log + np.log(a) + np.log(b) - mean_log_alpha - (b - 1) / b
    )
    return divergence.sum(), (a, b, mean_alpha, mean_log)


def expected_kl_to_beta_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``a, b, mean_alpha, mean_log_alpha``.

    The gradients are those of :func:`kl_to_beta_vjp`, with :math:`\partial_{E[\alpha]} = -\sum_k
    c_k / a_k` and :math:`\partial_{E[\log\alpha]} = -K`.
    """
    a, b, mean_alpha, mean_log = cache
    da, db, _ = kl_to_beta_vjp(ddivergence, (a, b, mean_alpha, mean_log))
    return da, db, -ddivergence * (mean_log / a).sum(), -ddivergence * mean_log.dtype.type(a.size)


def kl_to_general_beta(a, b, alpha, beta, tolerance=1e-10):
    r"""Compute :math:`KL[\mathrm{Kumaraswamy}(a, b) \| \mathrm{Beta}(\alpha, \beta)]`, a series.

    .. math::

        \frac{a - \alpha}{a} \Bigl(-\gamma - \psi(b) - \frac1b\Bigr) + \log(a b)
            + \log B(\alpha, \beta)
              - \frac{b - 1}{b} + (\beta - 1) \sum_{m \ge 1} \frac1a B\bigl(\tfrac ma, b + 1\bigr)

    Kumar et al. (2021), supplement, KL between Kumaraswamy and Beta; the series equals
    :math:`-E_q[\log(1 - v)]`.  It is the paper's series, because :math:`\frac{b}{m + ab} B(\frac
    ma, b) = \frac1a B(\frac ma, b + 1)`.

    .. warning:: The paper sums the first 11 terms.  With its prior, :math:`\beta = 1`, the series
       has the factor 0, and no term is needed.  With another prior, the terms decrease only like
       :math:`(m / a)^{-b - 1}`, so their number must grow with a: at (31, 2, 30, 3) eleven terms
       give -0.863 for a divergence of 0.655.

    Here M terms are summed, and the rest is replaced by the integral from :math:`M + \frac12`, with
    :math:`B(t, b + 1) \approx \Gamma(b + 1)\, w^{-b - 1} (1 + \frac{b (b + 1) (b + 2)}{24 w^2})`,
    :math:`w = t + b / 2`.  M is doubled until the estimated error is at most ``tolerance``.

    Parameters
    ----------
    a, b, alpha, beta : ndarray, shape ()
        Shape parameters, all > 0.
    tolerance : float
        Largest allowed error estimate, in nats.

    Returns
    -------
    divergence : float
        Nats.
    error : float
        Estimate of the truncation error in nats: the first neglected terms of both expansions.

    Examples
    --------
    >>> round(float(kl_to_general_beta(31.0, 2.0, 30.0, 3.0)[0]), 6)
    0.655169
    """
    a, b, alpha, beta = (inexact(number) for number in (a, b, alpha, beta))
    terms = int(16 * (1 + np.real(a)) * (1 + np.real(b)))
    while True:
        m = np.arange(1, terms + 1)
        partial = np.exp(log_beta(m / a, b + 1)).sum() / a
        w = (terms + 0.5) / a + b / 2
        # Gamma(b + 1) alone overflows from b = 171 on
        leading = np.exp(loggamma(b + 1) - b * np.log(w))
        correction = b * (b + 1) / (24 * w * w)
        tail = leading * (1 / b + correction)
        # Neglected terms: the square of the relative correction, and the first Euler-Maclaurin term
        # of the sum.
        error = abs(
            (beta - 1)
            * leading
            * (1 / b + 1)
            * ((b * correction) ** 2 + b * (b + 1) / (24 * terms**2))
        )
        if error <= tolerance or terms >= 1 << 22:
            break
        terms *= 2
    mean_log = -EULER_GAMMA - digamma(b + 1)
    divergence = (1 - alpha / a) * mean_log + np.log(a * b) + log_beta(alpha, beta) - (b - 1) / b
    return divergence + (beta - 1) * (partial + tail), float(error)
