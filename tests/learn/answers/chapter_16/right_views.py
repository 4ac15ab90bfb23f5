"""Windows as views, sums by einsum."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def _framed(x, padding):
    shape = (*x.shape[:-3], x.shape[-3] + 2 * padding, x.shape[-2] + 2 * padding, x.shape[-1])
    out = np.zeros(shape, x.dtype)
    out[..., padding : padding + x.shape[-3], padding : padding + x.shape[-2], :] = x
    return out


def patches(x, height, width, stride=1, padding=0):
    views = sliding_window_view(_framed(x, padding), (height, width), axis=(-3, -2))
    views = np.swapaxes(np.swapaxes(views[..., ::stride, ::stride, :, :, :], -3, -2), -2, -1)
    return views.reshape(*views.shape[:-3], -1), (x.shape, height, width, stride, padding)


def patches_vjp(drows, cache):
    shape, height, width, stride, padding = cache
    numbers = _framed(np.arange(np.prod(shape)).reshape(shape) + 1, padding)
    places, _ = patches(numbers, height, width, stride, 0)
    return np.bincount(places.ravel(), drows.ravel(), 1 + np.prod(shape))[1:].reshape(shape)


def conv2d(x, w, b, stride=1, padding=0):
    rows, cache = patches(x, w.shape[1], w.shape[2], stride, padding)
    kernels = w.reshape(len(w), -1, w.shape[-1])
    h = np.einsum("snpqr,srk->snpqk", rows, kernels) + b[:, None, None, None]
    return h, (rows, cache, w)


def conv2d_vjp(dh, cache, needs_dx=True):
    rows, inner, w = cache
    kernels = w.reshape(len(w), -1, w.shape[-1])
    dx = patches_vjp(np.einsum("snpqk,srk->snpqr", dh, kernels), inner) if needs_dx else None
    dw = np.einsum("snpqr,snpqk->srk", rows, dh)
    return dx, dw.reshape(w.shape), np.einsum("snpqk->sk", dh)


def conv1d(sequence, taps):
    windows = sliding_window_view(sequence, len(taps))
    return windows @ taps, (windows, taps, len(sequence))


def conv1d_vjp(dh, cache):
    windows, taps, size = cache
    dsequence = np.zeros(size)
    for i, tap in enumerate(taps):
        dsequence[i : i + len(dh)] += tap * dh
    return dsequence, dh @ windows


def strided(image, kernel, stride, padding):
    framed = np.pad(image, padding)
    windows = sliding_window_view(framed, kernel.shape)[::stride, ::stride]
    return np.einsum("pqij,ij->pq", windows, kernel), (windows, framed, kernel, stride, padding)


def strided_vjp(dh, cache):
    windows, framed, kernel, stride, padding = cache
    dframed = np.zeros(framed.shape)
    for (i, j), weight in np.ndenumerate(kernel):
        rows = i + stride * np.arange(dh.shape[0])
        columns = j + stride * np.arange(dh.shape[1])
        dframed[np.ix_(rows, columns)] += weight * dh
    inside = slice(padding, -padding or None)
    return dframed[inside, inside], np.einsum("pqij,pq->ij", windows, dh)


def filter_mask(z, v, b):
    return (np.einsum("ijdk,k->ijdk", v, z), b * z), (z, v, b)


def filter_mask_vjp(dout, cache):
    (dw, dscaled), (z, v, b) = dout, cache
    dz = np.einsum("ijdk,ijdk->k", v, dw) + dscaled * b
    return dz, np.einsum("ijdk,k->ijdk", dw, z), dscaled * z


def lost_factor():
    return (8 - 3 + 1) ** 2


def dense(x, w):
    return np.tensordot(x, w, axes=3)


def one_pixel():
    return "C"


def wins_twice():
    return np.array([0, 0.5, 9.0, -1, -2])
