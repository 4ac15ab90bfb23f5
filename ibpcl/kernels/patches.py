"""Patches of one image and their adjoint, for the kernels that read patches.

A row of the kernel reads J D neighbouring numbers of a row of the image, so patches are copied in
pieces of this length.  The image is first copied into a frame of zeros, so that no piece needs a
test whether it lies inside of the image.
"""

import numpy as np

from ibpcl.kernels.compilation import inlined


@inlined
def cut_image(image, channels, stride, padding, framed, rows):
    """Write the patches of an image to rows.

    Parameters
    ----------
    image : ndarray of float32, shape (H, W D)
        The image.
    channels : int
        Number D of its channels.
    stride, padding : int
        Step of the kernel, and rows and columns of zeros around the image.
    framed : ndarray of float32, shape (H + 2 P, (W + 2 P) D)
        Scratch memory from :func:`frame`, whose frame is zero.
    rows : ndarray of float32, shape (H', W', I, J D)
        The patches, written to.
    """
    left = padding * channels
    for a in range(image.shape[0]):
        framed[padding + a, left : left + image.shape[1]] = image[a]
    for p in range(rows.shape[0]):
        for q in range(rows.shape[1]):
            start = q * stride * channels
            for i in range(rows.shape[2]):
                pixels = framed[p * stride + i, start : start + rows.shape[3]]
                row = rows[p, q, i]
                for c in range(row.size):
                    row[c] = pixels[c]


@inlined
def put_back_image(drows, channels, stride, padding, framed, dimage):
    """Write the sums of the gradients of the patches to the pixels of an image.

    Parameters
    ----------
    drows : ndarray of float32, shape (H', W', I, J D)
        Gradients at the patches.
    channels : int
        Number D of channels.
    stride, padding : int
        As in :func:`cut_image`.
    framed : ndarray of float32, shape (H + 2 P, (W + 2 P) D)
        Scratch memory; its content does not matter.
    dimage : ndarray of float32, shape (H, W D)
        Gradients at the pixels, written to.
    """
    framed[:] = 0
    for p in range(drows.shape[0]):
        for q in range(drows.shape[1]):
            start = q * stride * channels
            for i in range(drows.shape[2]):
                pixels = framed[p * stride + i, start : start + drows.shape[3]]
                row = drows[p, q, i]
                for c in range(row.size):
                    pixels[c] += row[c]
    left = padding * channels
    for a in range(dimage.shape[0]):
        dimage[a] = framed[padding + a, left : left + dimage.shape[1]]


@inlined
def frame(x, channels, padding):
    """Return scratch memory for an image in a frame of zeros.

    Parameters
    ----------
    x : ndarray of float32, shape (B, H, W D)
        Images; only their size is used.
    channels : int
        Number D of channels.
    padding : int
        Rows and columns of the frame.

    Returns
    -------
    framed : ndarray of float32, shape (H + 2 P, (W + 2 P) D)
        Zeros.
    """
    return np.zeros((x.shape[1] + 2 * padding, x.shape[2] + 2 * padding * channels), np.float32)
