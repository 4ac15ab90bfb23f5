"""Transposed convolution in one dimension: out[f, 2 t + p] += sum_c x[c, t] w[c, f, p]."""

import numpy as np

STRIDE = 2


def f(x, w):
    T = x.shape[1]
    _, F, K = w.shape
    out = np.zeros((F, (T - 1) * STRIDE + K), dtype=np.result_type(x, w))
    for t in range(T):
        out[:, t * STRIDE : t * STRIDE + K] += np.einsum("c,cfp->fp", x[:, t], w)
    return out, (x, w)


def f_vjp(dout, cache):
    x, w = cache
    T = x.shape[1]
    K = w.shape[2]
    dx = np.zeros_like(x)
    dw = np.zeros_like(w)
    for t in range(T):
        g = dout[:, t * STRIDE : t * STRIDE + K]
        dx[:, t] = np.einsum("fp,cfp->c", g, w)
        dw += np.einsum("fp,c->cfp", g, x[:, t])
    return dx, dw


def check_inputs():
    rng = np.random.default_rng(13)
    return {"x": rng.normal(size=(2, 4)), "w": rng.normal(size=(2, 3, 3))}
