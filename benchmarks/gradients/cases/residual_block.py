"""Residual block with one matrix used twice: y = x + tanh(tanh(x W) W)."""

import numpy as np


def f(x, W):
    h1 = np.tanh(x @ W)
    h2 = np.tanh(h1 @ W)
    return x + h2, (x, W, h1, h2)


def f_vjp(dout, cache):
    x, W, h1, h2 = cache
    da2 = dout * (1 - h2**2)
    dW = h1.T @ da2
    dh1 = da2 @ W.T
    da1 = dh1 * (1 - h1**2)
    dW = dW + x.T @ da1
    dx = dout + da1 @ W.T
    return dx, dW


def check_inputs():
    rng = np.random.default_rng(14)
    return {"x": rng.normal(size=(4, 3)), "W": rng.normal(size=(3, 3))}
