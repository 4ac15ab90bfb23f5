"""Inputs of the tasks: masks of a layer with D inputs and K units, S draws of them."""

import numpy as np


def _sizes(rng, size):
    """Return S, D and K, all different where they are larger than one."""
    if size == "large":
        return 64, 16, 12
    sizes = rng.permutation([2, 3, 4]) + rng.integers(2)
    if size == "odd":
        sizes[rng.integers(3)] = 1
        sizes[rng.integers(3)] = 1
    return tuple(int(n) for n in sizes)


def _single(inputs):
    return {name: value.astype(np.float32) for name, value in inputs.items()}


def _temperatures(rng, k, least=0.4, most=2.5):
    """Return temperatures of both signs; the first is negative."""
    signs = np.where(np.arange(k) == 0, -1.0, rng.choice([-1.0, 1.0], k))
    return signs * np.exp(rng.uniform(np.log(least), np.log(most), k))


def sample(rng, size):
    """Return inputs of ``sample``; extreme ones have noise near 0 and 1, and decided masks."""
    s, d, k = _sizes(rng, size)
    if size != "extreme":
        return {
            "u": rng.uniform(0.02, 0.98, (s, d, k)),
            "logit_theta": rng.standard_normal((d, k)),
            "tau": _temperatures(rng, k),
        }
    single = rng.random() < 0.4
    step, least, far = (2.0**-24, -30, 8) if single else (2.0**-53, -290, 40)
    near_one = 1 - step * rng.integers(1, 9, (s, d, k))
    near_zero = 10 ** rng.uniform(least, -1, (s, d, k))
    u = np.where(rng.random((s, d, k)) < 0.5, near_one, near_zero)
    inputs = {
        "u": u,
        "logit_theta": far * rng.standard_normal((d, k)),
        "tau": _temperatures(rng, k, 0.1, 10),
    }
    return _single(inputs) if single else inputs


def log_density(rng, size):
    """Return inputs of ``log_density``; extreme ones are far out in both directions."""
    s, d, k = _sizes(rng, size)
    far = 1.0
    single = size == "extreme" and rng.random() < 0.4
    if size == "extreme":
        far = 1e4 if single else 1e10
    inputs = {
        "y": far * rng.standard_normal((s, d, k)),
        "logit_theta": far * rng.standard_normal((d, k)),
        "tau": _temperatures(rng, k),
    }
    return _single(inputs) if single else inputs


def kl(rng, size):
    """Return inputs of ``kl``; extreme ones are nearly equal, far apart, or in single precision."""
    _, d, k = _sizes(rng, size)
    inputs = {"logit_theta": rng.standard_normal((d, k)), "logit_pi": rng.standard_normal(k)}
    if size != "extreme":
        return inputs
    case = rng.integers(3)
    if case == 0:
        near = 3e-6 * rng.choice([-1.0, 1.0], (d, k)) * rng.uniform(1, 2, (d, k))
        return {**inputs, "logit_theta": inputs["logit_pi"] + near}
    # Prior and mask are on opposite sides: if both were on, the gradient would be 1 - 1.
    far = 2000.0 if case == 1 else 15.0
    logit_pi = far * rng.standard_normal(k)
    inputs = {
        "logit_theta": -np.sign(logit_pi) * far * np.abs(rng.standard_normal((d, k))),
        "logit_pi": logit_pi,
    }
    return inputs if case == 1 else _single(inputs)


def mean_mask(rng, size):
    """Return inputs of ``mean_mask``."""
    k = 1 if size == "odd" else 4
    return {"logit_theta": 1.5 * rng.standard_normal(k), "tau": _temperatures(rng, k)}
