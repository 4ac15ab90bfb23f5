r"""The divergence of a stick of which 1 - v is Kumaraswamy, in bits."""

LOG_2 = math.log(2)

WORDS = {
    "Compute the divergence of Kumaraswamy(a, b) from Beta(alpha, 1), KL[q || p]":
        "Compute the divergence of q from Beta(1, 1 / alpha), KL[q || p], where 1 - v is Kumaraswamy(a, b) under q",
    "Shape parameters of the Kumaraswamy distribution q":
        "Shape parameters of the Kumaraswamy distribution of t = 1 - v",
    "First shape parameter of the prior Beta(alpha, 1)":
        "Reciprocal of the second shape parameter of the prior Beta(1, 1 / alpha) of v",
    "Nats": "Bits",
    "Compute the mean of log(1 - v) for v from Kumaraswamy(a":
        "Compute the mean of log2(1 - t) for t from Kumaraswamy(a",
}


def kl_to_beta(a, b, alpha):
    # gamma + psi(b + 1) - 1, which is zero at b = 1; written so, every term vanishes where the distributions are equal.
    lift = digamma(b + 1) - float(digamma(2.0))
    ratio, gap = a * alpha, (a - 1) * alpha + (alpha - 1)
    divergence = _distance(ratio, gap) + _distance(b, b - 1) - gap / ratio * lift
    return divergence.sum() / LOG_2, (a, b, alpha, ratio, gap, lift)


def kl_to_beta_vjp(ddivergence, cache):
    r""".. math:: \partial_a = \frac{1}{\ln 2} \Bigl(\frac1a - \frac{\gamma + \psi(b + 1)}{a^2 \alpha}\Bigr), \quad
              \partial_b = \frac{1}{\ln 2} \Bigl(\frac{b - 1}{b^2} - \frac{a \alpha - 1}{a \alpha} \psi'(b + 1)\Bigr),
              \quad \partial_\alpha = \sum_k \frac a\alpha \partial_a
    """
    a, b, alpha, ratio, gap, lift = cache
    slope = ddivergence * (gap - lift) / (ratio * LOG_2)     # of the divergence, times a or alpha
    db = ddivergence * ((b - 1) / (b * b) - gap / ratio * _trigamma(b + 1)) / LOG_2
    return slope / a, db, (slope / alpha).sum()              # alpha was broadcast over K


def mean_log_rest(a, b):
    log_u, _, weight = _nodes()
    s = log_u / b                                            # t = (1 - e^s)^(1/a)
    log_power = _log1mexp(s)
    log_t = log_power / a
    log_rest = _log1mexp(log_t)
    return (weight * log_rest).sum(axis=0) / LOG_2, (a, b, s, log_power, log_t, log_rest, weight)


def mean_log_rest_vjp(dmean, cache):
    r""".. math:: \partial_{\log t} \log(1 - t) = -\frac{t}{1 - t}, \quad \partial_a \log t = -\frac{\log t}{a}, \quad
              \partial_b \log t = \frac{s}{a b}\,\frac{e^s}{1 - e^s}
    """
    a, b, s, log_power, log_t, log_rest, weight = cache
    dlog_t = -weight * np.exp(log_t - log_rest) / LOG_2
    da = -(dlog_t * log_t).sum(axis=0) / a
    db = (dlog_t * s * np.exp(s - log_power)).sum(axis=0) / (a * b)
    return dmean * da, dmean * db


def kl_by_quadrature(a, b, alpha):
    log_w, log_rest, weight = _nodes()                       # w = t^a has the density b (1 - w)^(b - 1)
    log_t = log_w / a
    log_q = np.log(a * b) + (a - 1) * log_t + (b - 1) * log_rest
    log_p = -np.log(alpha) + (1 / alpha - 1) * log_t
    return (weight * b * np.exp((b - 1) * log_rest) * (log_q - log_p)).sum() / LOG_2


def misprint(a, b, alpha):
    first = (1 - 1 / (a * alpha)) * (-np.euler_gamma - digamma(b) - 1 / b)
    return first * (1 - 1 / LOG_2)                           # printed in nats among bits


def mean_log_posterior(a, b, alpha):
    r""".. math:: \frac{1}{\ln 2} \Bigl(\log(a b) - \frac{a - 1}{a} (\gamma + \psi(b + 1)) - \frac{b - 1}{b}\Bigr)"""
    mean_log_t = -(np.euler_gamma + digamma(b + 1)) / a
    return (np.log(a * b) + (a - 1) * mean_log_t - (b - 1) / b) / LOG_2
