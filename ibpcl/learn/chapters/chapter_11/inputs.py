"""Inputs of the functions of chapter 11."""

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


def logistic_loss(rng, size):
    """Return inputs of ``logistic_loss``."""
    (n,) = _sizes(rng, size, 1)
    y = rng.integers(0, 2, n + 2).astype(float)
    return {"w": float(rng.standard_normal()), "x": rng.standard_normal(n + 2), "y": y}


def fisher_information(rng, size):
    """Return inputs of ``fisher_information``."""
    inputs = logistic_loss(rng, size)
    return {"w": inputs["w"], "x": inputs["x"]}


def hat_price(rng, size):
    """Return inputs of ``hat_price``."""
    (k,) = _sizes(rng, size, 1)
    a, used = rng.uniform(0.05, 0.95, (2, k + 2))
    return {"a": a, "used": used}


def horseshoe_price(rng, size):
    """Return inputs of ``horseshoe_price``."""
    (k,) = _sizes(rng, size, 1)
    return {"x": 2 * rng.standard_normal(k + 2)}


def expected_loss(rng, size):
    """Return inputs of ``expected_loss``."""
    (k,) = _sizes(rng, size, 1)
    m, log_sigma, c = rng.standard_normal((3, k + 2))
    return {"m": m, "log_sigma": 0.5 * log_sigma, "c": c}


def unfelt(rng, size):
    """Return inputs of ``unfelt``."""
    (k,) = _sizes(rng, size, 1)
    d, h = rng.standard_normal((2, k + 2))
    return {"d": d, "h": h}


def rise(rng, size):
    """Return inputs of ``rise``."""
    (k,) = _sizes(rng, size, 1)
    d, log_sigma = rng.standard_normal((2, k + 2))
    return {"d": d, "log_sigma": 0.5 * log_sigma - 0.6}


def imitation(rng, size):
    """Return inputs of ``imitation``."""
    n, c = _sizes(rng, size, 2)
    logits, scores = rng.standard_normal((2, n, c + 1))
    p = np.exp(scores)
    return {"logits": logits, "p": p / p.sum(axis=1, keepdims=True)}


def kronecker_price(rng, size):
    """Return inputs of ``kronecker_price``."""
    d, k = _sizes(rng, size, 2)
    inputs = rng.standard_normal((d + 1, d))
    slopes = rng.standard_normal((k + 2, k))
    return {"w": rng.standard_normal((d, k)), "a": inputs.T @ inputs, "g": slopes.T @ slopes}
