"""Loops over masks, and probabilities from exponentials."""

import cmath
import math

import numpy as np


def _theta(phi):
    return 1 / (1 + cmath.exp(-phi)) if np.iscomplexobj(phi) else 1 / (1 + math.exp(-phi))


def mean_loss(phi, f0, f1):
    rows = [(_theta(p), a, b) for p, a, b in zip(phi, f0, f1, strict=True)]
    return np.array([a + t * (b - a) for t, a, b in rows]), rows


def mean_loss_vjp(dmean, cache):
    dphi, df0, df1 = [], [], []
    for d, (t, a, b) in zip(dmean, cache, strict=True):
        dphi.append(d * (b - a) * (t - t * t))
        df0.append(d - d * t)
        df1.append(d * t)
    return {"dphi": np.array(dphi), "df0": np.array(df0), "df1": np.array(df1)}


def relaxed_given(logistic, mask, phi, tau):
    z = []
    for noise, b, p in zip(logistic, mask, phi, strict=True):
        v, theta = _theta(noise), _theta(p)
        u = 1 - theta + v * theta if b == 1 else v * (1 - theta)
        y = np.log(theta / (1 - theta)) + np.log(u / (1 - u))
        z.append(_theta(y / tau))
    return np.array(z), (z, logistic, mask, phi, tau)


def relaxed_given_vjp(dz, cache):
    z, logistic, mask, phi, tau = cache
    dphi = []
    for d, value, noise, b, p in zip(dz, z, logistic, mask, phi, strict=True):
        v, theta = _theta(noise), _theta(p)
        u = 1 - theta + v * theta if b == 1 else v * (1 - theta)
        moved = 1 - (1 - theta) / u if b == 1 else 1 - theta / (1 - u)
        dphi.append(d * value * (1 - value) / tau * moved)
    return np.array(dphi)


def disarm(first, second, b, opposite, phi):
    g = np.zeros(b.shape)
    for s in range(len(b)):
        for i in range(b.shape[1]):
            larger = max(_theta(phi[i]), 1 - _theta(phi[i]))
            g[s, i] = (first[s] - second[s]) * (b[s, i] - opposite[s, i]) * larger / 2
    return g


def best_constant():
    return 2.6


def silent_draws():
    return 1 - 2 * min(0.9, 1 - 0.9)


def cold_relaxation():
    return "B"


def right_straight_through():
    return "a "


def rebar_without_helper():
    return "C"
