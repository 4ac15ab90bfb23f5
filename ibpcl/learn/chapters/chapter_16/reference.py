"""Reference functions of chapter 16 that are not primitives of the package."""

import numpy as np


def conv1d(sequence, taps):
    r"""Return the sums over all positions of a kernel inside a sequence.

    .. math:: h_p = \sum_i x_{p + i}\, w_i

    Parameters
    ----------
    sequence : ndarray, shape (N,)
        The sequence x.
    taps : ndarray, shape (I,)
        The kernel w, not longer than the sequence.

    Returns
    -------
    h : ndarray, shape (N - I + 1,)
    cache : object
        Input of ``conv1d_vjp``.
    """
    return np.correlate(sequence, taps, "valid"), (sequence, taps)


def conv1d_vjp(dh, cache):
    """Pull the gradient at ``h`` back to the sequence and the kernel.

    Parameters
    ----------
    dh : ndarray, shape (N - I + 1,)
    cache : object
        From ``conv1d``.

    Returns
    -------
    dsequence : ndarray, shape (N,)
    dtaps : ndarray, shape (I,)
    """
    sequence, taps = cache
    return np.convolve(dh, taps, "full"), np.correlate(sequence, dh, "valid")


def strided(image, kernel, stride, padding):
    r"""Convolve an image of one channel with one kernel.

    .. math:: h_{pq} = \sum_{ij} x_{p t + i - P,\, q t + j - P}\; w_{ij}

    Parameters
    ----------
    image : ndarray, shape (H, W)
        The image x, which counts as 0 outside.
    kernel : ndarray, shape (I, J)
        The kernel w.
    stride : int
        Step t from one position to the next.
    padding : int
        Number P of rows and columns of zeros around the image.

    Returns
    -------
    h : ndarray, shape (H', W')
        One number per position.
    cache : object
        Input of ``strided_vjp``.
    """
    framed = np.pad(image, padding)
    rows, columns = kernel.shape
    down = (framed.shape[0] - rows) // stride + 1
    across = (framed.shape[1] - columns) // stride + 1
    h = np.zeros((down, across), np.result_type(image, kernel))
    for p in range(down):
        for q in range(across):
            a = p * stride
            b = q * stride
            h[p, q] = np.sum(framed[a : a + rows, b : b + columns] * kernel)
    return h, (framed, kernel, stride, padding)


def strided_vjp(dh, cache):
    """Pull the gradient at ``h`` back to the image and the kernel.

    Parameters
    ----------
    dh : ndarray, shape (H', W')
    cache : object
        From ``strided``.

    Returns
    -------
    dimage : ndarray, shape (H, W)
    dkernel : ndarray, shape (I, J)
    """
    framed, kernel, stride, padding = cache
    rows, columns = kernel.shape
    dframed = np.zeros(framed.shape, dh.dtype)
    dkernel = np.zeros(kernel.shape, dh.dtype)
    for p in range(dh.shape[0]):
        for q in range(dh.shape[1]):
            a = p * stride
            b = q * stride
            dframed[a : a + rows, b : b + columns] += dh[p, q] * kernel
            dkernel += dh[p, q] * framed[a : a + rows, b : b + columns]
    height, width = framed.shape
    return dframed[padding : height - padding, padding : width - padding], dkernel


def filter_mask(z, v, b):
    r"""Return the kernels and the biases of masked filters.

    .. math:: w_{ijdk} = z_k\, v_{ijdk}, \qquad b'_k = z_k\, b_k

    Parameters
    ----------
    z : ndarray, shape (K,)
        One mask per filter.
    v : ndarray, shape (I, J, D, K)
        Weights.
    b : ndarray, shape (K,)
        Biases.

    Returns
    -------
    w, scaled : tuple of two arrays
        Masked weights (I, J, D, K), and masked biases (K,).
    cache : object
        Input of ``filter_mask_vjp``.
    """
    return (z * v, z * b), (z, v, b)


def filter_mask_vjp(dout, cache):
    """Pull the gradients at the masked weights and biases back to ``z``, ``v`` and ``b``.

    Parameters
    ----------
    dout : tuple of two arrays
        Gradients at ``w`` and ``scaled``.
    cache : object
        From ``filter_mask``.

    Returns
    -------
    dz : ndarray, shape (K,)
    dv : ndarray, shape (I, J, D, K)
    db : ndarray, shape (K,)
    """
    dw, dscaled = dout
    z, v, b = cache
    # z was broadcast over rows, columns and channels
    return (v * dw).sum(axis=(0, 1, 2)) + b * dscaled, z * dw, z * dscaled


def lost_factor():
    """Return by which factor noise per output makes the variance of the mean too small."""
    return 36.0


def lost_factor_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the factor by which the variance is multiplied: take its inverse": 1 / 36,
        "this is the factor of the standard deviation": 6.0,
        "this is the number of weights, not of positions": 9.0,
        "this is the number of pixels, not of positions": 64.0,
        "a kernel of three rows has 8 - 3 + 1 positions from top to bottom": 25.0,
    }


def dense(x, w):
    r"""Return the outputs of a convolution with one position.

    .. math:: h_{nk} = \sum_{abd} x_{nabd}\, w_{abdk}

    Parameters
    ----------
    x : ndarray, shape (N, H, W, D)
        Images.
    w : ndarray, shape (H, W, D, K)
        Kernels that are as large as the images.

    Returns
    -------
    h : ndarray, shape (N, K)
    """
    return x.reshape(len(x), -1) @ w.reshape(-1, w.shape[-1])


def one_pixel():
    """Choose the meaning of a kernel of one pixel."""
    return "c"


def window_max(x):
    r"""Return the largest of every three neighbours.

    .. math:: h_p = \max(x_p, x_{p + 1}, x_{p + 2})

    Parameters
    ----------
    x : ndarray, shape (N,)
        Sequence of at least three numbers.

    Returns
    -------
    h : ndarray, shape (N - 2,)
    cache : object
        Input of ``window_max_vjp``.
    """
    neighbours = np.stack([x[:-2], x[1:-1], x[2:]])
    places = np.argmax(neighbours.real, axis=0) + np.arange(len(x) - 2)
    return x[places], (len(x), places)


def window_max_vjp(dh, cache):
    """Pull the gradient at ``h`` back to ``x``.

    Parameters
    ----------
    dh : ndarray, shape (N - 2,)
    cache : object
        From ``window_max``.

    Returns
    -------
    dx : ndarray, shape (N,)
    """
    size, places = cache
    return np.bincount(places, weights=dh, minlength=size)


def window_max_overwriting_vjp(dh, cache):
    """Pull the gradient back, with = in the place of +=."""
    size, places = cache
    dx = np.zeros(size)
    for p, place in enumerate(places):
        dx[place] = dh[p]
    return dx


def wins_twice():
    """Return x at which ``window_max_overwriting_vjp`` is wrong."""
    return np.array([0.0, 1.0, 3.0, 2.0, 1.0])
