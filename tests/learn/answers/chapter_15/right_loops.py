"""Loops."""

import math

import numpy as np


def log_joint(w, x, y, sigma):
    value = -(w[0] ** 2 + w[1] ** 2) / (2 * sigma**2)
    for a, b in zip(x, y, strict=True):
        logit = w[0] * a + w[1]
        value += b * logit - np.log1p(np.exp(logit))
    return value, (w, x, y, sigma)


def log_joint_vjp(d, cache):
    w, x, y, sigma = cache
    dw = -d * w / sigma**2
    dx = []
    for a, b in zip(x, y, strict=True):
        slope = d * (b - 1 / (1 + np.exp(-w[0] * a - w[1])))
        dw = dw + slope * np.array([a, 1])
        dx.append(slope * w[0])
    return dw, np.array(dx)


def leapfrog(w, r, A, step, count):
    r = r - step / 2 * (A @ w)
    for at in range(count):
        w = w + step * r
        r = r - (step if at < count - 1 else step / 2) * (A @ w)
    return [w, r]


def linear_update(mean, precision, X, y, noise):
    new = precision.copy()
    right = precision @ mean
    for row, target in zip(X, y, strict=True):
        new += np.outer(row, row) / noise**2
        right += row * target / noise**2
    return np.linalg.inv(new) @ right, new


def two_parts(exact, method):
    model, rest = [], []
    for j in range(len(exact) - 1):
        model.append(exact[j, j] - exact[-1, j])
        rest.append(method[j, j] - method[-1, j] - model[-1])
    return np.array(model), np.array(rest)


def unequal_tasks():
    return "a"


def whose_part():
    return "C"


def beating_exact():
    return "B"


def weighted_update(mean, precision, h, optimum, beta):
    new_mean, new_precision = [], []
    for m, p, a, best in zip(mean, precision, h, optimum, strict=True):
        new_precision.append(p + a / beta)
        new_mean.append((a * best / beta + p * m) / new_precision[-1])
    return np.array(new_mean), np.array(new_precision)


def log_determinant(log_sigma, u):
    total = 1.0
    for a, b in zip(log_sigma, u, strict=True):
        total += (b / math.exp(a)) ** 2
    return 2 * sum(log_sigma) + math.log(total), (log_sigma, u, total)


def log_determinant_vjp(dvalue, cache):
    log_sigma, u, total = cache
    dlog_sigma, du = [], []
    for a, b in zip(log_sigma, u, strict=True):
        dlog_sigma.append(2 * dvalue * (1 - b**2 * math.exp(-2 * a) / total))
        du.append(2 * dvalue * b * math.exp(-2 * a) / total)
    return np.array(dlog_sigma), np.array(du)


def value_price(h, m, variance, noise):
    k = noise
    for each in h:
        k += each**2
    price = 0.5 * (variance / k + m**2 / k - 1 + np.log(k) - np.log(variance))
    return price, (h, m, variance, k)


def value_price_vjp(dprice, cache):
    h, m, variance, k = cache
    return [dprice * (each / k - each * (variance + m**2) / k**2) for each in h]
