"""Tests with the complex step, where the forward allows it."""

import numpy as np


def slopes(dout, above, below, h):
    axes = tuple(range(1, above.ndim))
    return np.sum((above - below) * dout, axis=axes) * 0.5 / h


def relative_error(claimed, slopes):
    scale = max(slopes.max(), -slopes.min())
    return np.linalg.norm((claimed - slopes).ravel() / scale, np.inf)


def seen_by_another_cotangent():
    return np.array([[0.0], [1.0], [5.0]]), np.array([[1.0], [-2.0], [0.5]])


def seen_by_more_rows():
    return (np.array([[1.0], [10.0]]),)


def scale_shift(x, gain, shift):
    return x * gain + shift, (x, gain)


def softmax(x):
    e = np.exp(x - x.real.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return p, (p,)


def imaginary(f, inputs, n, dout):
    value = inputs[n]
    result = np.zeros(value.shape)
    for place in np.ndindex(value.shape):
        moved = value.astype(complex)
        moved[place] += 1e-20j
        out = f(*inputs[:n], moved, *inputs[n + 1 :])[0]
        result[place] = np.sum(dout * out.imag) / 1e-20
    return result


def passes(f, inputs, dout, claimed):
    for n, each in enumerate(claimed):
        right = imaginary(f, inputs, n, dout)
        if right.shape != each.shape or np.abs(right - each).max() > 1e-9 * np.abs(right).max():
            return np.False_
    return np.True_


def points_scale_shift():
    x = np.arange(1.0, 7.0).reshape(3, 2) / 7
    return [[x, x[0] - 0.5, x[1] + 1, np.cos(x + np.arange(3.0)[:, None])]]


def accepts_scale_shift(x, gain, shift, dout, dx, dgain, dshift):
    return passes(scale_shift, (x, gain, shift), dout, (dx, dgain, dshift))


def points_softmax():
    x = np.sin(np.arange(8.0)).reshape(2, 4)
    return ((x, np.cos(3 * x)),)


def accepts_softmax(x, dout, dx):
    return passes(softmax, (x,), dout, (dx,))


def least_error():
    h = (3 * 2.2e-16) ** (1 / 3)
    return 0.5 * h**2 / 1e-11


def same_formula():
    return "b"


def full_score():
    return "B"
