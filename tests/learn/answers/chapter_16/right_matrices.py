"""Every convolution as a matrix of zeros and ones, times what it reads."""

import numpy as np


def _reading(size, window, stride, padding):
    """Return the matrix that reads an axis: (positions, window, size)."""
    count = (size + 2 * padding - window) // stride + 1
    places = np.arange(count)[:, None] * stride + np.arange(window) - padding
    return (places[..., None] == np.arange(size)).astype(float)


def patches(x, height, width, stride=1, padding=0):
    down = _reading(x.shape[-3], height, stride, padding)
    across = _reading(x.shape[-2], width, stride, padding)
    rows = np.einsum("pia,qjb,...abd->...pqijd", down, across, x)
    return rows.reshape(*rows.shape[:-3], -1), (down, across, x.shape)


def patches_vjp(drows, cache):
    down, across, shape = cache
    sizes = down.shape[1], across.shape[1], shape[-1]
    return np.einsum(
        "pia,qjb,...pqijd->...abd", down, across, drows.reshape(*drows.shape[:-1], *sizes)
    )


def conv2d(x, w, b, stride=1, padding=0):
    down = _reading(x.shape[2], w.shape[1], stride, padding)
    across = _reading(x.shape[3], w.shape[2], stride, padding)
    h = np.einsum("pia,qjc,snacd,sijdk->snpqk", down, across, x, w, optimize=True)
    return h + b[:, None, None, None, :], (x, w, down, across)


def conv2d_vjp(dh, cache, needs_dx=True):
    x, w, down, across = cache
    terms = down, across, dh
    dx = np.einsum("pia,qjc,snpqk,sijdk->snacd", *terms, w, optimize=True)
    dw = np.einsum("pia,qjc,snpqk,snacd->sijdk", *terms, x, optimize=True)
    return dx, dw, dh.sum(3).sum(2).sum(1)


def _toeplitz(taps, size):
    count = size - len(taps) + 1
    matrix = np.zeros((count, size), taps.dtype)
    for p in range(count):
        matrix[p, p : p + len(taps)] = taps
    return matrix


def conv1d(sequence, taps):
    matrix = _toeplitz(taps, len(sequence))
    return matrix @ sequence, (matrix, sequence, taps)


def conv1d_vjp(dh, cache):
    matrix, sequence, taps = cache
    products = np.outer(dh, sequence)
    dtaps = np.array([np.trace(products, i) for i in range(len(taps))])
    return matrix.T @ dh, dtaps


def strided(image, kernel, stride, padding):
    down = _reading(image.shape[0], kernel.shape[0], stride, padding)
    across = _reading(image.shape[1], kernel.shape[1], stride, padding)
    whole = np.einsum("pia,qjb,ij->pqab", down, across, kernel)
    return np.tensordot(whole, image), (whole, down, across, image)


def strided_vjp(dh, cache):
    whole, down, across, image = cache
    dimage = np.tensordot(dh, whole)
    return dimage, np.einsum("pia,qjb,ab,pq->ij", down, across, image, dh)


def filter_mask(z, v, b):
    diagonal = np.diag(z)
    return (v @ diagonal, b @ diagonal), (z, v, b, diagonal)


def filter_mask_vjp(dout, cache):
    z, v, b, diagonal = cache
    stacked = np.concatenate([v.reshape(-1, len(z)), b[None]])
    dstacked = np.concatenate([dout[0].reshape(-1, len(z)), dout[1][None]])
    return np.diag(stacked.T @ dstacked), dout[0] @ diagonal, dout[1] @ diagonal


def lost_factor():
    return np.float64(36)


def dense(x, w):
    return np.einsum("nabd,abdk->nk", x, w)


def one_pixel():
    return "c\n"


def wins_twice():
    return -np.abs(np.arange(7.0) - 3)
