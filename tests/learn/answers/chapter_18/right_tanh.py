"""Hyperbolic functions in place of sigmoids, and signs in place of differences."""

import numpy as np


def mean_loss(phi, f0, f1):
    t = np.tanh(phi / 2)
    return (f0 + f1) / 2 + t * (f1 - f0) / 2, (t, f1 - f0)


def mean_loss_vjp(dmean, cache):
    t, gap = cache
    return dmean * gap * (1 - t * t) / 4, dmean * (1 - t) / 2, dmean * (1 + t) / 2


def relaxed_given(logistic, mask, phi, tau):
    s = np.where(mask == 1, 1.0, -1.0)
    odds = np.exp(s * logistic) * (1 + np.exp(s * phi))
    t = np.tanh(s * np.log1p(odds) / (2 * tau))
    return (1 + t) / 2, (t, odds, np.exp(s * phi), tau)


def relaxed_given_vjp(dz, cache):
    t, odds, growth, tau = cache
    return dz * (1 - t**2) / (4 * tau) * odds / (1 + odds) * growth / (1 + growth)


def disarm(first, second, b, opposite, phi):
    sign = np.sign(b - opposite)
    larger = (1 + np.tanh(np.abs(phi) / 2)) / 2
    return np.einsum("s,sn,n->sn", (first - second) / 2, sign, larger)


def best_constant():
    theta, f1, f0 = 0.2, 3.0, 1.0
    return f1 + f0 - (theta * f1 + (1 - theta) * f0)


def silent_draws():
    return np.array(0.8)


def cold_relaxation():
    return "b"


def right_straight_through():
    return " A"


def rebar_without_helper():
    return "c"
