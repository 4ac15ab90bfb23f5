"""Inputs of the functions of chapter 16."""

import numpy as np


def _sizes(rng, size, count=3):
    """Return sizes of axes, all different unless ``size`` is "odd".

    None is 2: a mean over two is a half, too.
    """
    if size == "large":
        return tuple(4 + at for at in range(count))
    sizes = rng.permutation(np.arange(3, 3 + count)) + rng.integers(2)
    if size == "odd":
        sizes[rng.integers(count)] = 1
    return tuple(int(n) for n in sizes)


def _image(rng):
    """Return rows and columns of an image and of a kernel, and the kernel's steps."""
    height, width = (int(each) for each in rng.permutation([5, 6]))
    rows, columns = (int(each) for each in rng.permutation([2, 3]))
    return height, width, rows, columns, {"stride": 2, "padding": int(rng.integers(1, 3))}


def patches(rng, size):
    """Return inputs of ``convolution.patches``; odd images have no frame, and all samples one."""
    s, n, d = _sizes(rng, size)
    height, width, rows, columns, steps = _image(rng)
    steps["padding"] *= size != "odd"
    leading = (n,) if size == "odd" else (s, n)
    x = rng.standard_normal((*leading, height, width, d))
    return {"x": x, "height": rows, "width": columns, **steps}


def conv2d(rng, size):
    """Return inputs of ``convolution.conv2d``: x (S, N, H, W, D), w (S, I, J, D, K), b (S, K)."""
    s, n, d, k = _sizes(rng, size, 4)
    height, width, rows, columns, steps = _image(rng)
    return {
        "x": rng.standard_normal((s, n, height, width, d)),
        "w": rng.standard_normal((s, rows, columns, d, k)),
        "b": rng.standard_normal((s, k)),
        **steps,
    }


def conv1d(rng, size):
    """Return inputs of ``conv1d``."""
    (count,) = _sizes(rng, size, 1)
    return {
        "sequence": rng.standard_normal(count + 5),
        "taps": rng.standard_normal(1 if size == "odd" else count),
    }


def strided(rng, size):
    """Return inputs of ``strided``; odd ones have no frame."""
    height, width, rows, columns, steps = _image(rng)
    if size == "odd":
        rows = 1
        columns = 2
        steps["padding"] = 0
    return {
        "image": rng.standard_normal((height, width)),
        "kernel": rng.standard_normal((rows, columns)),
        **steps,
    }


def filter_mask(rng, size):
    """Return inputs of ``filter_mask``."""
    rows, columns, d, k = _sizes(rng, size, 4)
    return {
        "z": rng.uniform(0.05, 0.95, k),
        "v": rng.standard_normal((rows, columns, d, k)),
        "b": rng.standard_normal(k),
    }


def dense(rng, size):
    """Return inputs of ``dense``."""
    n, height, width, d, k = _sizes(rng, size, 5)
    return {
        "x": rng.standard_normal((n, height, width, d)),
        "w": rng.standard_normal((height, width, d, k)),
    }
