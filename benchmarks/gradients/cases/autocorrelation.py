"""Autocorrelation at lags 0 to 3: r_k = sum_t x_t x_{t+k} / n."""

import numpy as np

LAGS = 4


def f(x):
    n = len(x)
    r = np.array([np.sum(x[: n - k] * x[k:]) / n for k in range(LAGS)])
    return r, x


def f_vjp(dout, cache):
    x = cache
    n = len(x)
    dx = np.zeros_like(x)
    for k in range(LAGS):
        dx[: n - k] += dout[k] * x[k:] / n
        dx[k:] += dout[k] * x[: n - k] / n
    return dx


def check_inputs():
    rng = np.random.default_rng(50)
    return {"x": rng.normal(size=9)}
