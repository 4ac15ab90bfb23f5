from scipy import integrate


def _log1mexp(x):
    return np.where(x > -0.693, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def sample(u, a, b):
    log_u = np.log(u)
    s = b * log_u
    rest = _log1mexp(s)
    return a * rest, (log_u, s, rest, a)


def sample_vjp(dlog_v, cache):
    log_u, s, rest, a = cache
    da = (dlog_v * rest).sum(axis=0)
    db = (-dlog_v * a * np.exp(s - rest) * log_u).sum(axis=0)
    return da, db


def log_probabilities(log_v):
    k = np.arange(1, log_v.shape[1] + 1)
    return np.cumsum(log_v, axis=1) / k, k


def log_probabilities_vjp(dlog_pi, cache):
    d = dlog_pi / cache
    return np.cumsum(d[:, ::-1], axis=1)[:, ::-1]


def link(log_pi):
    m = _log1mexp(log_pi)
    return np.log(-m), (log_pi, m)


def link_vjp(dscore, cache):
    log_pi, m = cache
    return -dscore * np.exp(log_pi - m) / m


def mean_log_stick(a, b):
    out = []
    for A, B in zip(1 / a, 1 / b, strict=True):
        # w = t^A
        out.append(integrate.quad(lambda w: B / A, 0, 1, weight="alg-loga", wvar=(0, B - 1))[0])
    return np.array(out)


def slope_in_noise(u, a, b):
    power = u**b
    return -a * b * power / (u * (1 - power))
