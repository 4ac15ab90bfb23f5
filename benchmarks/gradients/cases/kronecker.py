"""Kronecker product applied to a vector: y = (A kron B) v."""

import numpy as np


def f(A, B, v):
    V = v.reshape(A.shape[1], B.shape[1])
    return (A @ V @ B.T).ravel(), (A, B, V)


def f_vjp(dout, cache):
    A, B, V = cache
    D = dout.reshape(A.shape[0], B.shape[0])
    dA = D @ B @ V.T
    dB = D.T @ A @ V
    dV = A.T @ D @ B
    return dA, dB, dV.ravel()


def check_inputs():
    rng = np.random.default_rng(46)
    return {"A": rng.normal(size=(3, 3)), "B": rng.normal(size=(2, 2)), "v": rng.normal(size=6)}
