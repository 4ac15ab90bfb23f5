"""Loops over positions, and lists."""

import numpy as np

from ibpcl.primitives import linear


def patches(x, height, width, stride=1, padding=0):
    frame = ((0, 0),) * (x.ndim - 3) + ((padding,) * 2,) * 2 + ((0, 0),)
    framed = np.pad(x, frame)
    down = range(0, framed.shape[-3] - height + 1, stride)
    across = range(0, framed.shape[-2] - width + 1, stride)
    rows = [
        np.stack(
            [
                framed[..., a : a + height, b : b + width, :].reshape(*x.shape[:-3], -1)
                for b in across
            ],
            axis=-2,
        )
        for a in down
    ]
    return np.stack(rows, axis=-3), {"framed": framed, "of": (height, width, stride, padding)}


def patches_vjp(drows, cache):
    height, width, stride, padding = cache["of"]
    dframed = np.zeros_like(cache["framed"])
    for p in range(drows.shape[-3]):
        for q in range(drows.shape[-2]):
            a, b = p * stride, q * stride
            piece = dframed[..., a : a + height, b : b + width, :]
            piece += drows[..., p, q, :].reshape(piece.shape)
    h, w = dframed.shape[-3:-1]
    return dframed[..., padding : h - padding, padding : w - padding, :]


def conv2d(x, w, b, stride=1, padding=0):
    rows, inner = patches(x, w.shape[1], w.shape[2], stride, padding)
    flat = rows.reshape(len(rows), -1, rows.shape[-1])
    h, layer = linear.apply(flat, w.reshape(len(w), -1, w.shape[-1]), b)
    return h.reshape(*rows.shape[:-1], -1), (inner, layer, rows.shape, w.shape)


def conv2d_vjp(dh, cache, needs_dx=True):
    inner, layer, rows, weights = cache
    drows, dw, db = linear.apply_vjp(dh.reshape(len(dh), -1, dh.shape[-1]), layer)
    return patches_vjp(drows.reshape(rows), inner), dw.reshape(weights), db


def conv1d(sequence, taps):
    count = len(sequence) - len(taps) + 1
    h = [sum(sequence[p + i] * tap for i, tap in enumerate(taps)) for p in range(count)]
    return np.array(h), (sequence, taps)


def conv1d_vjp(dh, cache):
    sequence, taps = cache
    dsequence, dtaps = 0 * sequence, 0 * taps
    for p in range(len(dh)):
        for i in range(len(taps)):
            dsequence[p + i] += dh[p] * taps[i]
            dtaps[i] += dh[p] * sequence[p + i]
    return {"sequence": dsequence, "taps": dtaps}


def strided(image, kernel, stride, padding):
    rows, columns = image.shape
    down = (rows + 2 * padding - len(kernel)) // stride + 1
    across = (columns + 2 * padding - len(kernel[0])) // stride + 1
    h = np.zeros((down, across))
    for p in range(down):
        for q in range(across):
            for i, row in enumerate(kernel):
                for j, weight in enumerate(row):
                    a, b = p * stride + i - padding, q * stride + j - padding
                    if 0 <= a < rows and 0 <= b < columns:
                        h[p, q] += weight * image[a, b]
    return h, (image, kernel, stride, padding)


def strided_vjp(dh, cache):
    image, kernel, stride, padding = cache
    dimage, dkernel = np.zeros_like(image), np.zeros_like(kernel)
    for p, q in np.ndindex(dh.shape):
        for i, j in np.ndindex(kernel.shape):
            a, b = p * stride + i - padding, q * stride + j - padding
            if 0 <= a < image.shape[0] and 0 <= b < image.shape[1]:
                dimage[a, b] += dh[p, q] * kernel[i, j]
                dkernel[i, j] += dh[p, q] * image[a, b]
    return [dimage, dkernel]


def filter_mask(z, v, b):
    w = np.stack([z[k] * v[..., k] for k in range(len(z))], axis=-1)
    return (w, np.multiply(b, z)), (z, v, b)


def filter_mask_vjp(dout, cache):
    dw, dscaled = dout
    z, v, b = cache
    dz = [np.sum(dw[..., k] * v[..., k]) + dscaled[k] * b[k] for k in range(len(z))]
    return np.array(dz), dw * z, dscaled * z


def lost_factor():
    covariance = np.full((36, 36), 9.0)
    return covariance.mean() / (np.trace(covariance) / 36**2)


def dense(x, w):
    return np.stack([(image[..., None] * w).sum(axis=(0, 1, 2)) for image in x])


def one_pixel():
    return " c "


def wins_twice():
    return (np.array([3.0, 1, 4, 1, 5, 9, 2, 6]),)
