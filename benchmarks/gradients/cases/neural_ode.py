"""Neural differential equation dz/dt = tanh(W z + b), integrated by Runge-Kutta of fourth order."""

import numpy as np

STEP = 0.5
STEPS = 3


def f(z0, W, b):
    z = z0
    saved = []
    for _ in range(STEPS):
        k1 = np.tanh(W @ z + b)
        z2 = z + 0.5 * STEP * k1
        k2 = np.tanh(W @ z2 + b)
        z3 = z + 0.5 * STEP * k2
        k3 = np.tanh(W @ z3 + b)
        z4 = z + STEP * k3
        k4 = np.tanh(W @ z4 + b)
        saved.append(((z, k1), (z2, k2), (z3, k3), (z4, k4)))
        z = z + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return z, (saved, W)


def f_vjp(dout, cache):
    saved, W = cache
    dW = np.zeros_like(W)
    db = np.zeros(len(W))
    dz = dout
    for (z1, k1), (z2, k2), (z3, k3), (z4, k4) in reversed(saved):
        a4 = STEP / 6 * dz * (1 - k4**2)
        g4 = W.T @ a4
        a3 = (STEP / 3 * dz + STEP * g4) * (1 - k3**2)
        g3 = W.T @ a3
        a2 = (STEP / 3 * dz + 0.5 * STEP * g3) * (1 - k2**2)
        g2 = W.T @ a2
        a1 = (STEP / 6 * dz + 0.5 * STEP * g2) * (1 - k1**2)
        g1 = W.T @ a1
        dW += np.outer(a1, z1) + np.outer(a2, z2) + np.outer(a3, z3) + np.outer(a4, z4)
        db += a1 + a2 + a3 + a4
        dz = dz + g1 + g2 + g3 + g4
    return dz, dW, db


def check_inputs():
    rng = np.random.default_rng(26)
    return {"z0": rng.normal(size=3), "W": 0.8 * rng.normal(size=(3, 3)), "b": rng.normal(size=3)}
