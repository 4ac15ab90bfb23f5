r"""Sticks with reciprocal shape parameters, their geometric means, and the complementary log-log link."""

WORDS = {
    "Draw log-sticks from Kumaraswamy(a, b) by inverting its distribution function":
        "Draw log-sticks from Kumaraswamy(1 / a, 1 / b) by inverting its distribution function",
    "Shape parameters": "Reciprocals of the shape parameters",
    "Multiply the sticks up to and including each unit":
        "Compute the geometric mean of the sticks up to and including each unit",
    "Turn log-probabilities into log-odds, log(pi / (1 - pi))":
        "Turn log-probabilities into the complementary log-log score, log(-log(1 - pi))",
}


def sample(u, a, b):
    log_u = np.log(u)
    s = b * log_u                                            # u^b = e^s
    log_power = _log1mexp(s)
    return a * log_power, (log_u, s, a, log_power)


def sample_vjp(dlog_v, cache):
    r""".. math:: \partial_a \log v = \log(1 - e^s), \qquad
              \partial_b \log v = -a \log u \,\frac{e^s}{1 - e^s}, \quad s = b \log u
    """
    log_u, s, a, log_power = cache
    da = dlog_v * log_power
    db = -dlog_v * a * log_u * np.exp(s - log_power)         # e^s / (1 - e^s) as one exponential
    return da.sum(axis=0), db.sum(axis=0)                    # a and b were broadcast over S


def log_probabilities(log_v):
    count = np.arange(1, log_v.shape[-1] + 1, dtype=log_v.real.dtype)
    return np.cumsum(log_v, axis=-1) / count, count


def log_probabilities_vjp(dlog_pi, cache):
    r""".. math:: \partial_{\log v_i} = \sum_{k \ge i} \tfrac1k \, \partial_{\log \pi_k}"""
    share = dlog_pi / cache                                  # stick i has the share 1 / k in every pi_k with k >= i
    return np.cumsum(share[:, ::-1], axis=-1)[:, ::-1]


def link(log_pi):
    log_rest = _log1mexp(log_pi)                             # log(1 - pi) < 0
    return np.log(-log_rest), (log_pi, log_rest)


def link_vjp(dscore, cache):
    r""".. math:: \frac{d}{d \log\pi} \log(-\log(1 - \pi)) = -\frac{\pi}{(1 - \pi) \log(1 - \pi)}"""
    log_pi, log_rest = cache
    return -dscore * np.exp(log_pi - log_rest) / log_rest


def mean_log_stick(a, b):
    grid = np.arange(-4.5, 4.5, 0.03)[:, None]
    g = np.pi * np.sinh(grid)                                # w = v^(1/a) = 1 / (1 + e^-g) fills (0, 1)
    log_w, log_rest = -_softplus(-g), -_softplus(g)
    # The density of w is (1 / b) (1 - w)^(1 / b - 1), and dw = w (1 - w) dg.
    weight = np.exp(log_w + log_rest / b) / b * np.pi * np.cosh(grid) * 0.03
    return (weight * log_w * a).sum(axis=0)


def slope_in_noise(u, a, b):
    r""".. math:: \partial_u \log v = -\frac{a b}{u}\,\frac{e^s}{1 - e^s}, \quad s = b \log u"""
    s = b * np.log(u)                                        # u^b = e^s
    return -a * b * np.exp(s - _log1mexp(s)) / u
