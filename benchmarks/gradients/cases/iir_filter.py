"""Recursive filter of second order: y_t = b0 x_t + b1 x_{t-1} - a1 y_{t-1} - a2 y_{t-2}."""

import numpy as np


def f(x, b, a):
    xp = np.concatenate([[0.0], x])
    y = [0.0, 0.0]
    for t in range(len(x)):
        y.append(b[0] * xp[t + 1] + b[1] * xp[t] - a[0] * y[-1] - a[1] * y[-2])
    y = np.array(y)
    return y[2:], (xp, y, b, a)


def f_vjp(dout, cache):
    xp, y, b, a = cache
    T = len(dout)
    db, da = np.zeros(2), np.zeros(2)
    dx = np.zeros(T + 1)
    lam = np.zeros(T + 2)
    for t in range(T - 1, -1, -1):
        lam[t] = dout[t] - a[0] * lam[t + 1] - a[1] * lam[t + 2]
        dx[t + 1] += b[0] * lam[t]
        dx[t] += b[1] * lam[t]
        db += lam[t] * np.array([xp[t + 1], xp[t]])
        da -= lam[t] * np.array([y[t + 1], y[t]])
    return dx[1:], db, da


def check_inputs():
    rng = np.random.default_rng(55)
    return {"x": rng.normal(size=7), "b": np.array([0.8, -0.5]), "a": np.array([-0.6, 0.3])}
