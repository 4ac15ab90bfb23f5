r"""Patches of images and their adjoint: compiled versions of ``primitives.convolution``.

A thread takes whole images, see :mod:`ibpcl.kernels.patches`.
"""

from math import prod

import numpy as np

from ibpcl.kernels.compilation import compiled, cube, float32, int64, twin_of, void
from ibpcl.kernels.patches import cut_image, frame, put_back_image
from ibpcl.kernels.threads import JOB, run, taken
from ibpcl.primitives import convolution as reference

pieces = float32[:, :, :, :, ::1]


@compiled(void(JOB, cube, int64, int64, int64, pieces))
def _cut(job, x, channels, stride, padding, rows):
    """Write patches of x (B, H, W D) to rows (B, H', W', I, J D)."""
    framed = frame(x, channels, padding)
    for n in taken(job):
        cut_image(x[n], channels, stride, padding, framed, rows[n])


@compiled(void(JOB, pieces, int64, int64, int64, cube))
def _put_back(job, drows, channels, stride, padding, dx):
    """Write the sums of the gradients of the patches to the pixels dx (B, H, W D)."""
    framed = frame(dx, channels, padding)
    for n in taken(job):
        put_back_image(drows[n], channels, stride, padding, framed, dx[n])


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
    dx = np.empty((images, rows, columns * channels), np.float32)
    run(_put_back, images, flat, channels, stride, padding, dx)
    return dx.reshape(shape)
