"""A layer whose backward takes the slope of tanh at the input instead of the output."""

import numpy as np


def layer(x, w, b):
    """Return tanh(x w + b) and what the backward needs."""
    h = np.tanh(x @ w + b)
    return h, (x, w, b)


def layer_vjp(dh, cache):
    """Pull dh back. Wrong: the slope is 1 - h^2, and h is the output of tanh."""
    x, w, b = cache
    dz = dh * (1 - (x @ w + b) ** 2)
    return dz @ w.T, x.T @ dz, dz.sum(axis=0)


def check_inputs():
    """Return x (N, D), w (D, K) and b (K,)."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((4, 3)), 0.5 * rng.standard_normal((3, 2)), rng.standard_normal(2)
