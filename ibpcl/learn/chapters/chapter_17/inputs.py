"""Inputs of the functions of chapter 17."""

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


def add(rng, size):
    """Return inputs of ``residual.add``; odd ones share their h among several samples."""
    n, k = _sizes(rng, size, 2)
    s = int(rng.integers(2, 5))
    return {
        "h": rng.standard_normal((n, k) if size == "odd" else (s, n, k)),
        "f": rng.standard_normal((s, n, k)),
        "z": rng.uniform(0.05, 0.95, s),
    }


def block(rng, size):
    """Return inputs of ``block``."""
    n, k = _sizes(rng, size, 2)
    return {
        "h": rng.standard_normal((n + 2, k)),
        "w": rng.standard_normal((k, k)),
        "b": rng.standard_normal(k),
        "z": float(rng.uniform(0.2, 0.9)),
    }


def expected_depth(rng, size):
    """Return inputs of ``expected_depth``."""
    (count,) = _sizes(rng, size, 1)
    limit = 1 if size == "odd" else int(rng.integers(3, 9))
    return {"alpha": rng.uniform(0.5, 6, count + 2), "limit": limit}


def share_with_gaps(rng, size):
    """Return inputs of ``share_with_gaps``; odd ones have two blocks."""
    blocks = 2 if size == "odd" else 4
    return {"z": rng.random((40, blocks)) < np.linspace(0.9, 0.3, blocks)}
