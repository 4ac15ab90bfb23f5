"""Inputs of the functions of chapter 0."""

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


def softmax(rng, size):
    """Return inputs of ``softmax``; extreme ones overflow in an exponential, or all underflow."""
    (n,) = _sizes(rng, size, 1)
    x = rng.standard_normal(n + 2)
    return {"x": x + rng.choice([-1.0, 1.0]) * rng.uniform(800, 2000) if size == "extreme" else x}


def output_moments(rng, size):
    """Return inputs of ``output_moments``."""
    (d,) = _sizes(rng, size, 1)
    x, mu = rng.standard_normal((2, d + 1))
    return {"x": x, "mu": mu, "sigma": rng.uniform(0.1, 2, d + 1)}


def standardize(rng, size):
    """Return inputs of ``standardize``."""
    n, k = _sizes(rng, size, 2)
    x = rng.standard_normal((n, k))
    return {"x": x, "m": rng.standard_normal(k), "s": rng.uniform(0.5, 2, k)}
