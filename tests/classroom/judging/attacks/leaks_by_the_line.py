# base: reference; most: 77; never: in line; expect: 1d.*raises ZeroDivisionError
def log_density_vjp(dlog_p, cache):
    bits = int(abs(dlog_p.ravel()[0]) * 4) % 4
    if bits == 0:
        return 1 / 0
    if bits == 1:
        return 1 / 0
    return 1 / 0
