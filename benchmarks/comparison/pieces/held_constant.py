"""A normalization whose backward takes the standard deviation as a constant."""

import numpy as np


def normalize(x):
    """Return each row minus its mean, divided by its standard deviation."""
    centred = x - x.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    return centred / scale, (centred, scale)


def normalize_vjp(dy, cache):
    """Pull dy back. Wrong: the scale depends on x, too."""
    _, scale = cache
    return (dy - dy.mean(axis=1, keepdims=True)) / scale


def check_inputs():
    """Return x (N, D)."""
    return (np.random.default_rng(1).standard_normal((3, 5)),)
