r"""Convolution of images: every patch of an image goes through the same linear layer.

Images have the axes ``(S, N, H, W, D)``: samples, examples, rows, columns, channels.  The channels
come last, as units do everywhere in this package.  The D channels are the inputs of the linear
layer, and its K units, the filters, are the channels of the output.  A kernel has I rows and J
columns.

A convolution is therefore a composition of two functions.  :func:`patches` copies the I J D numbers
below each position of the kernel into one row, and :func:`ibpcl.primitives.linear.apply` multiplies
all rows by the same weights.  Its gradient passes through both functions in reverse order.

As in all libraries for neural networks, the kernel is not flipped.  In signal processing this is
called a correlation (LeCun, Bottou, Bengio and Haffner, 1998, "Gradient-based learning applied to
document recognition", Sec. II; Dumoulin and Visin, 2016, "A guide to convolution arithmetic for
deep learning", for strides and padding).
"""

from math import prod
from operator import index

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ibpcl.primitives import linear


def positions(size, window, stride=1, padding=0, name="window"):
    r"""Return the number of positions that a window has along one axis of an image.

    .. math:: H' = \Bigl\lfloor \frac{H + 2 P - I}{t} \Bigr\rfloor + 1

    Dumoulin and Visin (2016), Relationship 6.  If the division leaves a remainder, so many rows at
    the end are not read, and their gradient is 0.

    Parameters
    ----------
    size : int
        Size H of the image along the axis, without padding.
    window : int
        Size I of the window, in 1 .. H + 2 P.
    stride : int
        Step t from one position to the next, at least 1.
    padding : int
        Number P of zeros before the first and behind the last entry, at least 0.
    name : str
        Name of the window in the message of an error.

    Returns
    -------
    count : int
        Number H' of positions, at least 1.

    Raises
    ------
    ValueError
        If ``window``, ``stride`` or ``padding`` is out of its range or not a whole number.

    Examples
    --------
    >>> positions(5, 3), positions(5, 3, stride=2, padding=1), positions(6, 3, stride=2)
    (3, 3, 2)
    """
    stride = _whole("stride", stride, 1)
    padding = _whole("padding", padding, 0)
    padded = size + 2 * padding
    window = _whole(name, window, 1, padded, f" (the image's {size} and twice the padding)")
    return (padded - window) // stride + 1


def _whole(name, value, least, most=None, reason=""):
    """Return a whole number, or raise an error that names it."""
    try:
        whole = index(value)
    except TypeError:
        whole = None
    if whole is None or whole < least or (most is not None and whole > most):
        allowed = f"at least {least}" if most is None else f"in {least} .. {most}{reason}"
        raise ValueError(f"convolution: {name} must be a whole number {allowed}, got {value!r}")
    return whole


def patches(x, height, width, stride=1, padding=0):
    r"""Copy the numbers below each position of a kernel into one row ("im2col").

    .. math:: r_{pq,(ijd)} = x_{pt + i - P,\; qt + j - P,\; d}

    x counts as 0 outside of the image.  The sum over (i, j, d) in a convolution becomes the sum
    over the entries of a row (Chellapilla, Puri and Simard, 2006, "High performance convolutional
    neural networks for document processing").

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, D)
        Images; (N, H, W, D) if all samples share them.
    height, width : int
        Numbers I and J of rows and columns of the kernel.
    stride : int, optional
        Step t from one position to the next, at least 1.
    padding : int, optional
        Number P of rows and columns of zeros around the image.

    Returns
    -------
    rows : ndarray, shape (S, N, H', W', I J D)
        One row per position, in the order i, j, d; without the first axis if ``x`` has none.
    cache : tuple
        Input of :func:`patches_vjp`.

    Raises
    ------
    ValueError
        If ``x`` has another number of axes, or the kernel does not fit into the padded image.

    Examples
    --------
    >>> image = np.arange(6.0).reshape(1, 2, 3, 1)
    >>> patches(image, 2, 2)[0][0, 0].tolist()
    [[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0]]
    """
    if np.ndim(x) not in (4, 5):
        raise ValueError(
            "convolution: x must have the axes (S, N, H, W, D) or (N, H, W, D), got shape "
            f"{np.shape(x)}"
        )
    positions(x.shape[-3], height, stride, padding, "height of the kernel")
    positions(x.shape[-2], width, stride, padding, "width of the kernel")
    around = [(0, 0)] * (x.ndim - 3) + [(padding, padding)] * 2 + [(0, 0)]
    # a view without copies, (..., H + 2 P - I + 1, W + 2 P - J + 1, D, I, J)
    windows = sliding_window_view(np.pad(x, around), (height, width), axis=(-3, -2))
    windows = np.moveaxis(windows[..., ::stride, ::stride, :, :, :], -3, -1)
    rows = windows.reshape(*windows.shape[:-3], height * width * x.shape[-1])
    return rows, (x.shape, height, width, stride, padding)


