from scipy.special import expit


def sample(u, logit_theta, tau):
    l = np.log(u) - np.log1p(-u)
    y = tau * (logit_theta + l)
    return expit(y), (y, tau, logit_theta + l)


def sample_vjp(dz, cache):
    y, tau, t = cache
    dy = dz * expit(y) * expit(-y)
    return (dy * tau).sum(axis=0), (dy * t).sum(axis=(0, 1))


def log_density(y, logit_theta, tau):
    l = y / tau - logit_theta
    return -np.abs(l) - 2 * np.log1p(np.exp(-np.abs(l))) - np.log(np.abs(tau)), (l, y, tau)


def log_density_vjp(dlog_q, cache):
    l, y, tau = cache
    dl = -dlog_q * np.tanh(l / 2)
    return dl / tau, -dl.sum(axis=0), (-dl * y / tau**2 - dlog_q / tau).sum(axis=(0, 1))


def kl(logit_theta, logit_pi):
    a, b = logit_pi, logit_theta
    pi, d = expit(a), b - a
    near = np.abs(d) < 1e-2
    close = np.log1p(pi * np.expm1(np.where(near, d, 0))) - pi * d
    far = -pi * d + np.logaddexp(0, b) - np.logaddexp(0, a)
    return np.where(near, close, far).sum(), (a, b)


def kl_vjp(ddivergence, cache):
    a, b = cache
    db = expit(b) - expit(a)
    da = expit(a) * expit(-a) * (a - b)
    return ddivergence * db, ddivergence * da.sum(axis=0)


def mean_mask(logit_theta, tau):
    l = np.linspace(-45, 45, 8001)[:, None, None]
    y = tau * (logit_theta + l)
    q, _ = log_density(y, logit_theta[None], tau)
    return np.abs(np.trapezoid(np.exp(q) * expit(y), y, axis=0))[0]


def slope_in_noise(u, logit_theta, tau):
    z = sample(u, logit_theta, tau)[0]
    return z * (1 - z) * tau * (1 / u + 1 / (1 - u))
