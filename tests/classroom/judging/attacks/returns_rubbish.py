# base: stub; most: 0; expect: 1a.*wrong
def sample(eps, mu, scale):
    return "a text", {"a": [1, 2]}


def sample_vjp(dv, cache):
    return {"mu": None}, "text", [[[[[[[[[[1]]]]]]]]]]


def log_density(x, mu, scale):
    return (x - mu).astype(complex), (x, mu)


def log_density_vjp(dlog_p, cache):
    return dlog_p * 1j, "mu", np.array([None, 3], dtype=object)


def kl(mu, scale, prior_mu, prior_scale):
    return 10 ** 5000, None


def kl_vjp(ddivergence, cache):
    return [np.nan, np.inf, True, np.array("text")]
