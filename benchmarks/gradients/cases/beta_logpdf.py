"""Log density of the beta distribution, (a - 1) log x + (b - 1) log(1 - x) - log B(a, b), for x (N, D), a and b (D)."""

import numpy as np
from scipy.special import betaln, digamma


def f(x, a, b):
    return (a - 1) * np.log(x) + (b - 1) * np.log(1 - x) - betaln(a, b), (x, a, b)


def f_vjp(dout, cache):
    x, a, b = cache
    dx = dout * ((a - 1) / x - (b - 1) / (1 - x))
    da = dout * (np.log(x) - digamma(a) + digamma(a + b))
    db = dout * (np.log(1 - x) - digamma(b) + digamma(a + b))
    return dx, da.sum(axis=0), db.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(36)
    return {"x": rng.uniform(0.15, 0.85, size=(5, 3)), "a": rng.uniform(1, 4, size=3), "b": rng.uniform(1, 4, size=3)}
