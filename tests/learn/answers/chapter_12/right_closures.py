"""Caches that are functions."""

import numpy as np


def code_divergence(m, log_s):
    v = np.exp(2 * log_s)
    value = (np.einsum("nl,nl->n", m, m) + v.sum(1) - m.shape[1]) / 2 - np.sum(log_s, axis=1)
    return value, lambda d: [d[:, None] * m, d[:, None] * v - d[:, None]]


def code_divergence_vjp(d, cache):
    return cache(d)


def importance_estimate(log_w):
    centre = log_w.mean(axis=0)
    return [c + np.log(np.mean(np.exp(row - c))) for c, row in zip(centre, log_w.T, strict=True)]


def equal_weights():
    return "b"


def more_samples():
    return "a"


def label_leak():
    return "a"


def unlabelled_bound(f, v):
    q = np.exp(f) / np.exp(f).sum(axis=1)[:, None]

    def back(d):
        slope = v - np.log(q) - 1
        jacobian = q[:, :, None] * np.eye(q.shape[1]) - q[:, :, None] * q[:, None, :]
        return d * np.einsum("nyc,ny->nc", jacobian, slope), d * q

    return (q * v).sum() - (q * np.log(q)).sum(), back


def unlabelled_bound_vjp(dbound, cache):
    return cache(dbound)
