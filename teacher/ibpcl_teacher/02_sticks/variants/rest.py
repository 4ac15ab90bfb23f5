r"""Sticks of which 1 - v is Kumaraswamy, a unit stick broken in pieces, and log-odds against."""

WORDS = {
    "Draw log-sticks from Kumaraswamy(a, b) by inverting its distribution function":
        "Draw sticks v for which 1 - v has the distribution Kumaraswamy(a, b), by inversion",
    "Shape parameters": "Shape parameters of 1 - v",
    "Multiply the sticks up to and including each unit":
        "Break a unit stick: each unit takes the share v of the rest that the units before it leave",
    "Turn log-probabilities into log-odds, log(pi / (1 - pi))":
        "Turn log-probabilities into log-odds against, log((1 - pi) / pi)",
}


def sample(u, a, b):
    s = np.log(u) / b                                        # u^(1/b) = e^s
    log_power = _log1mexp(s)                                 # a log(1 - v)
    log_rest = log_power / a                                 # log(1 - v)
    log_v = _log1mexp(log_rest)
    return log_v, (s, a, b, log_power, log_rest, log_v)


def sample_vjp(dlog_v, cache):
    r""".. math:: \partial_{\log(1 - v)} \log v = -\frac{1 - v}{v}, \quad
              \partial_a \log(1 - v) = -\frac{\log(1 - v)}{a}, \quad
              \partial_b \log(1 - v) = \frac{s}{a b}\,\frac{e^s}{1 - e^s}
    """
    s, a, b, log_power, log_rest, log_v = cache
    dlog_rest = -dlog_v * np.exp(log_rest - log_v)
    da = -dlog_rest * log_rest / a
    db = dlog_rest * s * np.exp(s - log_power) / (a * b)     # e^s / (1 - e^s) as one exponential
    return da.sum(axis=0), db.sum(axis=0)                    # a and b were broadcast over S


def log_probabilities(log_v):
    log_rest = _log1mexp(log_v)                              # log(1 - v)
    left = np.cumsum(log_rest, axis=-1) - log_rest           # of the units before
    return log_v + left, (log_v, log_rest)


def log_probabilities_vjp(dlog_pi, cache):
    r""".. math:: \partial_{\log v_i} = \partial_{\log \pi_i} - \frac{v_i}{1 - v_i} \sum_{k > i} \partial_{\log \pi_k}
    """
    log_v, log_rest = cache
    after = np.cumsum(dlog_pi[:, ::-1], axis=-1)[:, ::-1] - dlog_pi      # sum over the units behind
    return dlog_pi - np.exp(log_v - log_rest) * after


def link(log_pi):
    log_rest = _log1mexp(log_pi)                             # log(1 - pi)
    return log_rest - log_pi, log_rest


def link_vjp(dscore, cache):
    r""".. math:: \frac{d}{d \log\pi} \log\frac{1 - \pi}{\pi} = -\frac{1}{1 - \pi}"""
    return -dscore * np.exp(-cache)


def mean_log_stick(a, b):
    grid = np.arange(-4.5, 4.5, 0.03)[:, None]
    g = np.pi * np.sinh(grid)                                # w = v^a = 1 / (1 + e^-g) fills (0, 1)
    log_w, log_rest = -_softplus(-g), -_softplus(g)
    # The density of w is b (1 - w)^(b - 1), and dw = w (1 - w) dg.
    weight = b * np.exp(log_w + b * log_rest) * np.pi * np.cosh(grid) * 0.03
    return (weight * _log1mexp(log_w / a)).sum(axis=0)       # v = 1 - w^(1/a)


def slope_in_noise(u, a, b):
    r""".. math:: \partial_u \log v = \frac{1 - v}{v}\,\frac{1}{a b u}\,\frac{e^s}{1 - e^s}, \quad s = \frac{\log u}{b}"""
    s = np.log(u) / b                                        # u^(1/b) = e^s
    log_power = _log1mexp(s)
    log_rest = log_power / a                                 # log(1 - v)
    return np.exp(log_rest - _log1mexp(log_rest) + s - log_power) / (a * b * u)
