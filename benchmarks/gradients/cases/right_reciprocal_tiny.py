"""Harmonic mean of resistances, some of 1e-8: n / sum(1 / x)."""

import numpy as np


def f(x):
    s = np.sum(1.0 / x, axis=1)
    return x.shape[1] / s, (x, s)


def f_vjp(dout, cache):
    x, s = cache
    return (dout * x.shape[1] / s**2)[:, None] / x**2


def check_inputs():
    return {"x": np.array([[1e-8, 2e-8, 5e-8], [1e-8, 1.0, 3.0], [0.4, 0.7, 2.0]])}
