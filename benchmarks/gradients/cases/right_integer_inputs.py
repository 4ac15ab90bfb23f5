"""Binomial log likelihood with integer counts and trials: k log s(a + u_g) + (n - k) log(1 - s(a + u_g)), g groups."""

import numpy as np

WRT = ("a", "u")


def f(k, a, n, g, u):
    s = 1 / (1 + np.exp(-(a + u[g])))
    return k * np.log(s) + (n - k) * np.log(1 - s), (k, n, g, s, len(u))


def f_vjp(dout, cache):
    k, n, g, s, groups = cache
    da = dout * (k - n * s)
    du = np.zeros(groups)
    np.add.at(du, g, da)
    return da.sum(), du


def check_inputs():
    rng = np.random.default_rng(115)
    return {
        "k": np.array([1, 0, 4, 2, 5]),
        "a": np.array(0.2),
        "n": np.array([3, 2, 6, 2, 9]),
        "g": np.array([0, 1, 1, 2, 0]),
        "u": rng.normal(size=3),
    }
