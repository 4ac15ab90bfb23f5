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
