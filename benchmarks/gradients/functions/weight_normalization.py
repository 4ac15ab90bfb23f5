"""Linear layer with normalized columns: x (g w / |w|) + b."""

import numpy as np


def f(x, w, g, b):
    norm = np.sqrt((w**2).sum(axis=0))
    v = w / norm
    return x @ (g * v) + b, (x, v, norm, g)


def f_vjp(dout, cache):
    x, v, norm, g = cache
    dscaled = x.T @ dout
    dx = dout @ (g * v).T
    dg = (dscaled * v).sum(axis=0)
    dv = dscaled * g
    dw = (dv - v * (dv * v).sum(axis=0)) / norm
    return dx, dw, dg, dout.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(211)
    return {
        "x": rng.normal(size=(4, 3)),
        "w": rng.normal(size=(3, 2)),
        "g": rng.uniform(0.5, 1.5, size=2),
        "b": rng.normal(size=2),
    }
