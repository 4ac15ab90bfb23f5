"""Inputs of the tasks: a layer with D inputs, K units (or C classes), S samples, N examples."""

import numpy as np


def _sizes(rng, size):
    """Return S, N, D and K, all different where they are larger than one."""
    if size == "large":
        return 8, 64, 48, 24
    sizes = rng.permutation([2, 3, 4, 5])
    if size == "odd":
        sizes[rng.choice(3, 2, replace=False)] = 1
    return tuple(int(n) for n in sizes)


def masked_linear(rng, size):
    """Return inputs of ``masked_linear``; extreme ones have binary masks, of either precision."""
    s, n, d, k = _sizes(rng, size)
    inputs = {
        "x": rng.standard_normal((n, d)),
        "v": rng.standard_normal((s, d, k)),
        "z": rng.uniform(0.05, 0.95, (s, d, k)),
        "bias": rng.standard_normal(k),
    }
    if size == "extreme":
        # One weight of a unit is on, or none; with two on, the largest mask would have no gradient.
        first = np.arange(d)[:, None] == rng.integers(d, size=(s, 1, k))
        inputs["z"] = np.where(
            first, 1.0, np.where(rng.random((s, d, k)) < 0.5, 0.0, 1e-9 * rng.random((s, d, k)))
        )
        inputs["x"] *= 1e4
        if rng.random() < 0.5:
            inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
    return inputs


def categorical(rng, size):
    """Return inputs of ``categorical``; extreme ones have logits of ten thousand, or float32."""
    s, n, _, c = _sizes(rng, size)
    c = max(c, 2)
    logits = rng.standard_normal((s, n, c))
    labels = rng.integers(c, size=n)
    if size == "extreme":
        # The label is never the likeliest class: if it were, the gradient would be 1 - 1.
        logits[:, np.arange(n), labels] = logits.min() - 1
        single = rng.random() < 0.5
        logits = logits.astype(np.float32) * np.float32(1e2) if single else logits * 1e4
    return {"logits": logits, "labels": labels}


def log_likelihood(rng, size):
    """Return inputs of ``log_likelihood``."""
    s, n, d, c = _sizes(rng, size)
    c = max(c, 2)
    return {
        "x": rng.standard_normal((n, d)),
        "v": rng.standard_normal((s, d, c)),
        "z": rng.uniform(0.05, 0.95, (s, d, c)),
        "bias": rng.standard_normal(c),
        "labels": rng.integers(c, size=n),
    }


def label_frequencies(rng, size):
    """Return inputs of ``label_frequencies``."""
    s, n, c = (1, 2, 2) if size == "odd" else (2, 3, 4)
    return {"gumbel": rng.gumbel(size=(400, s, n, c)), "logits": rng.standard_normal((s, n, c))}
