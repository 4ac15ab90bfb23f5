r"""Convolutions, pools and masked filters, with their gradients."""

import numpy as np


def _positions(size, window, stride, padding):
    """Return the number of positions of a kernel along an axis."""
    return (size + 2 * padding - window) // stride + 1


def _read_by(i, j, stride, down, across):
    """Return the pixels that entry (i, j) of the kernel reads, one for each position."""
    rows = slice(i, i + stride * (down - 1) + 1, stride)
    columns = slice(j, j + stride * (across - 1) + 1, stride)
    return slice(None), rows, columns


def _framed(x, padding):
    """Put a frame of zeros around images."""
    return np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))


def _framed_vjp(dframed, padding):
    """Cut the frame off: zeros have no gradient that anybody needs."""
    _, height, width, _ = dframed.shape
    return dframed[:, padding : height - padding, padding : width - padding]


def conv2d(x, w, bias, stride, padding):
    r"""Convolve images with filters, which are not turned, and add the biases.

    Parameters
    ----------
    x : ndarray, shape (N, H, W, D)
        Images: examples, rows, columns, channels.
    w : ndarray, shape (I, J, D, K)
        Kernels of K filters, with I rows and J columns.
    bias : ndarray, shape (K,)
        Biases.
    stride : int
        Step t from one position of the kernel to the next, at least 1.
    padding : int
        Width P of the frame of zeros around each image, at least 0.

    Returns
    -------
    h : ndarray, shape (N, H', W', K)
        Pre-activations, one for each position of the kernel.
    cache : object
        What ``conv2d_vjp`` needs.
    """
    framed = _framed(x, padding)
    rows, columns = w.shape[:2]
    down = _positions(x.shape[1], rows, stride, padding)
    across = _positions(x.shape[2], columns, stride, padding)
    h = np.zeros((len(x), down, across, len(bias)), x.dtype) + bias
    for i, j in np.ndindex(rows, columns):
        h = h + framed[_read_by(i, j, stride, down, across)] @ w[i, j]
    return h, (framed, w, stride, padding)


def conv2d_vjp(dh, cache):
    r"""Pull the gradient at ``h`` back to ``x``, ``w`` and ``bias``.

    .. math::

        dx_{nabd} = \sum_{pt + i - P = a,\; qt + j - P = b} \sum_k dh_{npqk}\, w_{ijdk}, \qquad
        dw_{ijdk} = \sum_{npq} x_{n,\, pt + i - P,\, qt + j - P,\, d}\, dh_{npqk}, \qquad
        db_k = \sum_{npq} dh_{npqk}

    Parameters
    ----------
    dh : ndarray, shape (N, H', W', K)
        Gradient at ``h``.
    cache : object
        From ``conv2d``.

    Returns
    -------
    dx : ndarray, shape (N, H, W, D)
    dw : ndarray, shape (I, J, D, K)
    dbias : ndarray, shape (K,)
    """
    framed, w, stride, padding = cache
    _, down, across, _ = dh.shape
    dframed, dw = np.zeros_like(framed), np.zeros_like(w)
    for i, j in np.ndindex(w.shape[:2]):
        read = _read_by(i, j, stride, down, across)
        dframed[read] += dh @ w[i, j].T  # a pixel is read at several positions
        dw[i, j] = np.einsum("npqd,npqk->dk", framed[read], dh)  # shared by all positions
    return _framed_vjp(dframed, padding), dw, dh.sum(axis=(0, 1, 2))


def _windows(x, window):
    """Return the pixels of each window on one axis, (N, H', W', window^2, K)."""
    n, height, width, k = x.shape
    down, across = height // window, width // window
    cut = x[:, : down * window, : across * window]
    windows = cut.reshape(n, down, window, across, window, k).swapaxes(2, 3)
    return windows.reshape(n, down, across, window * window, k)


def _windows_vjp(dwindows, shape, window):
    """Write the gradient of each window to its pixels."""
    n, down, across, _, k = dwindows.shape
    blocks = dwindows.reshape(n, down, across, window, window, k).swapaxes(2, 3)
    dx = np.zeros(shape, dwindows.dtype)  # rows and columns behind the last window are not read
    dx[:, : down * window, : across * window] = blocks.reshape(n, down * window, across * window, k)
    return dx


def pool2d(x, scale, window):
    r"""Replace each window of an image by its largest number, times the scale of the channel.

    Parameters
    ----------
    x : ndarray, shape (N, H, W, K)
        Images.
    scale : ndarray, shape (K,)
        One factor per channel.
    window : int
        Number of rows and of columns of the windows, which do not overlap.

    Returns
    -------
    h : ndarray, shape (N, H', W', K)
        One number per window and channel.
    cache : object
        What ``pool2d_vjp`` needs.
    """
    windows = _windows(x, window)
    largest = np.argmax(windows.real, axis=3)[:, :, :, None]
    pooled = np.take_along_axis(windows, largest, axis=3)[:, :, :, 0]
    return scale * pooled, (pooled, scale, largest, x.shape, window)


