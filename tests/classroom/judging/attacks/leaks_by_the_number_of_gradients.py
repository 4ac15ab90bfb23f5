# base: reference; most: 90; never: returns \d+ gradients; expect: 90 of
_exact = log_density_vjp


def log_density_vjp(dlog_p, cache):
    return (*_exact(dlog_p, cache), *[0.0] * (int(abs(dlog_p.ravel()[0]) * 1e4) % 20000))
