"""Depthwise convolution with padding 1: out[c, i, j] = sum_pq k[c, p, q] xp[c, i + p, j + q]."""

import numpy as np


def f(x, k):
    _, H, W = x.shape
    xp = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    out = np.zeros(x.shape, dtype=np.result_type(x, k))
    for p in range(3):
        for q in range(3):
            out += k[:, p, q, None, None] * xp[:, p : p + H, q : q + W]
    return out, (xp, k)


def f_vjp(dout, cache):
    xp, k = cache
    _, H, W = dout.shape
    dxp = np.zeros_like(xp)
    dk = np.zeros_like(k)
    for p in range(3):
        for q in range(3):
            dk[:, p, q] = np.sum(dout * xp[:, p : p + H, q : q + W], axis=(1, 2))
            dxp[:, p : p + H, q : q + W] += dout * k[:, p, q, None, None]
    return dxp[:, 1:-1, 1:-1], dk


def check_inputs():
    rng = np.random.default_rng(11)
    return {"x": rng.normal(size=(2, 4, 4)), "k": rng.normal(size=(2, 3, 3))}
