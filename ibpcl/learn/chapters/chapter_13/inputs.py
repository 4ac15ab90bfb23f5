"""Inputs of the functions of chapter 13."""

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


def log_normal(rng, size):
    """Return inputs of ``log_normal``."""
    (n,) = _sizes(rng, size, 1)
    mu = float(rng.standard_normal())
    sigma = float(rng.uniform(0.4, 1.5))
    return {"x": rng.lognormal(size=n + 2), "mu": mu, "sigma": sigma}


def exponential_quantile(rng, size):
    """Return inputs of ``exponential_quantile``."""
    (n,) = _sizes(rng, size, 1)
    return {"u": rng.uniform(0.02, 0.98, n + 2), "rate": float(rng.uniform(0.5, 3))}
