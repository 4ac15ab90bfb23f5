"""One step of a gated recurrent unit: h' = (1 - z) n + z h with update gate z, reset gate r and candidate n."""

import numpy as np


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


def f(x, h, W, U, b):
    k = h.shape[1]
    a = x @ W + b
    c = h @ U
    z = sigmoid(a[:, :k] + c[:, :k])
    r = sigmoid(a[:, k : 2 * k] + c[:, k : 2 * k])
    cn = c[:, 2 * k :]
    n = np.tanh(a[:, 2 * k :] + r * cn)
    return (1 - z) * n + z * h, (x, h, W, U, z, r, n, cn)


def f_vjp(dout, cache):
    x, h, W, U, z, r, n, cn = cache
    dz = dout * (h - n)
    dn = dout * (1 - z)
    dn_pre = dn * (1 - n**2)
    dr = dn_pre * cn
    dz_pre = dz * z * (1 - z)
    dr_pre = dr * r * (1 - r)
    da = np.concatenate([dz_pre, dr_pre, dn_pre], axis=1)
    dc = np.concatenate([dz_pre, dr_pre, dn_pre * r], axis=1)
    dx = da @ W.T
    dh = dc @ U.T + dout * z
    dW = x.T @ da
    dU = h.T @ dc
    db = da.sum(axis=0)
    return dx, dh, dW, dU, db


def check_inputs():
    rng = np.random.default_rng(4)
    return {
        "x": rng.normal(size=(3, 2)),
        "h": rng.normal(size=(3, 3)),
        "W": rng.normal(size=(2, 9)),
        "U": rng.normal(size=(3, 9)),
        "b": rng.normal(size=9),
    }
