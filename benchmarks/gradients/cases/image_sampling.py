"""Bilinear sampling of an image at rows r and columns c (in pixels)."""

import numpy as np


def f(image, r, c):
    i, j = np.floor(r.real).astype(int), np.floor(c.real).astype(int)
    u, v = r - i, c - j
    top = (1 - v) * image[i, j] + v * image[i, j + 1]
    bottom = (1 - v) * image[i + 1, j] + v * image[i + 1, j + 1]
    return (1 - u) * top + u * bottom, (image, i, j, u, v, top, bottom)


def f_vjp(dout, cache):
    image, i, j, u, v, top, bottom = cache
    dtop, dbottom = (1 - u) * dout, u * dout
    dimage = np.zeros_like(image)
    np.add.at(dimage, (i, j), (1 - v) * dtop)
    np.add.at(dimage, (i, j + 1), v * dtop)
    np.add.at(dimage, (i + 1, j), (1 - v) * dbottom)
    np.add.at(dimage, (i + 1, j + 1), v * dbottom)
    dr = dout * (bottom - top)
    dc = dtop * (image[i, j + 1] - image[i, j]) + dbottom * (image[i + 1, j + 1] - image[i + 1, j])
    return dimage, dr, dc


def check_inputs():
    rng = np.random.default_rng(54)
    return {
        "image": rng.normal(size=(4, 5)),
        "r": np.array([0.2, 1.7, 2.4, 1.6, 1.1]),
        "c": np.array([3.3, 2.8, 0.6, 2.25, 2.6]),
    }
