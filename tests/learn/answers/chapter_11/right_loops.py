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


def rise(d, log_sigma):
    total = 0.0
    for step, s in zip(d, log_sigma, strict=True):
        sigma = math.exp(s)
        total += (1 / sigma**2 - 1) * (sigma * step) ** 2 / 2
    return total, (d, log_sigma)


def rise_vjp(g, cache):
    d, log_sigma = cache
    dd = [g * step * (1 - math.exp(2 * s)) for step, s in zip(d, log_sigma, strict=True)]
    return dd, [-g * (step * math.exp(s)) ** 2 for step, s in zip(d, log_sigma, strict=True)]


def imitation(logits, p):
    total = 0.0
    student = []
    for row, teacher in zip(logits, p, strict=True):
        norm = sum(math.exp(f) for f in row)
        student.append([math.exp(f) / norm for f in row])
        total += sum(a * math.log(a / b) for a, b in zip(teacher, student[-1], strict=True))
    return total, (student, p)


def imitation_vjp(g, cache):
    student, p = cache
    return np.array(
        [[g * (b - a) for a, b in zip(*rows, strict=True)] for rows in zip(p, student, strict=True)]
    )


def kronecker_price(w, a, g):
    rows, columns = w.shape
    dw = np.zeros(w.shape)
    for d in range(rows):
        for k in range(columns):
            for e in range(rows):
                for f in range(columns):
                    dw[d, k] += a[d, e] * w[e, f] * g[f, k]
    return float((dw * w).sum()) / 2, dw


def kronecker_price_vjp(g, cache):
    return g * cache
