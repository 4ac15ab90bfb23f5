"""Soft threshold of wavelet coefficients and a clipped gain: zero, with zero gradient, in many places."""

import numpy as np


def f(c, t, gain):
    keep = np.where(c > t, c - t, np.where(c < -t, c + t, 0.0))
    g = np.clip(gain, 0.5, 2.0)
    return g * keep, (c, t, g, gain, keep)


def f_vjp(dout, cache):
    c, t, g, gain, keep = cache
    dkeep = dout * g
    big = (c > t) | (c < -t)
    dt = np.sum(np.where(c > t, -dkeep, np.where(c < -t, dkeep, 0.0)))
    dgain = (dout * keep).sum(axis=0) * ((gain > 0.5) & (gain < 2.0))
    return dkeep * big, dt, dgain


def check_inputs():
    rng = np.random.default_rng(120)
    return {"c": rng.normal(size=(5, 4)), "t": np.array(0.8), "gain": np.array([1.2, 3.0, 0.1, 0.9])}
