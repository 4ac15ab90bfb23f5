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
