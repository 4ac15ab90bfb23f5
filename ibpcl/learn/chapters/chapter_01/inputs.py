"""Inputs of the functions of chapter 1."""

import numpy as np


def _sizes(rng, size, count=3):
    """Return sizes of axes, all different unless ``size`` is "odd".

    None is 2: a mean over two is a half, too.
    """
    if size == "large":
        return tuple(20 + at for at in range(count))
    sizes = rng.permutation(np.arange(3, 3 + count)) + rng.integers(2)
    if size == "odd":
        sizes[rng.integers(count)] = 1
    return tuple(int(n) for n in sizes)


def curvature(rng, size):
    """Return inputs of ``curvature``: losses on N lines, and a step."""
    (n,) = _sizes(rng, size, 1)
    minus, zero, plus = rng.uniform(0.5, 2, (3, n))
    return {"minus": minus, "zero": zero, "plus": plus, "h": float(rng.uniform(0.3, 0.9))}


def penalty(rng, size):
    """Return inputs of ``quadratic.penalty``."""
    (n,) = _sizes(rng, size, 1)
    w, mean = rng.standard_normal((2, n + 3))
    return {"w": w, "mean": mean, "precision": rng.uniform(0.5, 2, n + 3)}
