r"""The divergence of a stick with reciprocal shape parameters."""

WORDS = {
    "Compute the divergence of Kumaraswamy(a, b) from Beta(alpha":
        "Compute the divergence of Kumaraswamy(1 / a, 1 / b) from Beta(alpha",
    "Shape parameters": "Reciprocals of the shape parameters",
    "Compute the mean of log(1 - v) for v from Kumaraswamy(a, b)":
        "Compute the mean of log(1 - v) for v from Kumaraswamy(1 / a, 1 / b)",
}


def _distance(ratio, gap):
    """Compute r - 1 - log(r) from the ratio and from gap = ratio - 1, which keeps its digits near 1."""
    near = np.abs(gap) < 0.5
    return gap - np.where(near, np.log1p(np.where(near, gap, 0)), np.log(ratio))


def kl_to_beta(a, b, alpha):
    # gamma + psi(1 / b + 1) - 1, which is zero at b = 1.
    lift = digamma(1 / b + 1) - float(digamma(2.0))
    ratio, gap = a * alpha, (a - 1) * alpha + (alpha - 1)
    divergence = _distance(ratio, gap) + _distance(b, b - 1) + gap * lift
    return divergence.sum(), (a, b, alpha, gap, lift)


def kl_to_beta_vjp(ddivergence, cache):
    r""".. math:: \partial_a = \alpha (\gamma + \psi(\tfrac1b + 1)) - \frac1a, \quad
              \partial_b = 1 - \frac1b + \frac{1 - \alpha a}{b^2} \psi'(\tfrac1b + 1), \quad
              \partial_\alpha = \sum_k a (\gamma + \psi(\tfrac1b + 1)) - \frac1\alpha
    """
    a, b, alpha, gap, lift = cache
    slope = gap + (1 + gap) * lift                           # of the divergence, times a or alpha
    db = (b - 1) / b - gap / (b * b) * _trigamma(1 / b + 1)
    return ddivergence * slope / a, ddivergence * db, ddivergence * (slope / alpha).sum()    # alpha: broadcast over K


def mean_log_rest(a, b):
    log_u, _, weight = _nodes()
    s = log_u * b                                            # v = (1 - e^s)^a
    log_power = _log1mexp(s)
    log_v = log_power * a
    log_rest = _log1mexp(log_v)
    return (weight * log_rest).sum(axis=0), (a, b, s, log_power, log_v, log_rest, weight)


def mean_log_rest_vjp(dmean, cache):
    r""".. math:: \partial_{\log v} \log(1 - v) = -\frac{v}{1 - v}, \quad \partial_a \log v = \frac{\log v}{a}, \quad
              \partial_b \log v = -\frac{a s}{b}\,\frac{e^s}{1 - e^s}
    """
    a, b, s, log_power, log_v, log_rest, weight = cache
    dlog_v = -weight * np.exp(log_v - log_rest)
    da = (dlog_v * log_v).sum(axis=0) / a
    db = -(dlog_v * s * np.exp(s - log_power)).sum(axis=0) * a / b
    return dmean * da, dmean * db


def kl_by_quadrature(a, b, alpha):
    log_w, log_rest, weight = _nodes()                       # w = v^(1/a) has the density (1 - w)^(1/b - 1) / b
    log_v = log_w * a
    log_q = -np.log(a * b) + (1 / a - 1) * log_v + (1 / b - 1) * log_rest
    log_p = np.log(alpha) + (alpha - 1) * log_v
    return (weight / b * np.exp((1 / b - 1) * log_rest) * (log_q - log_p)).sum()


def misprint(a, b, alpha):
    return (1 - alpha * a) * (b - 1 / b)


def mean_log_posterior(a, b, alpha):
    r""".. math:: -\log(a b) - (1 - a) (\gamma + \psi(\tfrac1b + 1)) - (1 - b)"""
    mean_log_v = -(np.euler_gamma + digamma(1 / b + 1)) * a
    return -np.log(a * b) + (1 / a - 1) * mean_log_v - (1 - b)
