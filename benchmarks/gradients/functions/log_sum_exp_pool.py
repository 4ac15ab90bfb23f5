"""Smooth maximum over windows of a sequence: log(mean(exp(r x))) / r with one sharpness per channel."""

import numpy as np


def f(x, r):
    windows = x.reshape(x.shape[0] // 2, 2, x.shape[1])
    e = np.exp(r * windows)
    mean = e.mean(axis=1)
    y = np.log(mean) / r
    return y, (windows, e, r, y)


def f_vjp(dout, cache):
    windows, e, r, y = cache
    share = e / e.sum(axis=1, keepdims=True)
    dwindows = dout[:, None, :] * share
    dr = dout * ((share * windows).sum(axis=1) - y) / r
    return dwindows.reshape(-1, windows.shape[2]), dr.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(210)
    return {"x": rng.normal(size=(6, 3)), "r": rng.uniform(0.5, 1.5, size=3)}
