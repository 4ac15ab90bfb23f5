"""Inputs of the tasks: N images of H by W pixels, D channels in, K filters of I by J weights."""

import numpy as np


def _single(inputs):
    """Return inputs in single precision; whole numbers stay what they are."""
    return {
        name: value.astype(np.float32) if isinstance(value, np.ndarray) else value
        for name, value in inputs.items()
    }


def _sizes(rng, size):
    """Return N, H, W, D, I, J and K; axes beside each other have different sizes.

    Large inputs have many examples and few positions of the kernel.  So a loop over positions that
    calls a helper each time is not taken for numerical differentiation.
    """
    if size == "large":
        return 128, 8, 7, 8, 3, 2, 16
    n, d, k = (int(each) for each in rng.permutation([2, 3, 4]))
    height, width = (int(each) for each in rng.permutation([5, 6]))
    rows, columns = (int(each) for each in rng.permutation([2, 3]))
    if size == "odd":
        sizes = [n, height, width, d, rows, columns, k]
        for at in rng.choice([0, 3, 4, 5, 6], 2, replace=False):
            sizes[at] = 1
        return tuple(sizes)
    return n, height, width, d, rows, columns, k


def _steps(rng, size):
    """Return stride and padding; at the usual size a mistake in either of them shows."""
    if size == "odd":
        return {"stride": int(rng.integers(1, 3)), "padding": int(rng.integers(0, 2))}
    return {"stride": 2, "padding": int(rng.integers(1, 3))}


def conv2d(rng, size):
    """Return inputs of ``conv2d``."""
    n, height, width, d, rows, columns, k = _sizes(rng, size)
    return {
        "x": rng.standard_normal((n, height, width, d)),
        "w": rng.standard_normal((rows, columns, d, k)),
        "bias": rng.standard_normal(k),
        **_steps(rng, size),
    }


def pool2d(rng, size):
    """Return inputs of ``pool2d``; extreme ones have numbers whose squares overflow, or float32."""
    n, height, width, _, _, _, k = _sizes(rng, size)
    x = rng.standard_normal((n, height, width, k))
    scale = rng.uniform(0.5, 2, k) * rng.choice([-1, 1], k)
    inputs = {"x": x, "scale": scale, "window": int(rng.integers(2, 4))}
    if size != "extreme":
        return inputs
    single = rng.random() < 0.5
    inputs["x"] = x * 10 ** rng.uniform(*((2, 30) if single else (4, 200)))
    return _single(inputs) if single else inputs


def masked_conv2d(rng, size):
    """Return inputs of ``masked_conv2d``; extreme ones have binary masks, of either precision."""
    n, height, width, d, rows, columns, k = _sizes(rng, size)
    inputs = {
        "x": rng.standard_normal((n, height, width, d)),
        "v": rng.standard_normal((rows, columns, d, k)),
        "z": rng.uniform(0.05, 0.95, (d, k)),
        "bias": rng.standard_normal(k),
        **_steps(rng, size),
    }
    if size != "extreme":
        return inputs
    # One mask of a filter is on; with two on, the largest mask would have no gradient.
    on = np.arange(d)[:, None] == rng.integers(d, size=k)
    inputs["z"] = np.where(on, 1.0, np.where(rng.random((d, k)) < 0.5, 0.0, 1e-9))
    inputs["x"] *= 1e4
    return _single(inputs) if rng.random() < 0.5 else inputs


def convolution_matrix(rng, size):
    """Return inputs of ``convolution_matrix``."""
    _, height, width, d, rows, columns, k = _sizes(rng, size)
    w = rng.standard_normal((rows, columns, d, k))
    return {"w": w, "height": height, "width": width, **_steps(rng, size)}


def slope_in_kernel(rng, size):
    """Return inputs of ``slope_in_kernel``."""
    n, height, width, d, rows, columns, _ = _sizes(rng, size)
    x = rng.standard_normal((n, height, width, d))
    return {"x": x, "rows": rows, "columns": columns, **_steps(rng, size)}
