"""One step of a long short-term memory cell; it returns the new hidden state."""

import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def f(x, h, c, W, U, b):
    a = x @ W + h @ U + b
    ai, af, ao, ag = np.split(a, 4, axis=1)
    i, forget, o, g = sigmoid(ai), sigmoid(af), sigmoid(ao), np.tanh(ag)
    new = forget * c + i * g
    t = np.tanh(new)
    return o * t, (x, h, c, W, U, i, forget, o, g, t)


def f_vjp(dout, cache):
    x, h, c, W, U, i, forget, o, g, t = cache
    dnew = dout * o * (1 - t**2)
    di = dnew * g * i * (1 - i)
    dforget = dnew * c * forget * (1 - forget)
    do = dout * t * o * (1 - o)
    dg = dnew * i * (1 - g**2)
    da = np.concatenate([di, dforget, do, dg], axis=1)
    return da @ W.T, da @ U.T, dnew * forget, x.T @ da, h.T @ da, da.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(213)
    return {
        "x": rng.normal(size=(3, 2)),
        "h": rng.normal(size=(3, 2)),
        "c": rng.normal(size=(3, 2)),
        "W": rng.normal(size=(2, 8)),
        "U": rng.normal(size=(2, 8)),
        "b": rng.normal(size=8),
    }
