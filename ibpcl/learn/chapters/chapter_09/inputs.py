"""Inputs of the functions of chapter 9."""

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


def temperature(rng, size):
    """Return inputs of ``temperature``."""
    (n,) = _sizes(rng, size, 1)
    start = float(rng.uniform(2, 10))
    return {"steps": n + 3, "start": start, "end": float(rng.uniform(0.1, 1))}


def adam_step(rng, size):
    """Return inputs of ``adam_step``; one gradient is so small that the 1e-8 counts."""
    (n,) = _sizes(rng, size, 1)
    w, gradient, m = rng.standard_normal((3, n + 2))
    s = rng.uniform(0.1, 1, n + 2)
    gradient[0] *= 1e-8
    m[0] *= 1e-8
    s[0] *= 1e-16
    step = int(rng.integers(1, 9))
    return {"w": w, "gradient": gradient, "m": m, "s": s, "step": step, "rate": 0.01}


def mask_probability(rng, size):
    """Return inputs of ``mask_probability``."""
    s, d, k = _sizes(rng, size)
    return {"rho": rng.standard_normal((d, k)), "logit_pi": rng.standard_normal((s, k))}


def next_prior(rng, size):
    """Return inputs of ``next_prior``."""
    d, k = _sizes(rng, size, 2)
    posterior, first = rng.standard_normal((2, d, k))
    return {"used": rng.random((d, k)) < 0.5, "posterior": posterior, "first": first}


def pull(rng, size):
    """Return inputs of ``pull``."""
    (n,) = _sizes(rng, size, 1)
    mu, mu_0 = rng.standard_normal((2, n + 1))
    return {"mu": mu, "mu_0": mu_0, "sigma_0": rng.uniform(0.3, 2, n + 1)}
