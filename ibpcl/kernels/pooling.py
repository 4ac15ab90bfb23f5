"""The largest number of each window: the compiled version of ``primitives.pooling.max_pool2d``.

A thread takes whole images.  For every window and channel, the forward pass keeps the distance from
the first pixel of the window to the largest one in the flat image, so the backward pass adds, and
searches nothing.
"""

from math import prod

import numpy as np
from numba import int32

from ibpcl.kernels.compilation import compiled, float32, int64, matrix, twin_of, void
from ibpcl.kernels.threads import JOB, run, taken
from ibpcl.primitives import convolution
from ibpcl.primitives import pooling as reference

images = float32[:, :, :, ::1]
distances = int32[:, :, :, ::1]


@compiled(void(JOB, images, int64, int64, images, distances))
def _largest(job, x, window, stride, h, steps):
    """Write the largest numbers of x (B, H, W, K) to h (B, H', W', K), and the distances."""
    units = x.shape[3]
    for n in taken(job):
        for p in range(h.shape[1]):
            for q in range(h.shape[2]):
                best = h[n, p, q]
                step = steps[n, p, q]
                best[:] = x[n, p * stride, q * stride]
                step[:] = 0
                for place in range(1, window * window):
                    i = place // window
                    j = place % window
                    pixel = x[n, p * stride + i, q * stride + j]
                    distance = np.int32((i * x.shape[2] + j) * units)
                    for k in range(units):
                        # the first NaN wins, as in NumPy
                        is_first_nan = pixel[k] != pixel[k] and best[k] == best[k]
                        wins = pixel[k] > best[k] or is_first_nan
                        step[k] = distance if wins else step[k]
                        best[k] = pixel[k] if wins else best[k]


@compiled(void(JOB, images, distances, int64, int64, matrix))
def _give_back(job, dh, steps, width, stride, dx):
    """Add the gradients to the largest pixels of dx (B, H W K), which are zero before."""
    units = dh.shape[3]
    for n in taken(job):
        for p in range(dh.shape[1]):
            for q in range(dh.shape[2]):
                first = (p * width + q) * stride * units
                for k in range(units):
                    dx[n, first + k + steps[n, p, q, k]] += dh[n, p, q, k]


@twin_of(reference)
def max_pool2d(x, window, stride=None):
    """Take the largest: the compiled :func:`ibpcl.primitives.pooling.max_pool2d`."""
    if x.ndim not in (4, 5):
        return reference.max_pool2d(x, window, stride)  # which refuses it
    *leading, rows, columns, units = x.shape
    convolution.positions(min(rows, columns), window, name="window of a pool")
    stride = window if stride is None else stride
    down, across = (convolution.positions(size, window, stride) for size in (rows, columns))
    count = prod(leading)
    h = np.empty((count, down, across, units), np.float32)
    steps = np.empty(h.shape, np.int32)
    run(_largest, count, x.reshape(count, rows, columns, units), window, stride, h, steps)
    return h.reshape(*leading, down, across, units), (steps, x.shape, stride)


@twin_of(reference)
def max_pool2d_vjp(dh, cache):
    """Pull the gradient back: the compiled :func:`ibpcl.primitives.pooling.max_pool2d_vjp`."""
    steps, shape, stride = cache
    dx = np.zeros((len(steps), prod(shape[-3:])), np.float32)
    run(_give_back, len(steps), dh.reshape(steps.shape), steps, shape[-2], stride, dx)
    return dx.reshape(shape)
