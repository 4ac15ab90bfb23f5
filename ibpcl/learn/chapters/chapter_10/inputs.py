"""Inputs of the functions of chapter 10."""

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


def entropy(rng, size):
    """Return inputs of ``entropy``."""
    n, c = _sizes(rng, size, 2)
    return {"logits": rng.standard_normal((n, c + 1))}


def shared_share(rng, size):
    """Return inputs of ``shared_share``."""
    t, d, k = _sizes(rng, size)
    mask = rng.random((d + 4, k + 3)) < 0.6
    mask[0, 0] = True
    return {"earlier": rng.random((t, d + 4, k + 3)) < 0.3, "mask": mask}


def accepted_strangers(rng, size):
    """Return inputs of ``accepted_strangers``: some strangers are at or next to the threshold."""
    n, m = _sizes(rng, size, 2)
    known = rng.exponential(size=41 if n % 2 else 40 + n)
    strangers = 1.5 * rng.exponential(size=60 + m)
    threshold = np.quantile(known, 0.95)  # of 41 numbers it is one of them
    above = np.min(known[known > threshold])
    strangers[:3] = threshold if n % 2 else (threshold + above) / 2
    return {"known": known, "strangers": strangers}
