"""Log likelihood of a hidden Markov model by the scaled forward algorithm, observations 2 0 1 1."""

import numpy as np

OBS = (2, 0, 1, 1)


def f(pi, A, B):
    alphas, scales = [], []
    alpha = pi * B[:, OBS[0]]
    for t in range(len(OBS)):
        if t > 0:
            alpha = (alphas[-1] @ A) * B[:, OBS[t]]
        c = alpha.sum()
        alphas.append(alpha / c)
        scales.append(c)
    return np.sum(np.log(np.array(scales))), (pi, A, B, alphas, scales)


def f_vjp(dout, cache):
    pi, A, B, alphas, scales = cache
    dpi, dA, dB = np.zeros_like(pi), np.zeros_like(A), np.zeros_like(B)
    beta = np.ones(len(pi))
    for t in range(len(OBS) - 1, -1, -1):
        o = OBS[t]
        g = dout * beta / scales[t]
        if t > 0:
            dB[:, o] += g * (alphas[t - 1] @ A)
            dA += np.outer(alphas[t - 1], g * B[:, o])
            beta = A @ (B[:, o] * beta) / scales[t]
        else:
            dB[:, o] += g * pi
            dpi += g * B[:, o]
    return dpi, dA, dB


def check_inputs():
    rng = np.random.default_rng(32)
    A = rng.random((3, 3)) + 0.1
    B = rng.random((3, 3)) + 0.1
    pi = np.array([0.5, 0.3, 0.2])
    return {"pi": pi, "A": A / A.sum(axis=1, keepdims=True), "B": B / B.sum(axis=1, keepdims=True)}
