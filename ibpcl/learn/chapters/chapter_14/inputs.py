"""Inputs of the functions of chapter 14."""

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


def accuracy_matrix(rng, size):
    """Return an accuracy matrix of at least three tasks, zero above the diagonal."""
    (t,) = _sizes(rng, size, 1)
    return {"R": np.tril(rng.uniform(0.3, 1, (t + 2, t + 2)))}


def paired_difference(rng, size):
    """Return accuracies of two methods at the same seeds, of which some are hard for both."""
    (n,) = _sizes(rng, size, 1)
    hard = rng.uniform(0.3, 0.8, n + 2)
    one = hard + rng.uniform(0, 0.2, n + 2)
    return {"one": one, "other": hard + rng.uniform(0, 0.1, n + 2)}


def predicted_rise(rng, size):
    """Return inputs of ``predicted_rise``."""
    (n,) = _sizes(rng, size, 1)
    mu, old_mu = rng.standard_normal((2, n + 2))
    log_sigma, old_log_sigma = rng.uniform(-1, 1, (2, n + 2))
    return {"mu": mu, "log_sigma": log_sigma, "old_mu": old_mu, "old_log_sigma": old_log_sigma}
