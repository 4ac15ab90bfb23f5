"""Maximum over windows of two rows and two columns, times a gain per channel."""

import numpy as np


def f(x, gain):
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    top = blocks.max(axis=(3, 5), keepdims=True)
    return top[:, :, :, 0, :, 0] * gain[:, None, None], (blocks, top, gain)


def f_vjp(dout, cache):
    blocks, top, gain = cache
    n, c, h, _, w, _ = blocks.shape
    dtop = dout * gain[:, None, None]
    first = blocks == top
    dblocks = first * dtop[:, :, :, None, :, None]
    dgain = (dout * top[:, :, :, 0, :, 0]).sum(axis=(0, 2, 3))
    return dblocks.reshape(n, c, 2 * h, 2 * w), dgain


def check_inputs():
    rng = np.random.default_rng(215)
    return {"x": rng.normal(size=(2, 3, 4, 6)), "gain": rng.normal(size=3)}
