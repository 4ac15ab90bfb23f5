"""Inputs of the tasks: S draws of the sticks of K units."""

import numpy as np


def _sizes(rng, size):
    """Return S and K."""
    if size == "large":
        return 64, 100
    s, k = (int(n) for n in rng.permutation([3, 5]) + rng.integers(2))
    if size == "odd":
        return ((1, k), (s, 1), (1, 1))[rng.integers(3)]
    return s, k


def sample(rng, size):
    """Return inputs of ``sample``; extreme ones have noise next to 0 and 1."""
    s, k = _sizes(rng, size)
    if size != "extreme":
        return {
            "u": rng.uniform(0.02, 0.98, (s, k)),
            "a": rng.uniform(0.5, 4, k),
            "b": rng.uniform(0.5, 4, k),
        }
    single = rng.random() < 0.4
    step, least, most = (2.0**-24, -30, 20) if single else (2.0**-53, -290, 1000)
    if rng.random() < 0.5:
        u = 1 - step * rng.integers(1, 9, (s, k))
        a, b = most ** rng.uniform(-1, 1, (2, k))
    else:
        u = 10 ** rng.uniform(least, least / 2, (s, k))
        a, b = most ** rng.uniform(0, 0.5, (2, k))
    inputs = {"u": u, "a": a, "b": b}
    return {name: value.astype(np.float32) for name, value in inputs.items()} if single else inputs


def log_probabilities(rng, size):
    """Return inputs of ``log_probabilities``."""
    return {"log_v": -rng.uniform(0.1, 2, _sizes(rng, size))}


def link(rng, size):
    """Return inputs of ``link``; extreme ones are probabilities next to 0 and 1."""
    shape = _sizes(rng, size)
    if size != "extreme":
        return {"log_pi": -rng.uniform(0.1, 3, shape)}
    single = rng.random() < 0.4
    near_one = -(10 ** rng.uniform(-30, -9, shape))
    near_zero = rng.uniform(*((-80, -20) if single else (-690, -40)), shape)
    log_pi = np.where(rng.random(shape) < 0.5, near_one, near_zero)
    return {"log_pi": log_pi.astype(np.float32 if single else np.float64)}


def mean_log_stick(rng, size):
    """Return inputs of ``mean_log_stick``."""
    k = 1 if size == "odd" else 4
    return {"a": rng.uniform(0.5, 3, k), "b": rng.uniform(0.5, 3, k)}
