"""Inputs of the functions of chapter 5."""

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


def log_probabilities(rng, size):
    """Return inputs of ``stick_breaking.log_probabilities``; extreme products are 0 as numbers."""
    scale = 500.0 if size == "extreme" else 1.0
    return {"log_v": -scale * rng.exponential(size=_sizes(rng, size, 2))}


def weights_of_a_row(rng, size):
    """Return inputs of ``weights_of_a_row``: concentrations at which 200 units are few."""
    return {"alpha": rng.uniform(50, 400, _sizes(rng, size, 1)[0] + 2)}
