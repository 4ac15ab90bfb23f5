"""Interpolation in a triangle with corners P (3, 2) and values s (3): barycentric weights of the points q (N, 2)."""

import numpy as np


def f(P, s, q):
    M = np.stack([P[1] - P[0], P[2] - P[0]], axis=1)
    r = q - P[0]
    lam = np.linalg.solve(M, r.T).T
    ds = np.stack([s[1] - s[0], s[2] - s[0]])
    return s[0] + lam @ ds, (M, lam, ds)


def f_vjp(dout, cache):
    M, lam, ds = cache
    dlam = np.outer(dout, ds)
    dds = lam.T @ dout
    dsv = np.array([dout.sum() - dds.sum(), dds[0], dds[1]])
    dr = np.linalg.solve(M.T, dlam.T)
    dM = -dr @ lam
    dP = np.stack([-dM[:, 0] - dM[:, 1] - dr.sum(axis=1), dM[:, 0], dM[:, 1]])
    return dP, dsv, dr.T


def check_inputs():
    rng = np.random.default_rng(62)
    P = np.array([[0.1, 0.2], [1.4, 0.3], [0.5, 1.6]])
    return {"P": P, "s": rng.normal(size=3), "q": rng.uniform(0.2, 0.9, size=(4, 2))}
