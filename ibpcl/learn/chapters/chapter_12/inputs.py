"""Inputs of the functions of chapter 12."""

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


def code_divergence(rng, size):
    """Return inputs of ``code_divergence``."""
    shape = _sizes(rng, size, 2)
    return {"m": rng.standard_normal(shape), "log_s": rng.uniform(-1, 1, shape)}


def importance_estimate(rng, size):
    """Return inputs of ``importance_estimate``: log weights far below 0."""
    k, n = _sizes(rng, size, 2)
    return {"log_w": -900 + 5 * rng.standard_normal((k + 1, n))}


def unlabelled_bound(rng, size):
    """Return inputs of ``unlabelled_bound``."""
    n, c = _sizes(rng, size, 2)
    f, v = rng.standard_normal((2, n, c + 1))
    return {"f": f, "v": 2 * v}
