"""Lists, and hypot."""

import numpy as np


def best_step():
    return 2.98e-8


def central_slopes():
    return "B"


def smooth_abs(x, delta):
    return np.sqrt(x**2 + delta**2), (x, delta)


def smooth_abs_vjp(dy, cache):
    x, delta = cache
    y = np.sqrt(x**2 + delta**2)
    return [dy * x / y, np.sum(dy * delta / y)]


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), x


def softplus_vjp(dh, cache):
    e = np.exp(-np.abs(cache))
    return dh * np.where(cache > 0, 1 / (1 + e), e / (1 + e))


def where_it_fails():
    return [0.1, 0.2], 1.0
