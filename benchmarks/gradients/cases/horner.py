"""Polynomial c_0 + c_1 x + ... + c_n x^n by Horner's scheme, for all entries of x."""

import numpy as np


def f(c, x):
    p = [c[-1] + 0 * x]
    for a in c[-2::-1]:
        p.append(p[-1] * x + a)
    return p[-1], (p, x)


def f_vjp(dout, cache):
    p, x = cache
    n = len(p)
    dc = np.zeros(n)
    dx = np.zeros_like(x)
    g = dout
    for k in range(n - 1):
        dc[k] = g.sum()
        dx += g * p[n - 2 - k]
        g = g * x
    dc[n - 1] = g.sum()
    return dc, dx


def check_inputs():
    rng = np.random.default_rng(61)
    return {"c": rng.normal(size=5), "x": np.array([0.83, -1.27, 0.41, 1.52])}
