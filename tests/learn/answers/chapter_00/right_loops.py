"""Explicit matrices, loops, and a self-made mean."""

import numpy as np


def softmax(x):
    total = 0.0
    for each in x:
        total = total + np.exp(each - x[0])
    return np.array([np.exp(each - x[0]) / total for each in x]), x


def softmax_vjp(dy, cache):
    y = softmax(cache)[0]
    jacobian = np.diag(y) - np.outer(y, y)
    return jacobian.T @ dy


def output_moments(x, mu, sigma):
    mean = 0.0
    variance = 0.0
    for d in range(len(x)):
        mean += x[d] * mu[d]
        variance += x[d] ** 2 * sigma[d] ** 2
    return [mean, variance**0.5]


def two_directions():
    return " B "


def points_for_pi():
    return 2_696_766


def standardize(x, m, s):
    y = np.empty_like(x)
    for k in range(x.shape[1]):
        y[:, k] = (x[:, k] - m[k]) / s[k]
    return y, {"x": x, "m": m, "s": s}


def standardize_vjp(dy, cache):
    x, m, s = cache["x"], cache["m"], cache["s"]
    dx, dm, ds = np.zeros_like(x), np.zeros_like(m), np.zeros_like(s)
    for n in range(x.shape[0]):
        for k in range(x.shape[1]):
            dx[n, k] = dy[n, k] / s[k]
            dm[k] -= dy[n, k] / s[k]
            ds[k] -= dy[n, k] * (x[n, k] - m[k]) / s[k] ** 2
    return dx, dm, ds
