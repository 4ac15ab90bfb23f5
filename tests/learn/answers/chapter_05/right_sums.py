"""Totals minus cumulative sums, and quadrature."""

import numpy as np
from scipy import integrate


def log_probabilities(log_v):
    return np.add.accumulate(log_v, axis=1), None


def log_probabilities_vjp(dlog_pi, cache):
    return dlog_pi.sum(axis=1, keepdims=True) - np.cumsum(dlog_pi, axis=1) + dlog_pi


def weights_of_a_row(alpha):
    powers = [(alpha / (alpha + 1)) ** k for k in range(1, 201)]
    return np.sum(powers, axis=0), alpha


def weights_of_a_row_vjp(dweights, alpha):
    slopes = [k * (alpha / (alpha + 1)) ** (k - 1) / (alpha + 1) ** 2 for k in range(1, 201)]
    return dweights * np.sum(slopes, axis=0)


def first_unit_is_empty():
    return integrate.quad(lambda v: 5 * v**4 * (1 - v) ** 20, 0, 1)[0]


def sharing():
    return "c"


def weights_of_the_finite_model():
    return [20 * 0.25 / 1.25]
