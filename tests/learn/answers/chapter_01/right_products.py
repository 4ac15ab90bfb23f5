"""Scalar products in the place of sums."""

import numpy as np


def other_order():
    return "C"


def ten_kept_examples():
    return " b "


def curvature(minus, zero, plus, h):
    return np.array([1, -2, 1]) @ np.stack([minus, zero, plus]) / h**2


def forgetful_layer():
    return "b"


def penalty(w, mean, precision):
    d = w - mean
    return np.vdot(precision * d, d) * 0.5, (d, precision)


def penalty_vjp(dvalue, cache):
    d, precision = cache
    half = dvalue / 2
    return {
        "w": 2 * half * precision * d,
        "mean": -2 * half * precision * d,
        "precision": half * d**2,
    }
