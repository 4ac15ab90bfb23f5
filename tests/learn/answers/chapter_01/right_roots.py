"""The penalty as half the squared length of a scaled vector."""

import numpy as np


def other_order():
    return "b"


def ten_kept_examples():
    return "b"


def curvature(minus, zero, plus, h):
    return 2 * ((plus + minus) / 2 - zero) / (h * h)


def forgetful_layer():
    return "c"


def penalty(w, mean, precision):
    root = np.sqrt(precision)
    scaled = root * (w - mean)
    return np.sum(scaled * scaled) / 2, (scaled, root)


def penalty_vjp(dvalue, cache):
    scaled, root = cache
    dscaled = dvalue * scaled
    droot = dscaled * scaled / root
    return dscaled * root, -(dscaled * root), droot / (2 * root)
