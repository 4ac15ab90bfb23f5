"""Linear layer with Gaussian weights, sampled at its activations: x mu + sqrt(x^2 sigma^2) eps."""

import numpy as np

WRT = ("x", "mu", "log_sigma")


def f(x, mu, log_sigma, eps):
    variances = np.exp(2 * log_sigma)
    spread = np.sqrt((x**2) @ variances)
    return x @ mu + spread * eps, (x, mu, variances, spread, eps)


def f_vjp(dout, cache):
    x, mu, variances, spread, eps = cache
    dvar = dout * eps / (2 * spread)
    dx = dout @ mu.T + 2 * x * (dvar @ variances.T)
    dmu = x.T @ dout
    dlog_sigma = 2 * variances * ((x**2).T @ dvar)
    return dx, dmu, dlog_sigma


def check_inputs():
    rng = np.random.default_rng(204)
    return {
        "x": rng.normal(size=(4, 3)),
        "mu": rng.normal(size=(3, 2)),
        "log_sigma": rng.normal(size=(3, 2)) * 0.3 - 1,
        "eps": rng.normal(size=(4, 2)),
    }
