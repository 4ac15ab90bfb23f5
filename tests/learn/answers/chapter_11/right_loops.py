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


def horseshoe_price(x):
    return sum(math.log(2 * math.pi * math.cosh(each / 2)) for each in x), list(x)


def horseshoe_price_vjp(dprice, cache):
    return [dprice * (math.exp(each) - 1) / (math.exp(each) + 1) / 2 for each in cache]


def expected_loss(m, log_sigma, c):
    total = 0.0
    for a, b, least in zip(m, log_sigma, c, strict=True):
        total += 3 * ((a - least) ** 2 + math.exp(b) ** 2) / 2
    return total, (m, log_sigma, c)


def expected_loss_vjp(d, cache):
    m, log_sigma, c = cache
    dm = [3 * d * (a - least) for a, least in zip(m, c, strict=True)]
    return dm, [3 * d * math.exp(b) ** 2 for b in log_sigma]


def unfelt(d, h):
    share = sum(a * b for a, b in zip(d, h, strict=True)) / sum(a * a for a in h)
    return np.array([a - share * b for a, b in zip(d, h, strict=True)]), h


def unfelt_vjp(dpart, cache):
    return unfelt(dpart, cache)[0]
