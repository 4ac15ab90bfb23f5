"""Solve with a diagonal plus low rank by Woodbury: x = (diag(d) + U U^T)^-1 b."""

import numpy as np


def woodbury_solve(d, U, b):
    small = np.eye(U.shape[1]) + U.T @ (U / d[:, None])
    return b / d - (U @ np.linalg.solve(small, U.T @ (b / d))) / d


def f(d, U, b):
    x = woodbury_solve(d, U, b)
    return x, (d, U, x)


def f_vjp(dout, cache):
    d, U, x = cache
    db = woodbury_solve(d, U, dout)
    dd = -db * x
    dU = -np.outer(db, U.T @ x) - np.outer(x, U.T @ db)
    return dd, dU, db


def check_inputs():
    rng = np.random.default_rng(45)
    return {"d": rng.uniform(0.5, 2, size=5), "U": rng.normal(size=(5, 2)), "b": rng.normal(size=5)}
