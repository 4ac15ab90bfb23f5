"""Log density of a gamma distribution, by its shape and rate, summed over the observations."""

import numpy as np
from scipy.special import digamma, gammaln


def f(x, shape, rate):
    value = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x
    return value.sum(axis=0), (x, shape, rate)


def f_vjp(dout, cache):
    x, shape, rate = cache
    dx = dout * ((shape - 1) / x - rate)
    dshape = dout * (np.log(rate) - digamma(shape) + np.log(x)).sum(axis=0)
    drate = dout * (shape / rate - x).sum(axis=0)
    return dx, dshape, drate


def check_inputs():
    rng = np.random.default_rng(216)
    return {
        "x": rng.uniform(0.5, 2.0, size=(4, 3)),
        "shape": rng.uniform(1.2, 3.0, size=3),
        "rate": rng.uniform(0.5, 1.5, size=3),
    }
