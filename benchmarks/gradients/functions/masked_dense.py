"""Dense layer whose weights are multiplied by masks with one probability per unit: tanh(x (w z) + b)."""

import numpy as np


def f(x, w, z, b):
    kept = w * z
    h = np.tanh(x @ kept + b)
    return h, (x, w, z, kept, h)


def f_vjp(dout, cache):
    x, w, z, kept, h = cache
    da = dout * (1 - h**2)
    dkept = x.T @ da
    dw = dkept * z
    dz = (dkept * w).sum(axis=0)
    return da @ kept.T, dw, dz, da.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(205)
    return {
        "x": rng.normal(size=(4, 3)),
        "w": rng.normal(size=(3, 2)),
        "z": rng.uniform(0.2, 0.8, size=2),
        "b": rng.normal(size=2),
    }
