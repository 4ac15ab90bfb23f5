"""Gaussian log likelihood by Cholesky of a smooth kernel matrix with jitter, condition about 1e6."""

import numpy as np


def f(y, points, log_length):
    d2 = (points[:, None] - points) ** 2
    K = np.exp(-0.5 * d2 * np.exp(-2 * log_length))
    L = np.linalg.cholesky(K + 6e-6 * np.eye(len(y)))
    z = np.linalg.solve(L, y)
    return -0.5 * z @ z - np.log(np.diag(L)).sum(), (points, d2, K, L, z, log_length)


def f_vjp(dout, cache):
    points, d2, K, L, z, log_length = cache
    alpha = np.linalg.solve(L.T, z)
    Linv = np.linalg.inv(L)
    dK = 0.5 * dout * (np.outer(alpha, alpha) - Linv.T @ Linv) * K
    scale = np.exp(-2 * log_length)
    dpoints = -2 * scale * np.sum(dK * (points[:, None] - points), axis=1)
    return -dout * alpha, dpoints, scale * np.sum(dK * d2)


def check_inputs():
    rng = np.random.default_rng(101)
    points = np.linspace(0, 2, 6) + 0.05 * rng.normal(size=6)
    return {"y": np.sin(points) + 0.1 * rng.normal(size=6), "points": points, "log_length": np.array(0.6)}
