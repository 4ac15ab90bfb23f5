"""Fingerprints of arrays, and parameters that depend only on names, not on their order."""

from zlib import crc32

import numpy as np

# Mean and spread of the parameters whose name ends so.
DOMAINS = {
    "log_sigma": (-1.0, 0.3),
    "mu": (0.0, 0.5),
    "rho": (0.3, 0.7),
    "raw_a": (2.0, 0.3),
    "raw_b": (0.5, 0.3),
    "raw_shape": (3.0, 0.2),
    "raw_scale": (2.0, 0.2),
    "embedding": (0.0, 1.0),
}


def rng(name):
    return np.random.default_rng(crc32(name.encode()))


def values(name, shape, dtype=np.float64):
    """Return parameters of a name: always the same."""
    mean, spread = DOMAINS[name.rsplit(".", 1)[-1]]
    return (mean + spread * rng(name).standard_normal(shape)).astype(dtype)


def fingerprint(name, array):
    """Return the Euclidean norm of an array and its product with a direction that its name
    draws.
    """
    array = np.asarray(array, float)
    return [
        float(np.linalg.norm(array)),
        float((array * rng(f"direction {name}").standard_normal(array.shape)).sum()),
    ]


def gap(found, stored, scale=None):
    """Return the largest difference between two fingerprints of an array, relative to its norm or
    to a scale.
    """
    found = np.array(found)
    stored = np.array(stored)
    return float(np.abs(found - stored).max() / max(stored[0] if scale is None else scale, 1e-12))
