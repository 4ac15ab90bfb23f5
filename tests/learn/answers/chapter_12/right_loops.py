"""Loops."""

import math

import numpy as np


def code_divergence(m, log_s):
    out = np.zeros(len(m))
    for n in range(len(m)):
        for k in range(m.shape[1]):
            s = np.exp(log_s[n, k])
            out[n] += (m[n, k] ** 2 + s**2 - 1) / 2 - log_s[n, k]
    return out, (m, log_s)


def code_divergence_vjp(d, cache):
    m, log_s = cache
    dm, ds = [], []
    for each, row, width in zip(d, m, log_s, strict=True):
        dm.append(each * row)
        ds.append(each * (np.exp(width) ** 2 - 1))
    return np.array(dm), np.array(ds)


def importance_estimate(log_w):
    return np.array([np.logaddexp.reduce(row) for row in log_w.T]) - np.log(len(log_w))


def equal_weights():
    return "B"


def more_samples():
    return "A"


def label_leak():
    return "B"


def unlabelled_bound(f, v):
    total, rows = 0.0, []
    for logits, bounds in zip(f, v, strict=True):
        weights = [math.exp(each) for each in logits]
        q = [weight / sum(weights) for weight in weights]
        total += sum(p * (bound - math.log(p)) for p, bound in zip(q, bounds, strict=True))
        rows.append((q, bounds))
    return total, rows


def unlabelled_bound_vjp(d, cache):
    df, dv = [], []
    for q, bounds in cache:
        gains = [bound - math.log(p) for p, bound in zip(q, bounds, strict=True)]
        mean = sum(p * gain for p, gain in zip(q, gains, strict=True))
        df.append([d * p * (gain - mean) for p, gain in zip(q, gains, strict=True)])
        dv.append([d * p for p in q])
    return np.array(df), np.array(dv)
