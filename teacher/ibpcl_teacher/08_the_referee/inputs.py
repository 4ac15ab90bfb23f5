"""Inputs of the pairs in the bank."""

import numpy as np


def _sizes(rng, size, count):
    """Return ``count`` sizes, all different; odd ones are larger."""
    return [
        int(n)
        for n in rng.permutation(np.arange(3, 3 + count))
        + 2 * (size == "odd")
        + 8 * (size == "large")
    ]


def layer_norm(rng, size):
    """Return inputs of ``layer_norm``."""
    n, d = _sizes(rng, size, 2)
    n = 1 if size == "odd" else n
    return {
        "x": rng.standard_normal((n, d)),
        "gain": rng.standard_normal(d),
        "offset": rng.standard_normal(d),
    }


def attention(rng, size):
    """Return inputs of ``attention``."""
    n, m, d, e = _sizes(rng, size, 4)
    return {
        "q": rng.standard_normal((n, d)),
        "k": rng.standard_normal((m, d)),
        "v": rng.standard_normal((m, e)),
    }


def mixture(rng, size):
    """Return inputs of ``mixture``."""
    n, k = _sizes(rng, size, 2)
    return {
        "x": 2 * rng.standard_normal(n),
        "logits": rng.standard_normal(k),
        "mu": rng.standard_normal(k),
        "log_sigma": rng.uniform(-0.7, 0.7, k),
    }


def broken_stick(rng, size):
    """Return inputs of ``broken_stick``."""
    s, k = _sizes(rng, size, 2)
    return {"v": rng.uniform(0.1, 0.9, (s, k))}


def correlate(rng, size):
    """Return inputs of ``correlate``."""
    n, length, r = _sizes(rng, size, 3)
    return {
        "x": rng.standard_normal((n, length + r)),
        "w": rng.standard_normal(r),
        "bias": float(rng.standard_normal()),
    }


def student_t(rng, size):
    """Return inputs of ``student_t``."""
    n, d = _sizes(rng, size, 2)
    return {
        "x": 2 * rng.standard_normal((n, d)),
        "mu": rng.standard_normal(d),
        "log_scale": rng.uniform(-0.7, 0.7, d),
        "log_dof": rng.uniform(0, 2, d),
    }


def quadratic(rng, size):
    """Return inputs of ``quadratic``."""
    n, d = _sizes(rng, size, 2)
    return {
        "x": rng.standard_normal((n, d)),
        "a": rng.standard_normal((d, d)),
        "b": rng.standard_normal(d),
    }


def recurrent(rng, size):
    """Return inputs of ``recurrent``."""
    t, n, d, k = _sizes(rng, size, 4)
    return {
        "x": rng.standard_normal((t, n, d)),
        "w": 0.5 * rng.standard_normal((d, k)),
        "u": 0.5 * rng.standard_normal((k, k)),
        "bias": rng.standard_normal(k),
    }