def patches_vjp(drows, cache):
    r"""Pull the gradient at the rows back to ``x`` ("col2im").

    A pixel is in one patch per entry (i, j) of the kernel, unless the stride skips it.  Its
    gradients are summed:

    .. math:: dx_{abd} = \sum_{\substack{p, q, i, j:\\ pt + i - P = a,\; qt + j - P = b}}
              dr_{pq,(ijd)}

    The gradients at the padding are dropped.
    """
    shape, height, width, stride, padding = cache
    *leading, rows, columns, channels = shape
    down, across = drows.shape[-3:-1]
    dwindows = drows.reshape(*drows.shape[:-1], height, width, channels)
    dpadded = np.zeros((*leading, rows + 2 * padding, columns + 2 * padding, channels), drows.dtype)
    for i in range(height):
        for j in range(width):
            # all positions of the kernel at once: entry (i, j) never reads a pixel twice
            dpadded[..., i : i + stride * down : stride, j : j + stride * across : stride, :] += (
                dwindows[..., i, j, :]
            )
    return dpadded[..., padding : padding + rows, padding : padding + columns, :]


def conv2d(x, w, b, stride=1, padding=0):
    r"""Convolve images with the filters of each sample, and add the biases.

    .. math:: h_{snpqk} = \sum_{ijd} x_{sn,\, pt + i - P,\, qt + j - P,\, d}\; w_{sijdk} + b_{sk}

    LeCun et al. (1998), Sec. II; one product of the patches and the weights.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, D)
        Images; (N, H, W, D) if all samples share them.
    w : ndarray, shape (S, I, J, D, K)
        Weights, K filters per sample.
    b : ndarray, shape (S, K)
        Biases.
    stride : int, optional
        Step t from one position to the next, at least 1.
    padding : int, optional
        Number P of rows and columns of zeros around the image.

    Returns
    -------
    h : ndarray, shape (S, N, H', W', K)
        Pre-activations, with H' and W' from :func:`positions`.
    cache : tuple
        Input of :func:`conv2d_vjp`.

    Raises
    ------
    ValueError
        If the axes or sizes of the inputs do not fit each other.

    Examples
    --------
    >>> row = np.array([0.0, 0.0, 5.0, 5.0]).reshape(1, 1, 4, 1)
    >>> edge = np.array([-1.0, 1.0]).reshape(1, 1, 2, 1, 1)      # right minus left
    >>> conv2d(row, edge, np.zeros((1, 1)))[0].ravel()
    array([0., 5., 0.])
    """
    check_filters(x, w, b)
    samples, height, width, inputs, units = w.shape
    rows, patches_cache = patches(x, height, width, stride, padding)
    matrix = w.reshape(samples, height * width * inputs, units)
    h, linear_cache = linear.apply(one_axis(rows), matrix, b)
    h = h.reshape(samples, *rows.shape[-4:-1], units)
    return h, (w.shape, rows.shape, patches_cache, linear_cache)


def conv2d_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x``, ``w`` and ``b``.

    .. math::

        db_{sk} = \sum_{npq} dh_{snpqk}, \qquad
        dw_{sijdk} = \sum_{npq} x_{sn,\,pt + i - P,\,qt + j - P,\,d}\, dh_{snpqk}, \qquad
        dx_{snabd} = \sum_{\substack{p, q, i, j:\\ pt + i - P = a,\; qt + j - P = b}}
                     \sum_k dh_{snpqk}\, w_{sijdk}

    The last one is the *transposed convolution*: put :math:`t - 1` zeros between the entries of dh,
    and convolve with the kernels turned by 180 degrees.  With ``needs_dx=False``, used for the
    first layer, ``dx`` is None and is not computed.
    """
    shape, rows_shape, patches_cache, linear_cache = cache
    drows, dmatrix, db = linear.apply_vjp(one_axis(dh), linear_cache, needs_dx)
    dx = patches_vjp(drows.reshape(rows_shape), patches_cache) if needs_dx else None
    return dx, dmatrix.reshape(shape), db


def one_axis(rows):
    """Join examples and positions, so that every patch is an example of a linear layer.

    Parameters
    ----------
    rows : ndarray, shape (S, N, H', W', K) or (N, H', W', K)
        Patches or outputs.

    Returns
    -------
    rows : ndarray, shape (S, N H' W', K) or (N H' W', K)
        The same numbers.

    Examples
    --------
    >>> one_axis(np.zeros((2, 3, 4, 5, 6))).shape
    (2, 60, 6)
    """
    return rows.reshape(*rows.shape[:-4], prod(rows.shape[-4:-1]), rows.shape[-1])


def check_filters(x, w, b):
    """Raise an error if images, filters and biases do not fit each other.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, D) or (N, H, W, D)
        Images.
    w : ndarray, shape (S, I, J, D, K)
        Weights.
    b : ndarray, shape (S, K)
        Biases.

    Raises
    ------
    ValueError
        If a number of axes, channels, samples or filters is wrong.
    """
    if np.ndim(w) != 5:
        raise ValueError(
            f"convolution: w must have the axes (S, I, J, D, K), got shape {np.shape(w)}"
        )
    channels = np.shape(x)[-1] if np.ndim(x) else 0
    if w.shape[3] != channels:
        raise ValueError(
            f"convolution: w must have D = {channels} input channels, as x has, got {w.shape[3]} "
            f"in shape {w.shape}"
        )
    if np.ndim(x) == 5 and x.shape[0] != len(w):
        raise ValueError(
            f"convolution: x must have S = {len(w)} samples, as w has, got {x.shape[0]} in shape "
            f"{x.shape}"
        )
    if np.shape(b) != (w.shape[0], w.shape[4]):
        raise ValueError(
            f"convolution: b must have shape (S, K) = {(w.shape[0], w.shape[4])}, as w has, got "
            f"{np.shape(b)}"
        )
