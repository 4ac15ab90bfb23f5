# base: reference; most: 10; expect: 1a.*raises FrameError
_large = np.zeros(8_000_000)


def sample(eps, mu, scale):
    return _large, (eps, mu, scale)


log_density = kl = sample


def sample_vjp(dout, cache):
    return _large, _large


log_density_vjp = kl_vjp = sample_vjp


def kl_by_quadrature(*inputs):
    return _large
