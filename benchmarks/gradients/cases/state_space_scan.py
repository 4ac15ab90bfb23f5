"""Linear state space model: s[t+1] = A s[t] + B u[t], y[t] = C s[t+1], from s[0] = 0."""

import numpy as np


def f(u, A, B, C):
    s = [np.zeros(A.shape[0])]
    ys = []
    for ut in u:
        s.append(A @ s[-1] + B @ ut)
        ys.append(C @ s[-1])
    return np.array(ys), (u, A, B, C, s)


def f_vjp(dout, cache):
    u, A, B, C, s = cache
    du = np.zeros_like(u)
    dA, dB, dC = np.zeros_like(A), np.zeros_like(B), np.zeros_like(C)
    lam = np.zeros(A.shape[0])
    for t in range(len(u) - 1, -1, -1):
        dC += np.outer(dout[t], s[t + 1])
        lam = A.T @ lam + C.T @ dout[t]
        dA += np.outer(lam, s[t])
        dB += np.outer(lam, u[t])
        du[t] = B.T @ lam
    return du, dA, dB, dC


def check_inputs():
    rng = np.random.default_rng(23)
    return {
        "u": rng.normal(size=(5, 2)),
        "A": 0.6 * rng.normal(size=(3, 3)),
        "B": rng.normal(size=(3, 2)),
        "C": rng.normal(size=(2, 3)),
    }
