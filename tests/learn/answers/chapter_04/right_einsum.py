"""Einstein sums, SciPy, and one-hot labels."""

import numpy as np
from scipy.special import log_softmax, logsumexp


def apply(x, w, b):
    form = "nd,sdk->snk" if x.ndim == 2 else "snd,sdk->snk"
    return np.einsum(form, x, w) + np.expand_dims(b, 1), (x, w)


def apply_vjp(dh, cache, needs_dx=False):
    x, w = cache
    shared = x.ndim == 2
    dx = np.einsum("snk,sdk->nd" if shared else "snk,sdk->snd", dh, w)
    dw = np.einsum("nd,snk->sdk" if shared else "snd,snk->sdk", x, dh)
    return {"dx": dx, "dw": dw, "db": np.einsum("snk->sk", dh)}


def categorical(logits, labels):
    log_p = log_softmax(logits, axis=-1)
    hot = np.eye(logits.shape[-1])[labels]
    return np.where(hot > 0, log_p, 0).sum(-1), (log_p, hot)


def categorical_vjp(dlog_p, cache):
    log_p, hot = cache
    off = np.exp(log_p) * (1 - hot)
    return dlog_p[:, :, None] * (hot * off.sum(-1, keepdims=True) - off)


def mean_log_p(log_p):
    return np.average(log_p), log_p.shape


def mean_log_p_vjp(dmean, shape):
    return np.broadcast_to(dmean / (shape[0] * shape[1]), shape)


def log_sum_exp(logits):
    return logsumexp(logits, axis=1)


def found_by():
    return " b"
