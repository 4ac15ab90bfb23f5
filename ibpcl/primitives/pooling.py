r"""Pooling: one number per channel for every window of an image, or for the whole image.

Images have the axes ``(S, N, H, W, K)``, as in :mod:`ibpcl.primitives.convolution`.  Windows have
no padding, because a zero beside an image would compete with its pixels.
"""

import numpy as np

from ibpcl.primitives import convolution


def _windows(x, window, stride):
    """Return the pixels of each window on one axis, (..., H', W', window^2, K), and the cache."""
    if np.ndim(x) not in (4, 5):
        raise ValueError(
            "pooling: x must have the axes (S, N, H, W, K) or (N, H, W, K), got shape "
            f"{np.shape(x)}"
        )
    convolution.positions(min(x.shape[-3:-1]), window, name="window of a pool")
    rows, cache = convolution.patches(x, window, window, window if stride is None else stride)
    return rows.reshape(*rows.shape[:-1], window * window, x.shape[-1]), cache


def _windows_vjp(dwindows, cache):
    *leading, size, units = dwindows.shape
    return convolution.patches_vjp(dwindows.reshape(*leading, size * units), cache)


def max_pool2d(x, window, stride=None):
    r"""Compute the largest number of each window.

    .. math:: h_{pqk} = \max_{i, j < I} x_{pt + i,\; qt + j,\; k}

    Zhou and Chellappa (1988), "Computation of optical flow using a neural network"; Goodfellow,
    Bengio and Courville (2016), "Deep Learning", Sec. 9.3.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Images, of any leading axes.
    window : int
        Size I of the square windows.
    stride : int, optional
        Step t between windows; by default I, so that they do not overlap.

    Returns
    -------
    h : ndarray, shape (S, N, H', W', K)
        The largest numbers; NaN in a window with NaN.
    cache : tuple
        Input of :func:`max_pool2d_vjp`.

    Raises
    ------
    ValueError
        If ``x`` has another number of axes, or a window does not fit into it.

    Examples
    --------
    >>> image = np.array([[1.0, 4.0, 2.0], [3.0, 0.0, 7.0]]).reshape(1, 2, 3, 1)
    >>> max_pool2d(image, 2, 1)[0].ravel()
    array([4., 7.])
    """
    windows, cache = _windows(x, window, stride)
    # the real part decides, so that the complex step passes
    largest = np.argmax(windows.real, axis=-2)[..., None, :]
    h = np.take_along_axis(windows, largest, axis=-2)[..., 0, :]
    return h, (largest, windows.shape, cache)


def max_pool2d_vjp(dh, cache):
    r"""Pull the gradient back to the largest pixel of each window.

    .. math:: dx_{abk} = \sum_{p, q} dh_{pqk}\, \mathbb 1[(a, b) = \arg\max \text{ of window } pq]

    Where several pixels of a window are largest, the maximum has no derivative.  Every convex
    combination of their unit vectors is a subgradient; here the first pixel, in the order of rows,
    gets all of it.
    """
    largest, shape, inner = cache
    dwindows = np.zeros(shape, dh.dtype)
    np.put_along_axis(dwindows, largest, dh[..., None, :], axis=-2)
    return _windows_vjp(dwindows, inner)


def mean_pool2d(x, window, stride=None):
    r"""Compute the mean of each window.

    .. math:: h_{pqk} = \frac{1}{I^2} \sum_{i, j < I} x_{pt + i,\; qt + j,\; k}

    LeCun et al. (1998), Sec. II ("sub-sampling", there with a learned scale).

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Images, of any leading axes.
    window : int
        Size I of the square windows.
    stride : int, optional
        Step t between windows; by default I, so that they do not overlap.

    Returns
    -------
    h : ndarray, shape (S, N, H', W', K)
        The means.
    cache : tuple
        Input of :func:`mean_pool2d_vjp`.

    Raises
    ------
    ValueError
        If ``x`` has another number of axes, or a window does not fit into it.

    Examples
    --------
    >>> mean_pool2d(np.arange(4.0).reshape(1, 2, 2, 1), 2)[0].ravel()
    array([1.5])
    """
    windows, cache = _windows(x, window, stride)
    return windows.mean(axis=-2), (windows.shape, cache)


def mean_pool2d_vjp(dh, cache):
    r"""Pull the gradient back: every pixel of a window gets its share, :math:`dh_{pqk} / I^2`."""
    shape, inner = cache
    return _windows_vjp(np.broadcast_to(dh[..., None, :] / shape[-2], shape), inner)


def global_mean_pool(x):
    r"""Compute the mean of each channel over the whole image.

    .. math:: h_k = \frac{1}{H W} \sum_{a, b} x_{abk}

    Lin, Chen and Yan (2014), "Network in network", Sec. 3.2.  The result does not depend on the
    place of an object, and not on the size of the image.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Images, of any leading axes.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        The means.
    cache : tuple
        Input of :func:`global_mean_pool_vjp`.

    Examples
    --------
    >>> global_mean_pool(np.arange(4.0).reshape(1, 2, 2, 1))[0]
    array([[1.5]])
    """
    return x.mean(axis=(-3, -2)), x.shape


def global_mean_pool_vjp(dh, cache):
    r"""Pull the gradient back: every pixel of a channel gets :math:`dh_k / (H W)`."""
    *_, rows, columns, _ = cache
    return np.broadcast_to(dh[..., None, None, :] / (rows * columns), cache).copy()
