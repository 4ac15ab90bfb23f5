r"""Patches of images and their adjoint: compiled versions of ``primitives.convolution``.

A row of the kernel reads J D neighbouring numbers of a row of the image, so patches are copied in
pieces of this length.  No padded image is made.  A thread takes whole images.
"""

from math import prod

import numpy as np

from ibpcl.kernels.compilation import compiled, cube, float32, inlined, int64, twin_of, void
from ibpcl.kernels.threads import JOB, run, taken
from ibpcl.primitives import convolution as reference

pieces = float32[:, :, :, :, ::1]


@inlined
def _piece(start, length, size):
    """Return the first and the last entry, not included, of a piece that lie inside of a row."""
    first = min(length, max(0, -start))
    return first, max(first, min(length, size - start))


@compiled(void(JOB, cube, int64, int64, int64, pieces))
def _cut(job, x, channels, stride, padding, rows):
    """Write patches of x (B, H, W D) to rows (B, H', W', I, J D)."""
    for n in taken(job):
        for p in range(rows.shape[1]):
            for q in range(rows.shape[2]):
                start = (q * stride - padding) * channels
                first, last = _piece(start, rows.shape[4], x.shape[2])
                for i in range(rows.shape[3]):
                    a = p * stride + i - padding
                    row = rows[n, p, q, i]
                    if 0 <= a < x.shape[1]:
                        row[:first] = 0
                        for c in range(first, last):
                            row[c] = x[n, a, start + c]
                        row[last:] = 0
                    else:
                        row[:] = 0


@compiled(void(JOB, pieces, int64, int64, int64, cube))
def _put_back(job, drows, channels, stride, padding, dx):
    """Add the gradients of the patches to the pixels dx (B, H, W D), which are zero before."""
    for n in taken(job):
        for p in range(drows.shape[1]):
            for q in range(drows.shape[2]):
                start = (q * stride - padding) * channels
                first, last = _piece(start, drows.shape[4], dx.shape[2])
                for i in range(drows.shape[3]):
                    a = p * stride + i - padding
                    if 0 <= a < dx.shape[1]:
                        for c in range(first, last):
                            dx[n, a, start + c] += drows[n, p, q, i, c]


@twin_of(reference)
def patches(x, height, width, stride=1, padding=0):
    """Copy patches into rows: the compiled :func:`ibpcl.primitives.convolution.patches`."""
    if x.ndim not in (4, 5):
        return reference.patches(x, height, width, stride, padding)  # which refuses it
    *leading, rows, columns, channels = x.shape
    down = reference.positions(rows, height, stride, padding, "height of the kernel")
    across = reference.positions(columns, width, stride, padding, "width of the kernel")
    images = prod(leading)
    flat = x.reshape(images, rows, columns * channels)
    out = np.empty((images, down, across, height, width * channels), np.float32)
    run(_cut, images, flat, channels, stride, padding, out)
    out = out.reshape(*leading, down, across, height * width * channels)
    return out, (x.shape, height, width, stride, padding)


@twin_of(reference)
def patches_vjp(drows, cache):
    """Add the rows up again: the compiled :func:`ibpcl.primitives.convolution.patches_vjp`."""
    shape, height, width, stride, padding = cache
    *leading, rows, columns, channels = shape
    images = prod(leading)
    flat = drows.reshape(images, *drows.shape[-3:-1], height, width * channels)
    dx = np.zeros((images, rows, columns * channels), np.float32)
    run(_put_back, images, flat, channels, stride, padding, dx)
    return dx.reshape(shape)
