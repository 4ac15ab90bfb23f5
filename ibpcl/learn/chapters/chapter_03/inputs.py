"""Inputs of the functions of chapter 3."""

import numpy as np


def _sizes(rng, size, count=3):
    """Return sizes of axes, all different unless ``size`` is "odd"."""
    if size == "large":
        return tuple(20 + at for at in range(count))
    sizes = rng.permutation(np.arange(2, 2 + count)) + rng.integers(2)
    if size == "odd":
        sizes[rng.integers(count)] = 1
    return tuple(int(n) for n in sizes)


def smooth_abs(rng, size):
    """Return inputs of ``smooth_abs``."""
    (n,) = _sizes(rng, size, 1)
    return {"x": rng.standard_normal(n + 2), "delta": float(rng.uniform(0.3, 0.9))}


def softplus(rng, size):
    """Return inputs of ``activations.softplus``."""
    return {"x": 3 * rng.standard_normal(_sizes(rng, size))}
