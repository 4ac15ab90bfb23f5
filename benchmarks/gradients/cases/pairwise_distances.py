"""Euclidean distances of all pairs of rows: D_ij = |x_i - x_j|."""

import numpy as np


def f(x):
    d = x[:, None, :] - x[None, :, :]
    D = np.sqrt(np.sum(d * d, axis=2))
    return D, (d, D)


def f_vjp(dout, cache):
    d, D = cache
    w = np.where(D > 0, dout / np.where(D > 0, D, 1.0), 0.0)
    dd = w[:, :, None] * d
    return dd.sum(axis=1) - dd.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(63)
    return {"x": rng.normal(size=(5, 3))}
