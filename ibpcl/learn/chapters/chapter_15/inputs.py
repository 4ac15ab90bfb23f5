"""Inputs of the functions of chapter 15."""

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


def _precision(rng, size):
    """Return a precision matrix that is not diagonal."""
    root = rng.standard_normal((size, size))
    return np.eye(size) + root @ root.T / size


def log_joint(rng, size):
    """Return inputs of ``log_joint``."""
    (n,) = _sizes(rng, size, 1)
    x = rng.standard_normal(n + 2)
    y = rng.integers(0, 2, n + 2)
    return {"w": rng.standard_normal(2), "x": x, "y": y, "sigma": float(rng.uniform(0.5, 2))}


def leapfrog(rng, size):
    """Return inputs of ``leapfrog``."""
    (p,) = _sizes(rng, size, 1)
    w, r = rng.standard_normal((2, p + 1))
    return {"w": w, "r": r, "A": _precision(rng, p + 1), "step": 0.2, "count": 3}


def linear_update(rng, size):
    """Return inputs of ``linear_update``."""
    n, p = _sizes(rng, size, 2)
    return {
        "mean": rng.standard_normal(p + 1),
        "precision": _precision(rng, p + 1),
        "X": rng.standard_normal((n, p + 1)),
        "y": rng.standard_normal(n),
        "noise": float(rng.uniform(0.5, 2)),
    }


def two_parts(rng, size):
    """Return two tables of at least three tasks, zero above the diagonal."""
    (t,) = _sizes(rng, size, 1)
    exact, method = -np.tril(rng.uniform(0.1, 1, (2, t + 2, t + 2)))
    return {"exact": exact, "method": method}


def weighted_update(rng, size):
    """Return inputs of ``weighted_update``."""
    (p,) = _sizes(rng, size, 1)
    return {
        "mean": rng.standard_normal(p + 1),
        "precision": rng.uniform(0.5, 3, p + 1),
        "h": rng.uniform(0.1, 4, p + 1),
        "optimum": rng.standard_normal(p + 1),
        "beta": float(rng.uniform(0.1, 2)),
    }


def log_determinant(rng, size):
    """Return inputs of ``log_determinant``."""
    (p,) = _sizes(rng, size, 1)
    log_sigma, u = rng.standard_normal((2, p + 2))
    return {"log_sigma": 0.5 * log_sigma, "u": u}


def value_price(rng, size):
    """Return inputs of ``value_price``."""
    (k,) = _sizes(rng, size, 1)
    return {
        "h": rng.standard_normal(k + 2),
        "m": float(rng.normal()),
        "variance": float(rng.uniform(0.2, 2)),
        "noise": float(rng.uniform(0.1, 1)),
    }
