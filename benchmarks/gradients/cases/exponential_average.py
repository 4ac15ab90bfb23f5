"""Exponential moving average: s_0 = x_0, s_t = alpha x_t + (1 - alpha) s_{t-1}."""

import numpy as np


def f(x, alpha):
    s = [x[0]]
    for t in range(1, len(x)):
        s.append(alpha * x[t] + (1 - alpha) * s[-1])
    s = np.array(s)
    return s, (x, alpha, s)


def f_vjp(dout, cache):
    x, alpha, s = cache
    dx = np.zeros_like(x)
    dalpha = 0.0
    ds = np.zeros_like(x[0])
    for t in range(len(x) - 1, 0, -1):
        ds = ds + dout[t]
        dx[t] = alpha * ds
        dalpha += np.sum(ds * (x[t] - s[t - 1]))
        ds = (1 - alpha) * ds
    dx[0] = ds + dout[0]
    return dx, np.array(dalpha)


def check_inputs():
    rng = np.random.default_rng(25)
    return {"x": rng.normal(size=(6, 2)), "alpha": np.array(0.3)}
