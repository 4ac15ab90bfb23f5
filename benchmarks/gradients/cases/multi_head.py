"""Self attention with two heads and an output matrix: concat_h(softmax(Q_h K_h^T / sqrt(d)) V_h) Wo."""

import numpy as np

HEADS = 2


def split(A):
    return A.reshape(A.shape[0], HEADS, -1).transpose(1, 0, 2)


def merge(A):
    return A.transpose(1, 0, 2).reshape(A.shape[1], -1)


def f(X, Wq, Wk, Wv, Wo):
    Q, K, V = split(X @ Wq), split(X @ Wk), split(X @ Wv)
    S = Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[2])
    P = np.exp(S - S.max(axis=2, keepdims=True))
    P = P / P.sum(axis=2, keepdims=True)
    O = merge(P @ V)
    return O @ Wo, (X, Wq, Wk, Wv, Wo, Q, K, V, P, O)


def f_vjp(dout, cache):
    X, Wq, Wk, Wv, Wo, Q, K, V, P, O = cache
    dWo = O.T @ dout
    dO = split(dout @ Wo.T)
    dV = P.transpose(0, 2, 1) @ dO
    dP = dO @ V.transpose(0, 2, 1)
    dS = P * (dP - (dP * P).sum(axis=2, keepdims=True)) / np.sqrt(Q.shape[2])
    dQ = merge(dS @ K)
    dK = merge(dS.transpose(0, 2, 1) @ Q)
    dV = merge(dV)
    dX = dQ @ Wq.T + dK @ Wk.T + dV @ Wv.T
    return dX, X.T @ dQ, X.T @ dK, X.T @ dV, dWo


def check_inputs():
    rng = np.random.default_rng(8)
    return {
        "X": rng.normal(size=(3, 4)),
        "Wq": rng.normal(size=(4, 4)) * 0.7,
        "Wk": rng.normal(size=(4, 4)) * 0.7,
        "Wv": rng.normal(size=(4, 4)),
        "Wo": rng.normal(size=(4, 4)),
    }
