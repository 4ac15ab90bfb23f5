"""Products from the other side, and lists of gradients."""

import numpy as np


def apply(x, w, b):
    rows = np.broadcast_to(x, (len(w), *x.shape[-2:]))
    h = (w.transpose(0, 2, 1) @ rows.transpose(0, 2, 1)).transpose(0, 2, 1)
    return h + b[:, np.newaxis], (x.ndim, rows, w)


def apply_vjp(dh, cache, needs_dx=True):
    ndim, rows, w = cache
    dx = (w @ dh.transpose(0, 2, 1)).transpose(0, 2, 1)
    dx = dx if ndim == 3 else np.add.reduce(dx)
    return [dx, (dh.transpose(0, 2, 1) @ rows).transpose(0, 2, 1), np.ones(dh.shape[1]) @ dh]


def categorical(logits, labels):
    total = np.logaddexp.reduce(logits, axis=-1)
    chosen = np.take_along_axis(logits, labels[None, :, None], axis=-1)[..., 0]
    return chosen - total, (logits, labels, total)


def categorical_vjp(dlog_p, cache):
    logits, labels, total = cache
    p = np.exp(logits - total[..., None])
    hot = labels[:, None] == np.arange(p.shape[-1])
    off = np.where(hot, 0, p)
    return dlog_p[..., None] * np.where(hot, off.sum(-1, keepdims=True), -off)


def mean_log_p(log_p):
    return log_p.mean(axis=1).mean(), log_p


def mean_log_p_vjp(dmean, log_p):
    return [[dmean / log_p.size for _ in row] for row in log_p]


def log_sum_exp(logits):
    m = np.max(logits, axis=-1)
    return m + np.log(np.sum(np.exp(logits.T - m), axis=0))


def found_by():
    return "b"
