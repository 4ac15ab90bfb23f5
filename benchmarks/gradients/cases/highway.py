"""Highway layer: y = t h + (1 - t) x with h = max(x Wh + bh, 0) and t = sigmoid(x Wt + bt)."""

import numpy as np


def f(x, Wh, bh, Wt, bt):
    a = x @ Wh + bh
    h = np.maximum(a, 0)
    t = 1.0 / (1.0 + np.exp(-(x @ Wt + bt)))
    return t * h + (1 - t) * x, (x, a, h, t, Wh, Wt)


def f_vjp(dout, cache):
    x, a, h, t, Wh, Wt = cache
    dh = dout * t
    dt = dout * (h - x)
    da = dh * (a > 0)
    ds = dt * t * (1 - t)
    dx = da @ Wh.T + ds @ Wt.T + dout * (1 - t)
    dWh = x.T @ da
    dWt = x.T @ ds
    return dx, dWh, da.sum(axis=0), dWt, ds.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(6)
    return {
        "x": rng.normal(size=(4, 3)),
        "Wh": rng.normal(size=(3, 3)),
        "bh": rng.normal(size=3),
        "Wt": rng.normal(size=(3, 3)),
        "bt": rng.normal(size=3),
    }
