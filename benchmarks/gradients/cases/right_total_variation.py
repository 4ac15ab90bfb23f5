"""Total variation of an image plus its mean absolute value, with np.abs."""

import numpy as np


def f(image):
    rows = image[1:] - image[:-1]
    cols = image[:, 1:] - image[:, :-1]
    return np.abs(rows).sum() + np.abs(cols).sum() + np.mean(np.abs(image)), (image, rows, cols)


def f_vjp(dout, cache):
    image, rows, cols = cache
    g = np.sign(image) / image.size
    g[1:] += np.sign(rows)
    g[:-1] -= np.sign(rows)
    g[:, 1:] += np.sign(cols)
    g[:, :-1] -= np.sign(cols)
    return dout * g


def check_inputs():
    rng = np.random.default_rng(118)
    return {"image": rng.normal(size=(4, 5))}
