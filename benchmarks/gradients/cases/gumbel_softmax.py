"""Gumbel softmax: softmax((logits + noise) / tau) with given noise."""

import numpy as np

WRT = ("logits", "tau")


def f(logits, noise, tau):
    u = logits + noise
    s = u / tau
    y = np.exp(s - s.max(axis=1, keepdims=True))
    y = y / y.sum(axis=1, keepdims=True)
    return y, (u, tau, y)


def f_vjp(dout, cache):
    u, tau, y = cache
    ds = y * (dout - np.sum(dout * y, axis=1, keepdims=True))
    dlogits = ds / tau
    dtau = -np.sum(ds * u) / tau**2
    return dlogits, dtau


def check_inputs():
    rng = np.random.default_rng(39)
    return {"logits": rng.normal(size=(4, 3)), "noise": rng.gumbel(size=(4, 3)), "tau": np.array(0.7)}
