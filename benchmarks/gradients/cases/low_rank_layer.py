"""Linear layer with a low-rank correction: y = x W + (alpha / r) (x A) B."""

import numpy as np

ALPHA = 3.0


def f(x, W, A, B):
    s = ALPHA / A.shape[1]
    xa = x @ A
    return x @ W + s * xa @ B, (x, W, A, B, xa, s)


def f_vjp(dout, cache):
    x, W, A, B, xa, s = cache
    dxa = s * dout @ B.T
    dA = x.T @ dxa
    dB = s * xa.T @ dout
    dW = x.T @ dout
    dx = dout @ W.T + dxa @ A.T
    return dx, dW, dA, dB


def check_inputs():
    rng = np.random.default_rng(16)
    return {
        "x": rng.normal(size=(5, 4)),
        "W": rng.normal(size=(4, 3)),
        "A": rng.normal(size=(4, 2)),
        "B": rng.normal(size=(2, 3)),
    }
