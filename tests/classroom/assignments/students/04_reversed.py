from scipy.special import digamma, expit, polygamma

GAMMA = 0.5772156649015329


def _l1me(x):
    return np.where(x > -0.693, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _grid():
    x = np.linspace(-60, 36, 6001)[:, None]
    u = expit(x)
    return x, u, u * expit(-x) * (x[1] - x[0])


def kl_to_beta(a, b, alpha):
    g = (a - alpha) / alpha
    k = GAMMA + digamma(1 + alpha / a)
    h = b - 1
    value = g - np.log1p(g) + h - np.log1p(h) + h * (k - 1)
    return value.sum(), (a, b, alpha, k)


def kl_to_beta_vjp(ddivergence, cache):
    a, b, alpha, k = cache
    tri = polygamma(1, 1 + alpha / a).astype(a.dtype)
    da = (a - alpha) / (a * alpha) - (b - 1) * tri * alpha / a**2
    db = (b - 1) / b + (k - 1)
    dalpha = ((alpha - a) / alpha**2 + (b - 1) * tri / a).sum()
    return ddivergence * da, ddivergence * db, ddivergence * dalpha


def mean_log_rest(a, b):
    x, u, w = _grid()
    s = -np.logaddexp(0, -x) / b
    power = _l1me(s)
    log_v = power / a
    rest = _l1me(log_v)
    return (w * rest).sum(axis=0), (s, power, log_v, rest, w, a, b)


def mean_log_rest_vjp(dmean, cache):
    s, power, log_v, rest, w, a, b = cache
    dv = -w * np.exp(log_v - rest)
    da = (-dv * log_v / a).sum(axis=0)
    db = (dv * s * np.exp(s - power) / (a * b)).sum(axis=0)
    return dmean * da, dmean * db


def kl_by_quadrature(a, b, alpha):
    x, v, w = _grid()
    lv = -np.logaddexp(0, -x)
    p = np.log(alpha) + (alpha - 1) * lv
    q = np.log(a * b) + (a - 1) * lv + (b - 1) * _l1me(a * lv)
    return (w * np.exp(p) * (p - q)).sum()


def misprint(a, b, alpha):
    return -(b - 1) * a / alpha


def mean_log_posterior(a, b, alpha):
    return np.log(a) + np.log(b) - (a - 1) / alpha - (b - 1) * (GAMMA + digamma(alpha / a + 1))
