"""Log density of rows of x under N(mu, L L^T): -|L^-1 (x - mu)|^2 / 2 - sum log diag L (constant left out)."""

import numpy as np
from scipy.linalg import solve_triangular


def f(x, mu, L):
    L = np.tril(L)
    z = solve_triangular(L, (x - mu).T, lower=True)
    logp = -0.5 * (z * z).sum(axis=0) - np.log(np.diag(L)).sum()
    return logp, (L, z)


def f_vjp(dout, cache):
    L, z = cache
    dz = -dout * z
    dd = solve_triangular(L, dz, lower=True, trans="T")
    dL = -np.tril(dd @ z.T) - np.diag(dout.sum() / np.diag(L))
    return dd.T, -dd.sum(axis=1), dL


def check_inputs():
    rng = np.random.default_rng(41)
    L = np.tril(rng.normal(size=(3, 3)))
    L[np.diag_indices(3)] = [1.2, 0.7, 1.6]
    return {"x": rng.normal(size=(4, 3)), "mu": rng.normal(size=3), "L": L}
