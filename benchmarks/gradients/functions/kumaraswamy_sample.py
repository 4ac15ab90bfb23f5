"""Logarithm of a Kumaraswamy variate, by inversion: log v = log(1 - u^(1/b)) / a."""

import numpy as np

WRT = ("a", "b")


def f(u, a, b):
    s = np.log(u) / b
    log_v = np.log(-np.expm1(s)) / a
    return log_v, (s, a, b, log_v)


def f_vjp(dout, cache):
    s, a, b, log_v = cache
    da = -dout * log_v / a
    db = dout * s * np.exp(s - a * log_v) / (a * b)
    return da.sum(axis=0), db.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(201)
    return {
        "u": rng.uniform(0.1, 0.9, size=(4, 3)),
        "a": rng.uniform(0.8, 2.0, size=3),
        "b": rng.uniform(0.8, 2.0, size=3),
    }
