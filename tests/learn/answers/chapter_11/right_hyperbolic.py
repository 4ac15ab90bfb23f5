"""Hyperbolic functions and closures."""

import numpy as np


def logistic_loss(w, x, y):
    t = w * x / 2
    loss = np.log(2 * np.cosh(t)) + t - 2 * y * t
    return loss, lambda d: np.sum(d * x * (0.5 + 0.5 * np.tanh(t) - y))


def logistic_loss_vjp(dloss, cache):
    return cache(dloss)


def fisher_information(w, x):
    return np.mean((x / (2 * np.cosh(w * x / 2))) ** 2)


def oscillating_weight():
    return "b"


def hat_price(a, used):
    free = 1 - used
    return (a @ free) / free.sum(), free


def hat_price_vjp(d, free):
    return {"da": d / np.sum(free) * free}


def closest_to_rehearsal():
    return "a"


def horseshoe_price(x):
    t = np.abs(x) / 2
    price = t + np.log1p(np.exp(-2 * t)) + np.log(np.pi)
    return price.sum(), lambda d: 0.5 * d * np.tanh(x / 2)


def horseshoe_price_vjp(dprice, cache):
    return cache(dprice)


def expected_loss(m, log_sigma, c):
    square = np.cosh(2 * log_sigma) + np.sinh(2 * log_sigma)
    loss = (m - c) @ (m - c) + square.sum()
    return loss * 3 / 2, lambda d: (3 * d * (m - c), 3 * d * square)


def expected_loss_vjp(dloss, cache):
    return cache(dloss)


def unfelt(d, h):
    unit = h / np.linalg.norm(h)
    return d - unit * (unit @ d), unit


def unfelt_vjp(dpart, unit):
    return dpart - unit * (unit @ dpart)


def rise(d, log_sigma):
    certain = -np.expm1(2 * log_sigma)
    return 0.5 * (d * d) @ certain, lambda g: (g * certain * d, g * d * d * (certain - 1))


def rise_vjp(drise, cache):
    return cache(drise)


def imitation(logits, p):
    log_q = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
    return (p * np.log(p)).sum() - (p * log_q).sum(), lambda d: d * (np.exp(log_q) - p)


def imitation_vjp(dkl, cache):
    return cache(dkl)


def kronecker_price(w, a, g):
    return np.trace(g @ w.T @ a @ w) / 2, lambda d: d * (a @ w) @ g


def kronecker_price_vjp(dprice, cache):
    return cache(dprice)
