"""Relaxed Bernoulli variable from logistic noise: sigmoid((logit + noise) / tau) for one temperature."""

import numpy as np

WRT = ("logit", "tau")


def f(logit, noise, tau):
    h = (logit + noise) / tau
    z = 1 / (1 + np.exp(-h))
    return z, (z, h, tau)


def f_vjp(dout, cache):
    z, h, tau = cache
    dh = dout * z * (1 - z)
    dlogit = (dh / tau).sum(axis=0)
    dtau = -np.sum(dh * h) / tau
    return dlogit, dtau


def check_inputs():
    rng = np.random.default_rng(203)
    return {
        "logit": rng.normal(size=5),
        "noise": rng.logistic(size=(3, 5)),
        "tau": np.array(0.7),
    }
