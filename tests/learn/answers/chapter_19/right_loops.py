"""Loops over entries, several points, and a looser tolerance."""

import math

import numpy as np


def slopes(dout, above, below, h):
    found = []
    for up, down in zip(above, below, strict=True):
        found.append(((up * dout).sum() - (down * dout).sum()) / (h + h))
    return np.array(found)


def relative_error(claimed, slopes):
    largest = 0.0
    for a, b in zip(claimed.ravel(), slopes.ravel(), strict=True):
        largest = max(largest, abs(a - b))
    return largest / max(abs(b) for b in slopes.ravel())


def seen_by_another_cotangent():
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, 2)), rng.normal(size=(5, 2))


def seen_by_more_rows():
    return ([[3.0, 4.0], [0.6, 0.8], [5.0, -12.0]],)


def scale_shift(x, gain, shift):
    return x * gain + shift, (x, gain)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return p, (p,)


def _slope(objective, value):
    result = np.zeros_like(value)
    for place in np.ndindex(value.shape):
        up, down = value.copy(), value.copy()
        up[place] += 1e-4
        down[place] -= 1e-4
        result[place] = (objective(up) - objective(down)) / 2e-4
    return result


def _close(a, b):
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-3, atol=1e-5)


def points_scale_shift():
    rng = np.random.default_rng(5)
    draw = rng.normal
    shapes = [(2, 3), (3, 2), (1, 4)]
    return [(draw(size=s), draw(size=s[1]), draw(size=s[1]), draw(size=s)) for s in shapes]


def accepts_scale_shift(x, gain, shift, dout, dx, dgain, dshift):
    if not _close(_slope(lambda v: (scale_shift(v, gain, shift)[0] * dout).sum(), x), dx):
        return False
    if not _close(_slope(lambda v: (scale_shift(x, v, shift)[0] * dout).sum(), gain), dgain):
        return False
    return _close(_slope(lambda v: (scale_shift(x, gain, v)[0] * dout).sum(), shift), dshift)


def points_softmax():
    rng = np.random.default_rng(6)
    return [(2 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))) for n in (1, 2, 5)]


def accepts_softmax(x, dout, dx):
    return _close(_slope(lambda v: (softmax(v)[0] * dout).sum(), x), dx)


def least_error():
    steps = [10 ** (-k / 100) for k in range(100, 1500)]
    return 1e11 * min(h * h / 6 + 2.2e-16 / h for h in steps)


def same_formula():
    return " B "


def full_score():
    return "b" * math.floor(1.5)
