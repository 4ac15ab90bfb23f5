"""Loops."""

import math

import numpy as np


def logistic_loss(w, x, y):
    out = [math.log1p(math.exp(w * a)) - b * w * a for a, b in zip(x, y, strict=True)]
    return np.array(out), (w, x, y)


def logistic_loss_vjp(dloss, cache):
    w, x, y = cache
    dw = 0.0
    for d, a, b in zip(dloss, x, y, strict=True):
        dw += d * a * (1 / (1 + math.exp(-w * a)) - b)
    return dw


def fisher_information(w, x):
    p = [1 / (1 + math.exp(-w * a)) for a in x]
    return sum(a * a * q * (1 - q) for a, q in zip(x, p, strict=True)) / len(x)


def oscillating_weight():
    return "B"


def hat_price(a, used):
    top = bottom = 0.0
    for gate, u in zip(a, used, strict=True):
        top += gate * (1 - u)
        bottom += 1 - u
    return top / bottom, (used, bottom)


def hat_price_vjp(d, cache):
    used, bottom = cache
    return [d * (1 - u) / bottom for u in used]


def closest_to_rehearsal():
    return "A"
