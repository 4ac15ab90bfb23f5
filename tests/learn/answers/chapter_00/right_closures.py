"""Caches that are functions, and gradients as a dictionary or a list."""

import math

import numpy as np
from scipy import special


def softmax(x):
    y = special.softmax(x)
    return y, lambda dy: y * dy - y * np.vdot(y, dy)


def softmax_vjp(dy, cache):
    return [cache(dy)]


def output_moments(x, mu, sigma):
    return x @ mu, np.linalg.norm(x * sigma)


def two_directions():
    return "b"


def points_for_pi():
    return np.array([4 * math.pi * (4 - math.pi) / 1e-6 / 4])


def standardize(x, m, s):
    return (x - m[None, :]) * (1 / s), (x - m, 1 / s)


def standardize_vjp(dy, cache):
    shifted, inverse = cache
    return {
        "dx": dy * inverse,
        "dm": np.sum(-dy * inverse, axis=0, keepdims=True)[0],
        "ds": -np.einsum("nk,nk,k->k", dy, shifted, inverse**2),
    }
