"""Loops over lines and weights."""

import numpy as np


def other_order():
    return "a"


def ten_kept_examples():
    return "B"


def curvature(minus, zero, plus, h):
    slopes = [((p - z) / h, (z - m) / h) for m, z, p in zip(minus, zero, plus, strict=True)]
    return np.array([(right - left) / h for right, left in slopes])


def forgetful_layer():
    return " a"


def penalty(w, mean, precision):
    value = 0.0
    for each, centre, weight in zip(w.ravel(), mean.ravel(), precision.ravel(), strict=True):
        value = value + 0.5 * weight * (each - centre) ** 2
    return value, (w, mean, precision)


def penalty_vjp(dvalue, cache):
    w, mean, precision = cache
    return [
        dvalue * precision * (w - mean),
        dvalue * precision * (mean - w),
        0.5 * dvalue * (w - mean) ** 2,
    ]
