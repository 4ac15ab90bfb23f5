"""Log marginal likelihood of a Gaussian process with squared exponential kernel on fixed points, up to a constant."""

import numpy as np

POINTS = np.linspace(0.0, 3.0, 6)


def f(y, log_length, log_noise):
    d2 = (POINTS[:, None] - POINTS) ** 2
    K = np.exp(-0.5 * d2 * np.exp(-2 * log_length))
    S = K + np.exp(2 * log_noise) * np.eye(len(y))
    alpha = np.linalg.solve(S, y)
    out = -0.5 * y @ alpha - 0.5 * np.log(np.linalg.det(S))
    return out, (d2, K, S, alpha, log_length, log_noise)


def f_vjp(dout, cache):
    d2, K, S, alpha, log_length, log_noise = cache
    dy = -dout * alpha
    dS = 0.5 * dout * (np.outer(alpha, alpha) - np.linalg.inv(S))
    dlog_length = np.sum(dS * K * d2) * np.exp(-2 * log_length)
    dlog_noise = np.trace(dS) * 2 * np.exp(2 * log_noise)
    return dy, dlog_length, dlog_noise


def check_inputs():
    rng = np.random.default_rng(59)
    return {"y": rng.normal(size=6), "log_length": np.array(-0.2), "log_noise": np.array(-0.5)}
