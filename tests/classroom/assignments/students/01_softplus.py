def _sp(s):
    return np.logaddexp(0, s)


def _sl(s):
    return np.exp(-np.logaddexp(0, -s))


def sample(eps, mu, scale):
    return mu + _sp(scale) * eps, (eps, scale)


def sample_vjp(dv, cache):
    eps, scale = cache
    return dv.sum(axis=0), (dv * eps * _sl(scale)).sum(axis=(0, 1))


def log_density(x, mu, scale):
    sigma = _sp(scale)
    t = (x - mu) / sigma
    return -t * t / 2 - np.log(sigma) - 0.5 * math.log(2 * math.pi), (t, sigma, scale)


def log_density_vjp(dlog_p, cache):
    t, sigma, scale = cache
    dx = -dlog_p * t / sigma
    ds = dlog_p * (t * t - 1) * (_sl(scale) / sigma)
    return dx, -dx.sum(axis=0), ds.sum(axis=(0, 1))


def kl(mu, scale, prior_mu, prior_scale):
    s, s0 = _sp(scale), _sp(prior_scale)
    r = np.log(s) - np.log(s0)
    shift = (mu - prior_mu) / s0
    e = np.expm1(2 * r)
    return (shift**2 / 2 + (e / 2 - r)).sum(), (shift, e, s, s0, scale, prior_scale)


def kl_vjp(ddivergence, cache):
    shift, e, s, s0, scale, prior_scale = cache
    dmu = shift / s0
    ds = len(shift) * e / s * _sl(scale)
    d0 = -(e + shift**2).sum() / s0 * _sl(prior_scale)
    return ddivergence * dmu, ddivergence * ds, -ddivergence * dmu.sum(axis=0), ddivergence * d0


def kl_by_quadrature(mu, scale, prior_mu, prior_scale):
    t = np.linspace(-12, 12, 2001)[:, None, None]
    x = mu + _sp(scale) * t
    q, _ = log_density(x, mu, scale)
    p, _ = log_density(x, prior_mu, prior_scale)
    return np.trapezoid(np.exp(q) * (q - p), x, axis=0).sum()


def slope_in_sigma(x, mu, scale):
    sigma = _sp(scale)
    return (x - mu) ** 2 / sigma**3 - 1 / sigma
