"""A triangular matrix, and the gamma function."""

import math

import numpy as np


def log_probabilities(log_v):
    upper = np.triu(np.ones((log_v.shape[1],) * 2))
    return log_v @ upper, upper


def log_probabilities_vjp(dlog_pi, upper):
    return dlog_pi @ upper.T


def weights_of_a_row(alpha):
    q = 1 + 1 / alpha
    return -alpha * np.expm1(-200 * np.log(q)), (alpha, q)


def weights_of_a_row_vjp(dweights, cache):
    alpha, q = cache
    return [dweights * (1 - q**-200 - 200 * q**-201 / alpha)]


def first_unit_is_empty():
    return 5 * math.gamma(5) * math.gamma(21) / math.gamma(26)


def sharing():
    return " c "


def weights_of_the_finite_model():
    return np.array(4)
