"""One-dimensional convolution with stride 2: out[n, f, t] = sum_cp w[f, c, p] x[n, c, 2 t + p] + b[f]."""

import numpy as np

STRIDE = 2


def f(x, w, b):
    K = w.shape[2]
    T = (x.shape[2] - K) // STRIDE + 1
    cols = [x[:, :, t * STRIDE : t * STRIDE + K] for t in range(T)]
    out = np.stack([np.tensordot(c, w, axes=([1, 2], [1, 2])) for c in cols], axis=2)
    return out + b[None, :, None], (x, w)


def f_vjp(dout, cache):
    x, w = cache
    K = w.shape[2]
    dx = np.zeros_like(x)
    dw = np.zeros_like(w)
    for t in range(dout.shape[2]):
        start = t * STRIDE
        d = dout[:, :, t]
        dx[:, :, start : start + K] += np.tensordot(d, w, axes=(1, 0))
        dw += np.tensordot(d, x[:, :, start : start + K], axes=(0, 0))
    db = dout.sum(axis=(0, 2))
    return dx, dw, db


def check_inputs():
    rng = np.random.default_rng(12)
    return {"x": rng.normal(size=(2, 2, 9)), "w": rng.normal(size=(3, 2, 3)), "b": rng.normal(size=3)}
