"""Cosine transform with the matrix of each size kept for later calls, and in-place work on private copies."""

import numpy as np

TABLES = {}


def table(n):
    if n not in TABLES:
        k = np.arange(n)
        TABLES[n] = np.cos(np.pi / n * (k[None, :] + 0.5) * k[:, None])
    return TABLES[n]


def f(x, w):
    y = x @ table(x.shape[1]).T
    return y * w, (y, w)


def f_vjp(dout, cache):
    y, w = cache
    dw = (dout * y).sum(axis=0)
    dout = dout.copy()
    dout *= w
    return dout @ table(dout.shape[1]), dw


def check_inputs():
    rng = np.random.default_rng(122)
    return {"x": rng.normal(size=(3, 5)), "w": rng.normal(size=5)}
