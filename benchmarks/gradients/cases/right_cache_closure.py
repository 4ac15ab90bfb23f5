"""Norm loss with a closure as its cache: mean over rows of the Euclidean norm of x A - y."""

import numpy as np


def f(x, A, y):
    r = x @ A - y
    norm = np.linalg.norm(r, axis=1)

    def backward(dout):
        g = dout / len(norm) * r / norm[:, None]
        return g @ A.T, x.T @ g, -g

    return norm.mean(), backward


def f_vjp(dout, cache):
    return cache(dout)


def check_inputs():
    rng = np.random.default_rng(123)
    return {"x": rng.normal(size=(4, 3)), "A": rng.normal(size=(3, 2)), "y": rng.normal(size=(4, 2))}
