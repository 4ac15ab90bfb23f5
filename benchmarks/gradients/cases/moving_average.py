"""Weighted moving average of window 3 with the border values repeated: y_t = sum_k w_k x_{clip(t + k - 1)}."""

import numpy as np


def f(x, w):
    n = len(x)
    xp = np.concatenate([x[:1], x, x[-1:]])
    y = w[0] * xp[:n] + w[1] * xp[1 : n + 1] + w[2] * xp[2:]
    return y, (xp, w)


def f_vjp(dout, cache):
    xp, w = cache
    n = len(dout)
    dw = np.array([dout @ xp[k : k + n] for k in range(3)])
    dxp = np.zeros(n + 2)
    for k in range(3):
        dxp[k : k + n] += w[k] * dout
    dx = dxp[1:-1]
    dx[0] += dxp[0]
    dx[-1] += dxp[-1]
    return dx, dw


def check_inputs():
    rng = np.random.default_rng(51)
    return {"x": rng.normal(size=8), "w": np.array([0.2, 0.7, -0.4])}
