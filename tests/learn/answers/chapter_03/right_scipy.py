"""Functions of SciPy, and a cache of one array."""

import numpy as np
from scipy import special


def best_step():
    return np.sqrt(4 * np.finfo(float).eps)


def central_slopes():
    return " b "


def smooth_abs(x, delta):
    y = np.sqrt(np.einsum("in,in->n", *2 * [np.stack([x, np.full_like(x, delta)])]))
    return y, (x / y, delta / y)


def smooth_abs_vjp(dy, cache):
    sine, cosine = cache
    return dy * sine, np.dot(dy, cosine)


def softplus(x):
    return np.logaddexp(0.0, x), x


def softplus_vjp(dh, x):
    return special.expit(x) * dh


def where_it_fails():
    return np.array(0.5), 2
