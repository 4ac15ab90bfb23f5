# base: stub; most: 0; expect: 1a.*wrong
def sample(eps, mu, scale):
    return np.zeros(eps.shape), (mu, scale)


def sample_vjp(dv, cache):
    return tuple(np.zeros_like(value) for value in cache)


def log_density(x, mu, scale):
    return np.zeros(x.shape), (x, mu, scale)


def log_density_vjp(dlog_p, cache):
    return tuple(np.zeros_like(value) for value in cache)


def kl(mu, scale, prior_mu, prior_scale):
    return 0.0, (mu, scale, prior_mu, prior_scale)


def kl_vjp(ddivergence, cache):
    return tuple(np.zeros_like(value) for value in cache)
