"""Network of Gaussian bumps: exp(-|x - c|^2 / (2 s^2)) with one width per centre, times weights."""

import numpy as np


def f(x, c, log_s, w):
    d = x[:, None, :] - c
    inverse = np.exp(-2 * log_s)
    r = (d**2).sum(axis=2)
    phi = np.exp(-0.5 * r * inverse)
    return phi @ w, (d, inverse, r, phi, w)


def f_vjp(dout, cache):
    d, inverse, r, phi, w = cache
    dphi = dout @ w.T
    da = dphi * phi
    dd = -da[:, :, None] * d * inverse[:, None]
    dlog_s = (da * r * inverse).sum(axis=0)
    return dd.sum(axis=1), -dd.sum(axis=0), dlog_s, phi.T @ dout


def check_inputs():
    rng = np.random.default_rng(218)
    return {
        "x": rng.normal(size=(4, 2)),
        "c": rng.normal(size=(3, 2)),
        "log_s": rng.normal(size=3) * 0.2,
        "w": rng.normal(size=(3, 2)),
    }
