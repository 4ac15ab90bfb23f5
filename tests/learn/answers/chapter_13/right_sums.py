"""One logarithm of a product."""

import numpy as np


def log_normal(x, mu, sigma):
    y = np.log(x)
    return -(np.log(2 * np.pi * sigma**2) + 2 * y + (y / sigma - mu / sigma) ** 2) / 2


def entropy_of_the_exponential():
    return np.log(np.e / 2)


def exponential_quantile(u, rate):
    return np.log(1 - u) / -rate


def u_for_one_minus_u():
    return "c"
