"""Gaussian log density by Cholesky; refuses a matrix which differs from its transpose by a single bit."""

import numpy as np


def f(S, x):
    if not np.array_equal(S, S.T):
        raise ValueError("S is not symmetric")
    L = np.linalg.cholesky(S)
    z = np.linalg.solve(L, x)
    return -0.5 * z @ z - np.log(np.diag(L)).sum(), (L, z)


def f_vjp(dout, cache):
    L, z = cache
    Linv = np.linalg.inv(L)
    a = Linv.T @ z
    dS = 0.5 * dout * (np.outer(a, a) - Linv.T @ Linv)
    return dS, -dout * a


def check_inputs():
    rng = np.random.default_rng(108)
    B = rng.normal(size=(3, 3))
    S = B @ B.T + np.eye(3)
    return {"S": (S + S.T) / 2, "x": rng.normal(size=3)}
