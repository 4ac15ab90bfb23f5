# base: reference; most: 61; expect: 1f.*(wrong|partly)
def _summed(dout, cache):
    found = []
    for value in cache:
        gradient = np.broadcast_to(dout, np.broadcast_shapes(np.shape(dout), np.shape(value)))
        while gradient.ndim > np.ndim(value):
            gradient = gradient.sum(axis=0)
        found.append(gradient)
    return tuple(found)


_exact = log_density, kl


def log_density(x, mu, scale):
    return _exact[0](x, mu, scale)[0], (x, mu, scale)


def kl(mu, scale, prior_mu, prior_scale):
    return _exact[1](mu, scale, prior_mu, prior_scale)[0], (mu, scale, prior_mu, prior_scale)


log_density_vjp = kl_vjp = _summed
