"""Loops over samples."""

import numpy as np


def apply(x, w, b):
    xs = [x] * len(w) if x.ndim == 2 else x
    return np.stack([each @ v + c for each, v, c in zip(xs, w, b, strict=True)]), (x, w)


def apply_vjp(dh, cache, needs_dx=True):
    x, w = cache
    dx, dw, db = [], [], []
    for s in range(len(w)):
        rows = x if x.ndim == 2 else x[s]
        dx.append(dh[s] @ w[s].T)
        dw.append(rows.T @ dh[s])
        db.append(dh[s].sum(0))
    dx = sum(dx) if x.ndim == 2 else np.array(dx)
    return dx, np.array(dw), np.array(db)


def categorical(logits, labels):
    log_p = np.zeros(logits.shape[:2])
    for s in range(logits.shape[0]):
        for n in range(logits.shape[1]):
            row = logits[s, n] - logits[s, n].max()
            log_p[s, n] = row[labels[n]] - np.log(np.exp(row).sum())
    return log_p, (logits, labels)


def categorical_vjp(dlog_p, cache):
    logits, labels = cache
    out = np.zeros_like(logits)
    for s in range(logits.shape[0]):
        for n in range(logits.shape[1]):
            e = np.exp(logits[s, n] - logits[s, n].max())
            out[s, n] = -dlog_p[s, n] * e / e.sum()
            rest = e.sum() - e[labels[n]]
            out[s, n, labels[n]] = dlog_p[s, n] * rest / e.sum()
    return out


def mean_log_p(log_p):
    return sum(map(sum, log_p)) / log_p.size, log_p


def mean_log_p_vjp(dmean, cache):
    return np.ones_like(cache) * dmean / cache.size


def log_sum_exp(logits):
    return np.array([np.logaddexp.reduce(row) for row in logits])


def found_by():
    return "B"
