"""Entropy-like sum with logarithm and root of probabilities down to 1e-16: -p log p + sqrt(p)."""

import numpy as np


def f(p):
    return np.sqrt(p) - p * np.log(p), p


def f_vjp(dout, cache):
    p = cache
    return dout * (0.5 / np.sqrt(p) - np.log(p) - 1)


def check_inputs():
    return {"p": np.array([1e-16, 3e-16, 2e-9, 0.2, 0.8 - 2e-9])}
