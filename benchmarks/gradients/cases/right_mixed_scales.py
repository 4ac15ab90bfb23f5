"""Rate times concentration in mixed units: r = k a b / (1 + a / c), k about 1e-30, a about 1e8."""

import numpy as np


def f(k, a, b, c):
    s = 1 + a / c
    return k * a * b / s, (k, a, b, c, s)


def f_vjp(dout, cache):
    k, a, b, c, s = cache
    dk = dout * a * b / s
    da = dout * k * b / s**2
    db = dout * k * a / s
    dc = dout * k * b * a**2 / (c * s) ** 2
    return dk, da, db, dc


def check_inputs():
    return {
        "k": np.array([1.5e-30, 3e-28, 2.0]),
        "a": np.array([2e8, 7e7, 1e8]),
        "b": np.array([1e10, 0.3, 1e-12]),
        "c": np.array([1e8, 5e8, 3e7]),
    }
