"""Mean cross entropy of a softmax with smoothed labels: a share s of each label is spread evenly."""

import numpy as np

WRT = ("x", "s")


def f(x, labels, s):
    n, k = x.shape
    log_p = x - x.max(axis=1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    hot = np.eye(k)[labels]
    target = (1 - s) * hot + s / k
    return -np.sum(target * log_p) / n, (log_p, hot, target)


def f_vjp(dout, cache):
    log_p, hot, target = cache
    n, k = log_p.shape
    dx = dout * (np.exp(log_p) - target) / n
    ds = dout * np.sum((hot - 1 / k) * log_p) / n
    return dx, ds


def check_inputs():
    rng = np.random.default_rng(208)
    return {"x": rng.normal(size=(4, 3)), "labels": np.array([0, 2, 1, 2]), "s": np.array(0.2)}
