"""Loops."""

import numpy as np


def log_probabilities(log_v):
    out = np.zeros_like(log_v)
    for k in range(log_v.shape[1]):
        out[:, k] = log_v[:, : k + 1].sum(axis=1)
    return out, log_v.shape


def log_probabilities_vjp(dlog_pi, shape):
    out = np.zeros(shape)
    for k in range(shape[1]):
        for j in range(k + 1):
            out[:, j] += dlog_pi[:, k]
    return out


def weights_of_a_row(alpha):
    r = alpha / (alpha + 1)
    return alpha * (1 - r**200), (alpha, r)


def weights_of_a_row_vjp(dweights, cache):
    alpha, r = cache
    dr = 1 / (alpha + 1) ** 2
    return dweights * (1 - r**200 - alpha * 200 * r**199 * dr)


def first_unit_is_empty():
    v = (np.arange(100_000) + 0.5) / 100_000
    return np.mean(5 * v**4 * (1 - v) ** 20)


def sharing():
    return "C"


def weights_of_the_finite_model():
    return sum([0.2] * 20)
