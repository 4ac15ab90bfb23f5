"""Inputs of the functions of chapter 2: S samples of weights with D inputs and K units."""

import numpy as np


def _sizes(rng, size):
    """Return S, D and K, all different unless ``size`` is "odd".

    None is 2: a mean over two is a half, too.
    """
    if size == "large":
        return 64, 16, 12
    sizes = rng.permutation([3, 4, 5]) + rng.integers(2)
    if size == "odd":
        sizes[rng.integers(3)] = 1
        sizes[rng.integers(3)] = 1
    return tuple(int(n) for n in sizes)


def _parameters(rng, size):
    """Return S, and the shape of the parameters: (D, K), or (K,) for biases at odd sizes."""
    s, *shape = _sizes(rng, size)
    return s, shape[1:] if size == "odd" else shape


def sample(rng, size):
    """Return inputs of ``gaussian.sample``; at odd sizes they are biases."""
    s, shape = _parameters(rng, size)
    return {
        "eps": rng.standard_normal((s, *shape)),
        "mu": rng.standard_normal(shape),
        "log_sigma": rng.uniform(-1, 1, shape),
    }


def log_density(rng, size):
    """Return inputs of ``gaussian.log_density``; extreme ones are far out, narrow or wide."""
    s, d, k = _sizes(rng, size)
    if size == "extreme":
        log_sigma = rng.choice([-1.0, 1.0], (d, k)) * rng.uniform(300, 400, (d, k))
        mu = rng.standard_normal((d, k))
        signs = rng.choice([-1.0, 1.0], (s, d, k))
        far = mu + np.exp(log_sigma) * signs * rng.uniform(50, 100, (s, d, k))
        return {"x": np.where(log_sigma < 0, mu, far), "mu": mu, "log_sigma": log_sigma}
    return {
        "x": rng.standard_normal((s, d, k)),
        "mu": rng.standard_normal((d, k)),
        "log_sigma": rng.uniform(-1, 1, (d, k)),
    }


def kl(rng, size):
    """Return inputs of ``gaussian.kl``; at odd sizes they are biases."""
    _, shape = _parameters(rng, size)
    return {
        "mu": rng.standard_normal(shape),
        "log_sigma": rng.uniform(-1, 1, shape),
        "prior_mu": rng.standard_normal(shape),
        "prior_log_sigma": rng.uniform(-1, 1, shape),
    }


def sample_by_variance(rng, size):
    """Return inputs of ``sample_by_variance``."""
    inputs = sample(rng, size)
    inputs["log_variance"] = inputs.pop("log_sigma")
    return inputs
