"""Log determinant plus quadratic form of a covariance matrix; refuses matrices not symmetric or not positive."""

import numpy as np


def f(S, x):
    if not np.allclose(S, S.T):
        raise ValueError("S must be symmetric")
    if np.linalg.eigvalsh(S).min() <= 0:
        raise ValueError("S must be positive definite")
    inv = np.linalg.inv(S)
    return np.linalg.slogdet(S)[1] + x @ inv @ x, (inv, x)


def f_vjp(dout, cache):
    inv, x = cache
    dS = dout * (inv - inv @ np.outer(x, x) @ inv)
    return dS, 2 * dout * inv @ x


def check_inputs():
    rng = np.random.default_rng(107)
    B = rng.normal(size=(4, 5))
    return {"S": B @ B.T / 5 + 0.2 * np.eye(4), "x": rng.normal(size=4)}
