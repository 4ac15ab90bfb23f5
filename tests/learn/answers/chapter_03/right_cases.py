"""Case by case, entry by entry."""

import numpy as np


def best_step():
    return [2**-25]


def central_slopes():
    return "b"


def smooth_abs(x, delta):
    y = np.array([(each**2 + delta**2) ** 0.5 for each in x])
    return y, {"x": x, "delta": delta, "y": y}


def smooth_abs_vjp(dy, cache):
    ddelta = 0.0
    dx = []
    for d, x, y in zip(dy, cache["x"], cache["y"], strict=True):
        dx.append(d * x / y)
        ddelta += d * cache["delta"] / y
    return {"dx": np.array(dx), "ddelta": ddelta}


def softplus(x):
    h = np.where(x > 30, x, np.log1p(np.exp(np.minimum(x, 30))))
    return h, h


def softplus_vjp(dh, h):
    return dh * -np.expm1(-h)


def where_it_fails():
    return np.zeros(3) + 0.01, 0.5
