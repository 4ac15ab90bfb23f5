"""Signs in the place of labels, and scalar products."""

import numpy as np
from scipy.special import expit


def logistic_loss(w, x, y):
    sign = 1 - 2 * y
    return np.logaddexp(0, sign * w * x), (w, x, sign)


def logistic_loss_vjp(dloss, cache):
    w, x, sign = cache
    return np.dot(dloss * sign * expit(sign * w * x), x)


def fisher_information(w, x):
    return np.average(np.square(x) * expit(w * x) * expit(-w * x))


def oscillating_weight():
    return " b"


def hat_price(a, used):
    return np.average(a, weights=1 - used), used


def hat_price_vjp(d, used):
    return [d * (1 - used) / np.sum(1 - used)]


def closest_to_rehearsal():
    return "a "


def horseshoe_price(x):
    price = np.log(np.pi) + np.logaddexp(x / 2, -x / 2)
    return price.sum(), x


def horseshoe_price_vjp(dprice, x):
    return dprice * (expit(x) - 0.5)


def expected_loss(m, log_sigma, c):
    variance = np.exp(log_sigma) ** 2
    loss = 1.5 * (m @ m - 2 * m @ c + c @ c + variance.sum())
    return loss, (m, c, variance)


def expected_loss_vjp(dloss, cache):
    m, c, variance = cache
    return 3 * dloss * m - 3 * dloss * c, 3 * dloss * variance


def unfelt(d, h):
    matrix = np.eye(len(h)) - np.outer(h, h) / (h @ h)
    return matrix @ d, matrix


def unfelt_vjp(dpart, matrix):
    return dpart @ matrix


def rise(d, log_sigma):
    steps = np.exp(log_sigma) * d
    return (d @ d - steps @ steps) / 2, (d, steps)


def rise_vjp(g, cache):
    d, steps = cache
    return g * (d - np.square(steps) / np.where(d == 0, 1, d)), -g * np.square(steps)


def imitation(logits, p):
    q = np.exp(logits)
    q = q / q.sum(axis=1, keepdims=True)
    return np.sum(p * np.log(p / q)), q - p


def imitation_vjp(g, difference):
    return g * difference


def kronecker_price(w, a, g):
    metric = np.kron(a, g)
    flat = w.ravel()
    return flat @ metric @ flat / 2, (metric @ flat).reshape(w.shape)


def kronecker_price_vjp(dprice, cache):
    return dprice * cache
