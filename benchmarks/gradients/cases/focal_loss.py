"""Focal loss of binary targets: -mean((1 - q)^gamma log q), q the probability of the true class."""

import numpy as np
from scipy.special import expit

WRT = ("logits", "gamma")


def f(logits, targets, gamma):
    sign = 2 * targets - 1
    q = expit(sign * logits)
    loss = -np.mean((1 - q) ** gamma * np.log(q))
    return loss, (sign, q, gamma)


def f_vjp(dout, cache):
    sign, q, gamma = cache
    n = q.size
    dq = gamma * (1 - q) ** (gamma - 1) * np.log(q) - (1 - q) ** gamma / q
    dlogits = dout / n * dq * q * (1 - q) * sign
    dgamma = -dout / n * np.sum((1 - q) ** gamma * np.log(1 - q) * np.log(q))
    return dlogits, dgamma


def check_inputs():
    rng = np.random.default_rng(30)
    targets = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    return {"logits": rng.normal(size=(4, 2)), "targets": targets, "gamma": np.array(2.0)}
