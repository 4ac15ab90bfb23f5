"""Two rectified layers, images with exact zeros as inputs: max(max(x, 0) W + b, 0)."""

import numpy as np


def f(x, W, b):
    h = np.maximum(x, 0)
    a = h @ W + b
    return np.maximum(a, 0), (x, h, W, a)


def f_vjp(dout, cache):
    x, h, W, a = cache
    da = dout * (a > 0)
    dx = (da @ W.T) * (x > 0)
    return dx, h.T @ da, da.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(109)
    x = rng.normal(size=(4, 5))
    x[rng.random(size=x.shape) < 0.4] = 0.0
    return {"x": x, "W": rng.normal(size=(5, 3)), "b": rng.normal(size=3)}
