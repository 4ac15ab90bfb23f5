"""Inputs of the functions of chapter 3."""

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


def smooth_abs(rng, size):
    """Return inputs of ``smooth_abs``; extreme ones are those of the complex step, also at 0."""
    (n,) = _sizes(rng, size, 1)
    x = rng.standard_normal(n + 2)
    if size == "extreme":
        x[0] = 0
        x = x + 1e-20j * rng.standard_normal(n + 2)
    return {"x": x, "delta": float(rng.uniform(0.3, 0.9))}


def softplus(rng, size):
    """Return inputs of ``activations.softplus``; extreme ones overflow in an exponential."""
    if size == "extreme":
        shape = _sizes(rng, size)
        return {"x": rng.choice([-1.0, 1.0], shape) * rng.uniform(800, 2000, shape)}
    return {"x": 3 * rng.standard_normal(_sizes(rng, size))}
