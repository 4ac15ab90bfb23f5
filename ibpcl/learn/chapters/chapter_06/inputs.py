"""Inputs of the functions of chapter 6."""

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


def sample(rng, size):
    """Return inputs of ``kumaraswamy.sample``: noise (S, K), a and b (K,)."""
    s, k = _sizes(rng, size, 2)
    if size == "extreme":
        u = 10.0 ** rng.uniform(-30, -5, (s, k))
        a = rng.uniform(0.5, 4, k)
        b = rng.uniform(0.3, 1, k)
        return {"u": u, "a": a, "b": b}
    a, b = rng.uniform(0.5, 4, (2, k))
    return {"u": rng.uniform(0.05, 0.95, (s, k)), "a": a, "b": b}


def kl_to_beta(rng, size):
    """Return inputs of ``kumaraswamy.kl_to_beta``."""
    (k,) = _sizes(rng, size, 1)
    a, b = rng.uniform(0.5, 4, (2, k + 1))
    return {"a": a, "b": b, "alpha": np.array(rng.uniform(1, 5))}


def logit_probabilities(rng, size):
    """Return inputs of ``stick_breaking.logit_probabilities``; extreme ones next to 0 and 1."""
    if size == "extreme":
        shape = _sizes(rng, size, 2)
        exponent = np.where(rng.random(shape) < 0.5, rng.uniform(2.5, 4, shape), -15.0)
        return {"log_pi": -rng.uniform(1, 2, shape) * 10.0**exponent}
    return {"log_pi": -rng.exponential(size=_sizes(rng, size, 2)) - 0.05}


def expected_log_stick(rng, size):
    """Return inputs of ``expected_log_stick``."""
    (k,) = _sizes(rng, size, 1)
    a, b = rng.uniform(0.5, 4, (2, k + 1))
    return {"a": a, "b": b}


def active_units(rng, size):
    """Return inputs of ``active_units``."""
    (k,) = _sizes(rng, size, 1)
    return {"log_v": -rng.exponential(size=k + 3) / 2 - 0.05, "few": int(rng.integers(1, k + 2))}
