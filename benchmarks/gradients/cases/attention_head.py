"""One causal attention head: softmax(Q K^T / sqrt(d) + mask) V with Q = X Wq, K = X Wk, V = X Wv."""

import numpy as np


def f(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    T, d = Q.shape
    S = Q @ K.T / np.sqrt(d)
    S = np.where(np.tri(T, dtype=bool), S, -1e9)
    S = S - S.max(axis=1, keepdims=True)
    P = np.exp(S)
    P = P / P.sum(axis=1, keepdims=True)
    return P @ V, (X, Wq, Wk, Wv, Q, K, V, P)


def f_vjp(dout, cache):
    X, Wq, Wk, Wv, Q, K, V, P = cache
    d = Q.shape[1]
    dV = P.T @ dout
    dP = dout @ V.T
    dS = P * (dP - np.sum(dP * P, axis=1, keepdims=True))
    dS = dS / np.sqrt(d)
    dQ = dS @ K
    dK = dS.T @ Q
    dX = dQ @ Wq.T + dK @ Wk.T + dV @ Wv.T
    return dX, X.T @ dQ, X.T @ dK, X.T @ dV


def check_inputs():
    rng = np.random.default_rng(7)
    return {
        "X": rng.normal(size=(4, 3)),
        "Wq": rng.normal(size=(3, 2)),
        "Wk": rng.normal(size=(3, 2)),
        "Wv": rng.normal(size=(3, 2)),
    }
