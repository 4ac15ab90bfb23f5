"""Log survival k log(1 - x) with x close to 1."""

import numpy as np


def f(x, k):
    return k * np.log(1 - x), (x, k)


def f_vjp(dout, cache):
    x, k = cache
    return -dout * k / (1 - x), dout * np.log(1 - x)


def check_inputs():
    return {"x": np.array([0.3, 0.999, 1 - 1e-7, 1 - 1e-10]), "k": np.array([1.0, 2.0, 0.5, 1.5])}
