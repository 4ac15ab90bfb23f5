"""Log likelihood of gamma waiting times censored at c: log density where seen, log of gammaincc where censored."""

import numpy as np
from scipy.special import gammaincc, gammaln

WRT = ("rate", "times")


def f(rate, times, seen, shape):
    x = rate * times
    survival = gammaincc(shape, x)
    density = shape * np.log(rate) + (shape - 1) * np.log(times) - x - gammaln(shape)
    return np.where(seen, density, np.log(survival)), (rate, times, seen, shape, x, survival)


def f_vjp(dout, cache):
    rate, times, seen, shape, x, survival = cache
    hazard = x ** (shape - 1) * np.exp(-x - gammaln(shape)) / survival
    dtimes = dout * np.where(seen, (shape - 1) / times - rate, -hazard * rate)
    drate = dout * np.where(seen, shape / rate - times, -hazard * times)
    return drate.sum(), dtimes


def check_inputs():
    rng = np.random.default_rng(117)
    return {
        "rate": np.array(1.4),
        "times": rng.uniform(0.3, 3, size=6),
        "seen": np.array([True, True, False, True, False, True]),
        "shape": 2.5,
    }
