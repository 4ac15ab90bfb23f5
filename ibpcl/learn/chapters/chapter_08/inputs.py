"""Inputs of the functions of chapter 8."""

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


def log_odds(rng, size):
    """Return inputs of ``sticks.log_odds``."""
    s, k = _sizes(rng, size, 2)
    raw_a, raw_b = rng.uniform(-0.5, 2, (2, k))
    return {"u": rng.uniform(0.1, 0.9, (s, k)), "raw_a": raw_a, "raw_b": raw_b}


def divergence(rng, size):
    """Return inputs of ``sticks.divergence``."""
    (k,) = _sizes(rng, size, 1)
    raw_a, raw_b = rng.uniform(-0.5, 2, (2, k + 1))
    return {"raw_a": raw_a, "raw_b": raw_b, "alpha": np.array(rng.uniform(1, 5))}


def sample(rng, size):
    """Return inputs of ``masked_weights.sample``."""
    s, d, k = _sizes(rng, size)
    return {
        "eps": rng.standard_normal((s, d, k)),
        "logistic": rng.logistic(size=(s, d, k)),
        "mu": rng.standard_normal((d, k)),
        "log_sigma": rng.uniform(-1, 0, (d, k)),
        "rho": rng.standard_normal((d, k)),
        "logit_pi": rng.standard_normal((s, k)),
        "tau": float(rng.uniform(0.5, 2)),
    }


def masked_moments(rng, size):
    """Return inputs of ``local_linear.masked_moments``; the last unit has no weight.

    At odd sizes no unit has one.
    """
    d, k = _sizes(rng, size, 2)
    k = k + 1
    mask = rng.random((d, k)) < 0.6
    mask[0, 0] = True
    mask[:, -1] = False
    if size == "odd":
        mask[:] = False
    return {
        "mu": rng.standard_normal((d, k)),
        "log_sigma": rng.uniform(-1, 1, (d, k)),
        "bias_mu": rng.standard_normal(k),
        "bias_log_sigma": rng.uniform(-1, 1, k),
        "mask": mask,
    }


def apply(rng, size):
    """Return inputs of ``local_linear.apply``; at odd sizes at least two samples share x.

    At extreme points the weights of some units are masked: they have no noise.
    """
    s, n, d, k = _sizes(rng, size, 4)
    shared = size == "odd"
    s = max(s, 2)
    on = rng.permutation(k) > 0 if size == "extreme" else np.ones(k, bool)
    return {
        "eps": rng.standard_normal((s, n, k)),
        "x": rng.standard_normal((n, d) if shared else (s, n, d)),
        "mu": rng.standard_normal((d, k)) * on,
        "sigma": rng.uniform(0.3, 2, (d, k)) * on,
        "bias_mu": rng.standard_normal(k) * on,
        "bias_sigma": rng.uniform(0.3, 2, k) * on,
    }
