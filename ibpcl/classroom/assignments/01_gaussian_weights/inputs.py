"""Inputs of the tasks: weights of a layer with D inputs and K units, S samples of them."""

import numpy as np


def _sizes(rng, size):
    """Return S, D and K, all different where they are larger than one."""
    if size == "large":
        return 64, 16, 12
    sizes = rng.permutation([2, 3, 4]) + rng.integers(2)
    if size == "odd":
        sizes[rng.integers(3)] = 1
        sizes[rng.integers(3)] = 1
    return tuple(int(n) for n in sizes)


def sample(rng, size):
    """Return inputs of ``sample``."""
    s, d, k = _sizes(rng, size)
    spread = 20.0 if size == "extreme" else 1.0
    return {
        "eps": rng.standard_normal((s, d, k)),
        "mu": rng.standard_normal((d, k)),
        "scale": spread * rng.uniform(-1, 1, k),
    }


def log_density(rng, size):
    """Return inputs of ``log_density``; extreme ones are far out, narrow or wide, or in float32."""
    s, d, k = _sizes(rng, size)
    mu = rng.standard_normal((d, k))
    scale = rng.uniform(-1, 1, k)
    if size != "extreme":
        return {"x": rng.standard_normal((s, d, k)), "mu": mu, "scale": scale}
    single = rng.random() < 0.5
    # Not all inverse squares of these fit, but the standardized values and the log densities do.
    scale = rng.choice([-1.0, 1.0], k) * rng.uniform(*((15, 20) if single else (300, 400)), k)
    narrow = scale < 0
    x = np.where(narrow, mu, mu + np.where(single, 1e3, 1e30) * rng.standard_normal((s, d, k)))
    inputs = {"x": x, "mu": mu, "scale": scale}
    return {name: value.astype(np.float32) for name, value in inputs.items()} if single else inputs


def kl(rng, size):
    """Return inputs of ``kl``; extreme ones are nearly equal, far apart, or in float32."""
    _, d, k = _sizes(rng, size)
    inputs = {
        "mu": rng.standard_normal((d, k)),
        "scale": rng.uniform(-1, 1, k),
        "prior_mu": rng.standard_normal(k),
        "prior_scale": np.array(rng.uniform(-1, 1)),
    }
    if size != "extreme":
        return inputs
    case = rng.integers(3)
    if case == 0:
        # All of one sign, so that no digits are lost in sums.
        near = 3e-6 * rng.choice([-1.0, 1.0]) * rng.uniform(1, 2, k)
        inputs.update(
            scale=inputs["prior_scale"] + near,
            mu=inputs["prior_mu"] + 1e-7 * rng.standard_normal((d, k)),
        )
    elif case == 1:
        inputs.update(scale=rng.uniform(-200, -100, k))
        inputs.update(prior_scale=np.array(rng.uniform(5, 8)))
    else:
        inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
    return inputs


def kl_by_quadrature(rng, size):
    """Return inputs of ``kl_by_quadrature``: few weights, neither narrow nor wide."""
    d, k = (1, 1) if size == "odd" else (2, 3)
    return {
        "mu": rng.standard_normal((d, k)),
        "scale": rng.uniform(-0.7, 0.7, k),
        "prior_mu": rng.standard_normal(k),
        "prior_scale": np.array(rng.uniform(-0.5, 0.5)),
    }
