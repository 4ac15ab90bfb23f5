"""Bilinear layer: out[n, k] = sum_ij x[n, i] W[k, i, j] y[n, j] + b[k]."""

import numpy as np


def f(x, y, W, b):
    return np.einsum("ni,kij,nj->nk", x, W, y) + b, (x, y, W)


def f_vjp(dout, cache):
    x, y, W = cache
    dx = np.einsum("nk,kij,nj->ni", dout, W, y)
    dy = np.einsum("nk,kij,ni->nj", dout, W, x)
    dW = np.einsum("nk,ni,nj->kij", dout, x, y)
    db = dout.sum(axis=0)
    return dx, dy, dW, db


def check_inputs():
    rng = np.random.default_rng(15)
    return {
        "x": rng.normal(size=(4, 3)),
        "y": rng.normal(size=(4, 3)),
        "W": rng.normal(size=(2, 3, 3)),
        "b": rng.normal(size=2),
    }
