"""Multiclass hinge loss: mean over n of sum_{j != y_n} max(0, s_nj - s_n,y + 1) + reg sum(W^2), s = x W."""

import numpy as np

WRT = ("x", "W")
REG = 0.1


def f(x, W, y):
    s = x @ W
    n = len(y)
    margins = np.maximum(0, s - s[np.arange(n), y][:, None] + 1)
    margins[np.arange(n), y] = 0
    loss = margins.sum() / n + REG * np.sum(W * W)
    return loss, (x, W, y, margins)


def f_vjp(dout, cache):
    x, W, y, margins = cache
    n = len(y)
    ds = (margins > 0).astype(float)
    ds[np.arange(n), y] = -ds.sum(axis=1)
    ds = dout * ds / n
    dx = ds @ W.T
    dW = x.T @ ds + dout * 2 * REG * W
    return dx, dW


def check_inputs():
    rng = np.random.default_rng(28)
    return {"x": rng.normal(size=(5, 3)), "W": rng.normal(size=(3, 4)), "y": np.array([0, 3, 1, 2, 3])}
