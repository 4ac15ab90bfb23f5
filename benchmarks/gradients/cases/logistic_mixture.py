"""Log density of a mixture of logistics: log sum_k w_k sigma'((x - mu_k) / s_k) / s_k, w = softmax, s = exp(log_s)."""

import numpy as np


def f(x, logit_w, mu, log_s):
    w = np.exp(logit_w - logit_w.max())
    w = w / w.sum()
    z = (x[:, None] - mu) * np.exp(-log_s)
    logk = np.log(w) - z - log_s - 2 * np.log1p(np.exp(-z))
    top = logk.real.max(axis=1, keepdims=True)
    out = np.log(np.exp(logk - top).sum(axis=1)) + top[:, 0]
    return out, (w, z, log_s, np.exp(logk - out[:, None]))


def f_vjp(dout, cache):
    w, z, log_s, resp = cache
    d = dout[:, None] * resp
    dlogit_w = d.sum(axis=0) - w * d.sum()
    dz = -d * np.tanh(z / 2)
    inv_s = np.exp(-log_s)
    dx = (dz * inv_s).sum(axis=1)
    dmu = -(dz * inv_s).sum(axis=0)
    dlog_s = -(dz * z).sum(axis=0) - d.sum(axis=0)
    return dx, dlogit_w, dmu, dlog_s


def check_inputs():
    rng = np.random.default_rng(40)
    return {
        "x": 2 * rng.normal(size=5),
        "logit_w": rng.normal(size=3),
        "mu": rng.normal(size=3),
        "log_s": 0.4 * rng.normal(size=3),
    }
