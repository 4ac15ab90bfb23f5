"""Gated layer: out = (silu(x W) * (x V)) O with silu(a) = a sigmoid(a)."""

import numpy as np


def f(x, W, V, O):
    a = x @ W
    g = x @ V
    s = 1.0 / (1.0 + np.exp(-a))
    h = a * s * g
    return h @ O, (x, W, V, O, a, g, s, h)


def f_vjp(dout, cache):
    x, W, V, O, a, g, s, h = cache
    dO = h.T @ dout
    dh = dout @ O.T
    dg = dh * a * s
    da = dh * g * (s + a * s * (1 - s))
    dW = x.T @ da
    dV = x.T @ dg
    dx = da @ W.T + dg @ V.T
    return dx, dW, dV, dO


def check_inputs():
    rng = np.random.default_rng(17)
    return {
        "x": rng.normal(size=(4, 3)),
        "W": rng.normal(size=(3, 4)),
        "V": rng.normal(size=(3, 4)),
        "O": rng.normal(size=(4, 2)),
    }
