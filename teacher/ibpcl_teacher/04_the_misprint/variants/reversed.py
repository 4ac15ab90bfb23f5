r"""The reversed divergence of a stick: of its prior from Kumaraswamy(a, b)."""

WORDS = {
    "Compute the divergence of Kumaraswamy(a, b) from Beta(alpha, 1), KL[q || p]":
        "Compute the divergence of Beta(alpha, 1) from Kumaraswamy(a, b), KL[p || q]: the reversed one",
}


def _distance(ratio, gap):
    """Compute r - 1 - log(r) from the ratio and from gap = ratio - 1, which keeps its digits near 1."""
    near = np.abs(gap) < 0.5
    return gap - np.where(near, np.log1p(np.where(near, gap, 0)), np.log(ratio))


def kl_to_beta(a, b, alpha):
    # gamma + psi(1 + alpha / a) - 1, which is zero at a = alpha.
    lift = digamma(1 + alpha / a) - float(digamma(2.0))
    divergence = _distance(a / alpha, (a - alpha) / alpha) + _distance(b, b - 1) + (b - 1) * lift
    return divergence.sum(), (a, b, alpha, lift)


def kl_to_beta_vjp(ddivergence, cache):
    r""".. math:: \partial_a = \frac1\alpha - \frac1a - \frac{\alpha (b - 1)}{a^2} \psi'\bigl(1 + \tfrac\alpha a\bigr),
              \quad \partial_b = \gamma + \psi\bigl(1 + \tfrac\alpha a\bigr) - \frac1b, \quad
              \partial_\alpha = -\sum_k \frac a\alpha \partial_a
    """
    a, b, alpha, lift = cache
    da = (a - alpha) / (a * alpha) - (b - 1) * alpha / (a * a) * _trigamma(1 + alpha / a)
    db = (b - 1) / b + lift
    # The divergence depends on a / alpha alone; alpha was broadcast over K.
    return ddivergence * da, ddivergence * db, -ddivergence * (da * a / alpha).sum()


def kl_by_quadrature(a, b, alpha):
    log_w, _, weight = _nodes()                              # w = v^alpha is uniform under p
    log_v = log_w / alpha
    log_q = np.log(a * b) + (a - 1) * log_v + (b - 1) * _log1mexp(a * log_v)
    log_p = np.log(alpha) + (alpha - 1) * log_v
    return (weight * (log_p - log_q)).sum()


def misprint(a, b, alpha):
    return (b - 1) * (digamma(alpha / a) - digamma(1 + alpha / a))


def mean_log_posterior(a, b, alpha):
    r""".. math:: \log(a b) - \frac{a - 1}{\alpha} - (b - 1) \Bigl(\gamma + \psi\bigl(1 + \tfrac\alpha a\bigr)\Bigr)"""
    mean_log_rest = -(np.euler_gamma + digamma(1 + alpha / a))           # of 1 - v^a, under p
    return np.log(a * b) - (a - 1) / alpha + (b - 1) * mean_log_rest
