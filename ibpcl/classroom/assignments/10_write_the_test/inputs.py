"""Inputs at which the judge compares wrong gradients with right ones."""

import numpy as np

SIZES = {"small": (4, 3, 2), "large": (7, 5, 4)}


def linear(rng, size):
    """Inputs and weights of a product."""
    n, d, k = SIZES[size]
    return {"x": rng.normal(size=(n, d)), "w": rng.normal(size=(d, k))}


def standardize(rng, size):
    """A batch whose columns have different scales."""
    n, d, _ = SIZES[size]
    return {"x": rng.normal(size=(n, d)) * np.linspace(0.5, 2, d)}


def cross_entropy(rng, size):
    """Scores and labels."""
    n, d, _ = SIZES[size]
    return {"scores": rng.normal(size=(n, d)), "labels": rng.integers(0, d, n)}


def unknown(rng, size):
    """One array."""
    n, d, _ = SIZES[size]
    return {"x": rng.normal(size=(n, d))}
