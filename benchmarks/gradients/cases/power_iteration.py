"""Four steps of power iteration, v <- A v / |A v|, and the Rayleigh quotient v^T A v."""

import numpy as np

STEPS = 4


def f(A, v):
    saved = []
    for _ in range(STEPS):
        w = A @ v
        r = np.sqrt(np.sum(w * w))
        saved.append((v, w / r, r))
        v = w / r
    return v @ A @ v, (A, saved, v)


def f_vjp(dout, cache):
    A, saved, v = cache
    dA = dout * np.outer(v, v)
    dv = dout * (A @ v + A.T @ v)
    for v_old, v_new, r in reversed(saved):
        dw = (dv - v_new * (v_new @ dv)) / r
        dA += np.outer(dw, v_old)
        dv = A.T @ dw
    return dA, dv


def check_inputs():
    rng = np.random.default_rng(48)
    return {"A": rng.normal(size=(4, 4)), "v": rng.normal(size=4)}
