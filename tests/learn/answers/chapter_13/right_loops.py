"""Loops."""

import math

import numpy as np


def log_normal(x, mu, sigma):
    out = []
    for each in x:
        t = (math.log(each) - mu) / sigma
        out.append(math.log(math.exp(-t * t / 2) / (each * sigma * math.sqrt(2 * math.pi))))
    return np.array(out)


def entropy_of_the_exponential():
    return [0.30685]


def exponential_quantile(u, rate):
    return [math.log(1 / (1 - each)) / rate for each in u]


def u_for_one_minus_u():
    return " c"
