"""Inputs of the tasks: a classifier with D inputs, C classes, S samples and N examples."""

import numpy as np


def _sizes(rng, size):
    """Return S, N, D and C, all different where they are larger than one."""
    if size == "large":
        return 16, 64, 32, 10
    sizes = rng.permutation([2, 3, 4, 5])
    if size == "odd":
        sizes[rng.choice(3, 2, replace=False)] = 1
    return tuple(int(n) for n in sizes)


def _parameters(rng, d, c):
    return {
        "mu": rng.standard_normal((d, c)),
        "scale": rng.uniform(-1, 0.5, (d, c)),
        "rho": rng.standard_normal((d, c)),
        "logit_pi": rng.standard_normal(c),
    }


def _noise(rng, *shape):
    return {"eps": rng.standard_normal(shape), "u": rng.uniform(0.02, 0.98, shape)}


def masked_weights(rng, size):
    """Return inputs of ``masked_weights``."""
    s, _, d, c = _sizes(rng, size)
    return {**_noise(rng, s, d, c), **_parameters(rng, d, c), "tau": float(rng.uniform(0.5, 2))}


def divergence(rng, size):
    """Return inputs of ``divergence``; extreme ones are decided masks, or in single precision."""
    _, _, d, c = _sizes(rng, size)
    inputs = _parameters(rng, d, c)
    if size == "extreme":
        single = rng.random() < 0.5
        far = 15.0 if single else 1500.0
        # Prior and mask are on opposite sides: if both were on, the gradient would be 1 - 1.
        inputs["logit_pi"] = far * rng.choice([-1.0, 1.0], c) * rng.uniform(1, 2, c)
        inputs["rho"] = -2 * inputs["logit_pi"] * rng.uniform(1, 2, (d, c))
        if single:
            inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
    return inputs


def log_likelihood(rng, size):
    """Return inputs of ``log_likelihood``."""
    s, n, d, c = _sizes(rng, size)
    c = max(c, 2)
    return {
        "w": rng.standard_normal((s, d, c)),
        "x": rng.standard_normal((n, d)),
        "labels": rng.integers(c, size=n),
    }


def elbo(rng, size):
    """Return inputs of ``elbo``."""
    s, n, d, c = _sizes(rng, size)
    c = max(c, 2)
    return {
        **_noise(rng, s, d, c),
        **_parameters(rng, d, c),
        "tau": float(rng.uniform(0.5, 2)),
        "x": rng.standard_normal((n, d)),
        "labels": rng.integers(c, size=n),
        "examples": int(n * rng.integers(3, 9)),
    }


def train(rng, size):
    """Return inputs of ``train``: one cloud of points per class, and noise for a hundred steps."""
    s, n, d, c = (1, 12, 2, 2) if size == "odd" else (2, 24, 4, 3)
    labels = np.arange(n) % c
    centres = 1.5 * rng.standard_normal((c, d))
    x = centres[labels] + 0.5 * rng.standard_normal((n, d))
    parameters = {
        "mu": 0.1 * rng.standard_normal((d, c)),
        "scale": rng.uniform(-1.5, -1, (d, c)),
        "rho": rng.uniform(1, 2, (d, c)),
        "logit_pi": rng.uniform(-0.5, 0.5, c),
    }
    return {
        **_noise(rng, 100, s, d, c),
        **parameters,
        "tau": 0.7,
        "x": x,
        "labels": labels,
        "examples": 4 * n,
        "rate": 0.05,
    }
