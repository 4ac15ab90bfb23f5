# base: reference; most: 85; expect: 1d.*raises a custom exception
def log_density_vjp(dlog_p, cache):
    raise type(f"LEAK{dlog_p.ravel()[0]}", (Exception,), {})
