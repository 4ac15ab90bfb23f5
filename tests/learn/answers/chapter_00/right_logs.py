"""Logarithms, and the chain rule in small steps."""

import numpy as np


def softmax(x):
    log_y = x - np.logaddexp.reduce(x)
    return np.exp(log_y), log_y


def softmax_vjp(dy, log_y):
    dlog_y = dy * np.exp(log_y)
    return dlog_y - np.exp(log_y) * np.sum(dlog_y)


def output_moments(x, mu, sigma):
    variance = np.dot(np.square(x), np.square(sigma))
    return np.float64(np.dot(mu, x)), np.exp(0.5 * np.log(variance))


def two_directions():
    return "B"


def points_for_pi():
    return [2.7e6]


def standardize(x, m, s):
    t = x - m
    return t / s, (t, s)


def standardize_vjp(dy, cache):
    t, s = cache
    dt = dy / s
    ones = np.ones(len(dy))
    return dt, -ones @ dt, ones @ (-dy * t / (s * s))
