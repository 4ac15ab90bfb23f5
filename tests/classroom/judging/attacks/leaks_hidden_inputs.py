# base: reference; most: 85; expect: 1d.*raises ValueError$|raises ValueError 
def log_density_vjp(dlog_p, cache):
    print("LEAK", cache)
    raise ValueError(f"LEAK {cache!r}")
