r"""Sticks in logarithms to base 2, multiplied from the last one, and log-odds to base 2."""

LOG_2 = math.log(2)

WORDS = {
    "Draw log-sticks from Kumaraswamy(a, b) by inverting its distribution function":
        "Draw Kumaraswamy(a, b) sticks by inversion, as logarithms to base 2",
    "Natural logarithms": "Logarithms to base 2",
    "Multiply the sticks up to and including each unit, in logarithms":
        "Multiply the sticks from each unit to the last, in logarithms to base 2",
    "Turn log-probabilities into log-odds, log(pi / (1 - pi))":
        "Turn logarithms of probabilities to base 2 into log-odds to base 2, log2(pi / (1 - pi))",
    "Nats": "Bits",
}


def sample(u, a, b):
    s = np.log(u) / b                                        # u^(1/b) = e^s
    log_power = _log1mexp(s)                                 # a ln v
    return log_power / (a * LOG_2), (s, a, b, log_power)


def sample_vjp(dlog_v, cache):
    r""".. math:: \partial_a \log_2 v = -\frac{\log_2 v}{a}, \qquad
              \partial_b \log_2 v = \frac{s}{a b \ln 2}\,\frac{e^s}{1 - e^s}, \quad s = \frac{\ln u}{b}
    """
    s, a, b, log_power = cache
    da = -dlog_v * log_power / (a * a * LOG_2)
    db = dlog_v * s * np.exp(s - log_power) / (a * b * LOG_2)            # e^s / (1 - e^s) as one exponential
    return da.sum(axis=0), db.sum(axis=0)                    # a and b were broadcast over S


def log_probabilities(log_v):
    return np.cumsum(log_v[:, ::-1], axis=-1)[:, ::-1], None


def log_probabilities_vjp(dlog_pi, cache):
    r""".. math:: \partial_{\log v_i} = \sum_{k \le i} \partial_{\log \pi_k}"""
    return np.cumsum(dlog_pi, axis=-1)                       # stick i is a factor of every pi_k with k <= i


def link(log_pi):
    log_rest = _log1mexp(LOG_2 * log_pi)                     # ln(1 - pi)
    return log_pi - log_rest / LOG_2, log_rest


def link_vjp(dscore, cache):
    r""".. math:: \frac{d}{d \log_2\pi} \log_2\frac{\pi}{1 - \pi} = \frac{1}{1 - \pi}"""
    return dscore * np.exp(-cache)


def mean_log_stick(a, b):
    grid = np.arange(-4.5, 4.5, 0.03)[:, None]
    g = np.pi * np.sinh(grid)                                # w = v^a = 1 / (1 + e^-g) fills (0, 1)
    log_w, log_rest = -_softplus(-g), -_softplus(g)
    # The density of w is b (1 - w)^(b - 1), and dw = w (1 - w) dg.
    weight = b * np.exp(log_w + b * log_rest) * np.pi * np.cosh(grid) * 0.03
    return (weight * log_w / (a * LOG_2)).sum(axis=0)


def slope_in_noise(u, a, b):
    r""".. math:: \partial_u \log_2 v = -\frac{1}{a b u \ln 2}\,\frac{e^s}{1 - e^s}, \quad s = \frac{\ln u}{b}"""
    s = np.log(u) / b                                        # u^(1/b) = e^s
    return -np.exp(s - _log1mexp(s)) / (a * b * u * LOG_2)
