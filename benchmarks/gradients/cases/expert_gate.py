"""Mixture of experts: out = sum_e softmax(x G)_e tanh(x W_e)."""

import numpy as np


def f(x, G, W):
    s = x @ G
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    y = np.tanh(np.einsum("nd,edh->neh", x, W))
    return np.einsum("ne,neh->nh", p, y), (x, G, W, p, y)


def f_vjp(dout, cache):
    x, G, W, p, y = cache
    dp = np.einsum("nh,neh->ne", dout, y)
    ds = p * (dp - (dp * p).sum(axis=1, keepdims=True))
    dy = p[:, :, None] * dout[:, None, :]
    da = dy * (1 - y**2)
    dW = np.einsum("nd,neh->edh", x, da)
    dG = x.T @ ds
    dx = ds @ G.T + np.einsum("neh,edh->nd", da, W)
    return dx, dG, dW


def check_inputs():
    rng = np.random.default_rng(21)
    return {"x": rng.normal(size=(4, 3)), "G": rng.normal(size=(3, 3)), "W": rng.normal(size=(3, 3, 2))}
