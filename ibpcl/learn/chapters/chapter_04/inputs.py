"""Inputs of the functions of chapter 4."""

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


def apply(rng, size):
    """Return inputs of ``linear.apply``: x (S, N, D), w (S, D, K), b (S, K).

    At odd sizes all samples share the inputs, x (N, D), and there are at least two samples.
    """
    s, n, d, k = _sizes(rng, size, 4)
    shared = size == "odd"
    s = max(s, 2)
    return {
        "x": rng.standard_normal((n, d) if shared else (s, n, d)),
        "w": rng.standard_normal((s, d, k)),
        "b": rng.standard_normal((s, k)),
    }


def categorical(rng, size):
    """Return inputs of ``likelihoods.categorical``: logits (S, N, C), labels (N,).

    Extreme logits overflow in an exponential.
    """
    s, n, c = _sizes(rng, size)
    c = max(c, 2)
    scale = 1000.0 if size == "extreme" else 1.0
    return {"logits": scale * rng.standard_normal((s, n, c)), "labels": rng.integers(0, c, n)}


def mean_log_p(rng, size):
    """Return inputs of ``mean_log_p``."""
    return {"log_p": rng.standard_normal(_sizes(rng, size, 2))}


def log_sum_exp(rng, size):
    """Return inputs of ``log_sum_exp``, some of them large."""
    n, c = _sizes(rng, size, 2)
    return {"logits": rng.choice([1.0, 1000.0], (n, 1)) * rng.standard_normal((n, c))}
