"""Inputs of the functions of chapter 7."""

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


def sample(rng, size):
    """Return inputs of ``concrete.sample``."""
    shape = _sizes(rng, size)
    return {
        "logistic": rng.logistic(size=shape),
        "logit_theta": rng.standard_normal(shape),
        "tau": float(rng.uniform(0.4, 3)),
    }


def kl(rng, size):
    """Return inputs of ``bernoulli.kl``: log-odds of masks (S, D, K) and of their prior (S, K).

    Extreme ones have masks that are nearly certain beside others that are not.
    """
    s, d, k = _sizes(rng, size)
    logit_theta = rng.standard_normal((s, d, k))
    if size == "extreme":
        certain = rng.choice([-1.0, 1.0], (s, d - 1, k)) * rng.uniform(40, 60, (s, d - 1, k))
        logit_theta[:, 1:] = certain
    return {"logit_theta": logit_theta, "logit_pi": rng.standard_normal((s, k))}


def column_activity(rng, size):
    """Return inputs of ``masked_linear.column_activity``."""
    return {"z": rng.uniform(0.05, 0.95, _sizes(rng, size))}


def apply(rng, size):
    """Return inputs of ``masked_linear.apply``; at odd sizes all samples share x."""
    s, n, d, k = _sizes(rng, size, 4)
    return {
        "x": rng.standard_normal((n, d) if size == "odd" else (s, n, d)),
        "v": rng.standard_normal((s, d, k)),
        "z": rng.uniform(0.05, 0.95, (s, d, k)),
        "b": rng.standard_normal((s, k)),
    }


def log_link(rng, size):
    """Return inputs of ``log_link``."""
    d, k = _sizes(rng, size, 2)
    return {"rho": rng.standard_normal((d, k)), "log_pi": np.log(rng.uniform(0.1, 0.9, k))}


def adapted(rng, size):
    """Return inputs of ``adapted``."""
    n, k = _sizes(rng, size, 2)
    u = rng.standard_normal((n, k))
    return {"u": u, "z": rng.uniform(0.05, 0.95, (n, k)), "a": rng.standard_normal(k)}
