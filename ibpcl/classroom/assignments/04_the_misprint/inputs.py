"""Inputs of the tasks: shape parameters of the sticks of K units, and the prior's concentration."""

import numpy as np


def kl_to_beta(rng, size):
    """Return inputs of ``kl_to_beta``; extreme ones are nearly equal, far apart, or in float32."""
    k = {"small": int(rng.integers(3, 6)), "odd": 1, "large": 256}.get(size, 4)
    inputs = {
        "a": rng.uniform(0.5, 4, k),
        "b": rng.uniform(0.5, 4, k),
        "alpha": np.array(rng.uniform(0.5, 4)),
    }
    if size != "extreme":
        return inputs
    case = rng.integers(3)
    if case == 0:  # in every form they are equal at a = b = alpha = 1
        near = 3e-6 * rng.choice([-1.0, 1.0], (2, k)) * rng.uniform(1, 2, (2, k))
        return {"a": 1 + near[0], "b": 1 + near[1], "alpha": np.array(1.0)}
    if case == 1:
        a, b = 10 ** (rng.choice([-1.0, 1.0], (2, k)) * rng.uniform(4, 6, (2, k)))
        return {**inputs, "a": a, "b": b}
    return {name: value.astype(np.float32) for name, value in inputs.items()}


def mean_log_rest(rng, size):
    """Return inputs of ``mean_log_rest``."""
    k = {"odd": 1, "large": 16}.get(size, 3)
    return {"a": rng.uniform(0.5, 2, k), "b": rng.uniform(0.5, 2, k)}


def kl_by_quadrature(rng, size):
    """Return inputs of ``kl_by_quadrature``, all away from 1."""
    k = 1 if size == "odd" else 3
    a, b = np.where(
        rng.random((2, k)) < 0.5, rng.uniform(0.6, 0.9, (2, k)), rng.uniform(1.2, 2, (2, k))
    )
    return {"a": a, "b": b, "alpha": np.array(rng.uniform(1.2, 2.5))}
