"""Tests along random directions, from the same outputs of the forward."""

import numpy as np


def slopes(dout, above, below, h):
    return np.tensordot(above - below, dout, axes=dout.ndim) / (2 * h)


def relative_error(claimed, slopes):
    return np.max(np.abs(claimed / np.abs(slopes).max() - slopes / np.abs(slopes).max()))


def seen_by_another_cotangent():
    return np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]), np.eye(3)[:, :2]


def seen_by_more_rows():
    return np.diag([1.0, 2.0, 3.0])


def scale_shift(x, gain, shift):
    return x * gain + shift, (x, gain)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return p, (p,)


H = 1e-5


def along(f, inputs, dout, claimed, count=40):
    """Whether gradients agree with slopes in random directions."""
    if any(np.shape(g) != np.shape(v) for g, v in zip(claimed, inputs, strict=True)):
        return False
    rng = np.random.default_rng(0)
    for _ in range(count):
        way = [rng.normal(size=np.shape(v)) for v in inputs]
        up = f(*(v + H * d for v, d in zip(inputs, way, strict=True)))[0]
        down = f(*(v - H * d for v, d in zip(inputs, way, strict=True)))[0]
        slope = np.sum(dout * (up - down)) / (2 * H)
        said = sum(np.sum(g * d) for g, d in zip(claimed, way, strict=True))
        if abs(slope - said) > 1e-6 * (1 + abs(slope)):
            return False
    return True


def points_scale_shift():
    rng = np.random.default_rng(8)
    x, dout = rng.normal(size=(2, 6, 2))
    return [(x, rng.normal(size=2), rng.normal(size=2), dout)]


def accepts_scale_shift(x, gain, shift, dout, dx, dgain, dshift):
    return along(scale_shift, (x, gain, shift), dout, (dx, dgain, dshift))


def points_softmax():
    rng = np.random.default_rng(9)
    return [tuple(rng.normal(size=(2, 4, 3)))]


def accepts_softmax(x, dout, dx):
    return along(softmax, (x,), dout, (dx,))


def least_error():
    return 3.8


def same_formula():
    return "b"


def full_score():
    return "b"