def pool2d_vjp(dh, cache):
    r"""Pull the gradient at ``h`` back to ``x`` and ``scale``.

    .. math:: dx_{nabk} = s_k\, dh_{npqk}\; \mathbb 1[(a, b) \text{ is the largest of window } (p, q)],
              \qquad ds_k = \sum_{npq} \max_{(a, b)} x_{nabk}\; dh_{npqk}

    Parameters
    ----------
    dh : ndarray, shape (N, H', W', K)
        Gradient at ``h``.
    cache : object
        From ``pool2d``.

    Returns
    -------
    dx : ndarray, shape (N, H, W, K)
    dscale : ndarray, shape (K,)
    """
    pooled, scale, largest, shape, window = cache
    n, down, across, k = dh.shape
    dwindows = np.zeros((n, down, across, window * window, k), dh.dtype)
    np.put_along_axis(dwindows, largest, (scale * dh)[:, :, :, None], axis=3)
    return _windows_vjp(dwindows, shape, window), (pooled * dh).sum(axis=(0, 1, 2))


def _activity(z):
    """Return the activity of each filter, its largest mask, and the slopes."""
    rows = np.argmax(z.real, axis=0)
    slopes = (np.arange(len(z))[:, None] == rows).astype(z.real.dtype)
    return np.take_along_axis(z, rows[None], axis=0)[0], slopes


def masked_conv2d(x, v, z, bias, stride, padding):
    r"""Convolve with masked filters; biases are scaled by the largest mask of their filter.

    Parameters
    ----------
    x : ndarray, shape (N, H, W, D)
        Images: examples, rows, columns, channels.
    v : ndarray, shape (I, J, D, K)
        Kernels of K filters, with I rows and J columns.
    z : ndarray, shape (D, K)
        Masks in [0, 1]: one for the kernel from one channel to one filter.
    bias : ndarray, shape (K,)
        Biases.
    stride : int
        Step t from one position of the kernel to the next, at least 1.
    padding : int
        Width P of the frame of zeros around each image, at least 0.

    Returns
    -------
    h : ndarray, shape (N, H', W', K)
        Pre-activations, one for each position of the kernel.
    cache : object
        What ``masked_conv2d_vjp`` needs.
    """
    activity, slopes = _activity(z)
    h, inner = conv2d(x, z * v, bias * activity, stride, padding)
    return h, (v, z, bias, activity, slopes, inner)


def masked_conv2d_vjp(dh, cache):
    r"""Pull the gradient at ``h`` back to ``x``, ``v``, ``z`` and ``bias``.

    .. math:: dv_{ijdk} = z_{dk}\, dw_{ijdk}, \qquad
              dz_{dk} = \sum_{ij} v_{ijdk}\, dw_{ijdk} + \frac{\partial u_k}{\partial z_{dk}}\,
              b_k\, db'_k, \qquad db_k = u_k\, db'_k

    Parameters
    ----------
    dh : ndarray, shape (N, H', W', K)
        Gradient at ``h``.
    cache : object
        From ``masked_conv2d``.

    Returns
    -------
    dx : ndarray, shape (N, H, W, D)
    dv : ndarray, shape (I, J, D, K)
    dz : ndarray, shape (D, K)
    dbias : ndarray, shape (K,)
    """
    v, z, bias, activity, slopes, inner = cache
    dx, dw, dscaled = conv2d_vjp(dh, inner)
    dz = (v * dw).sum(axis=(0, 1)) + slopes * (bias * dscaled)  # the kernel shares its mask
    return dx, z * dw, dz, activity * dscaled


def convolution_matrix(w, height, width, stride, padding):
    r"""Return the matrix that maps one image to its convolution, without biases.

    Parameters
    ----------
    w : ndarray, shape (I, J, D, K)
        Kernels of K filters.
    height, width : int
        Numbers H and W of rows and columns of the image.
    stride : int
        Step t from one position of the kernel to the next.
    padding : int
        Width P of the frame of zeros around the image.

    Returns
    -------
    matrix : ndarray, shape (M, P)
        One row for each output, in the order of row, column and filter; one column for each
        number of the image, in the order of row, column and channel.
    """
    rows, columns, channels, filters = w.shape
    down = _positions(height, rows, stride, padding)
    across = _positions(width, columns, stride, padding)
    matrix = np.zeros((down, across, filters, height, width, channels))
    for p, q, i, j in np.ndindex(down, across, rows, columns):
        a = p * stride + i - padding
        b = q * stride + j - padding
        if 0 <= a < height and 0 <= b < width:
            matrix[p, q, :, a, b] = w[i, j].T
    return matrix.reshape(down * across * filters, height * width * channels)


def slope_in_kernel(x, rows, columns, stride, padding):
    r"""Differentiate each output of the convolution with respect to each weight of its kernel.

    .. math:: \frac{\partial h_{npqk}}{\partial w_{ijdk}} = x_{n,\, pt + i - P,\, qt + j - P,\, d}

    Parameters
    ----------
    x : ndarray, shape (N, H, W, D)
        Images: examples, rows, columns, channels.
    rows, columns : int
        Numbers I and J of rows and columns of the kernel.
    stride : int
        Step t from one position of the kernel to the next, at least 1.
    padding : int
        Width P of the frame of zeros around each image, at least 0.

    Returns
    -------
    slope : ndarray, shape (N, H', W', I, J, D)
        The same for every filter.
    """
    framed = _framed(x, padding)
    down = _positions(x.shape[1], rows, stride, padding)
    across = _positions(x.shape[2], columns, stride, padding)
    slope = np.zeros((len(x), down, across, rows, columns, x.shape[3]))
    for i, j in np.ndindex(rows, columns):
        slope[:, :, :, i, j] = framed[_read_by(i, j, stride, down, across)]
    return slope
