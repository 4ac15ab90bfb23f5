"""Logarithms of the probabilities of an Indian buffet process: sums of the logarithms of the sticks, then a logit."""

import numpy as np


def f(log_v):
    log_pi = np.cumsum(log_v, axis=-1)
    rest = np.log(-np.expm1(log_pi))
    return log_pi - rest, (log_pi,)


def f_vjp(dout, cache):
    (log_pi,) = cache
    dlog_pi = dout / -np.expm1(log_pi)
    return np.flip(np.cumsum(np.flip(dlog_pi, axis=-1), axis=-1), axis=-1)


def check_inputs():
    return {"log_v": -np.random.default_rng(202).uniform(0.1, 0.8, size=(3, 4))}
