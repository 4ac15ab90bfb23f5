r"""A convolution, its activation and its pool as one function.

A stage of a convolutional network does three things: it convolves, it applies an activation f, and
it keeps the largest number of each window.  Here they are composed from
:mod:`ibpcl.primitives.convolution`, :mod:`ibpcl.primitives.activations` and
:mod:`ibpcl.primitives.pooling`.  The composition is a separate function because training spends
most of its time here.  Its compiled version holds the patches and the pre-activations of a few
images only, and stores neither.
"""

from ibpcl.primitives import activations, convolution, pooling


def apply(x, w, b, stride=1, padding=0, activation=None, window=1):
    r"""Convolve images, apply the activation, and keep the largest number of each window.

    .. math::

        h_{snpqk} = \max_{i, j < I} f(a_{sn,\, pI + i,\, qI + j,\, k}), \qquad
        a = \operatorname{conv}(x, w) + b

    LeCun, Bottou, Bengio and Haffner (1998), "Gradient-based learning applied to document
    recognition", Sec. II, with the largest number in place of the mean.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, D)
        Images; (N, H, W, D) if all samples share them.
    w : ndarray, shape (S, I, J, D, K)
        Weights, K filters per sample.
    b : ndarray, shape (S, K)
        Biases.
    stride : int, optional
        Step t from one position of the kernel to the next, at least 1.
    padding : int, optional
        Number P of rows and columns of zeros around the image.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Name of f in :mod:`ibpcl.primitives.activations`; by default there is none.
    window : int, optional
        Size of the square windows, which do not overlap; 1 keeps all numbers.

    Returns
    -------
    h : ndarray, shape (S, N, H'', W'', K)
        The outputs.  H'' is H' of :func:`ibpcl.primitives.convolution.positions`, divided by the
        window and rounded down, and likewise W''.
    cache : tuple
        Input of :func:`apply_vjp`.

    Raises
    ------
    ValueError
        If the axes or sizes of the inputs do not fit each other.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([1.0, 4.0, 2.0, -3.0]).reshape(1, 1, 4, 1)
    >>> double = np.full((1, 1, 1, 1, 1), 2.0)
    >>> apply(np.vstack([image[0]] * 2)[None], double, np.zeros((1, 1)), window=2)[0].ravel()
    array([8., 4.])
    """
    h, inner = convolution.conv2d(x, w, b, stride, padding)
    active = pooled = None
    if activation is not None:
        h, active = getattr(activations, activation)(h)
    if window != 1:
        h, pooled = pooling.max_pool2d(h, window)
    return h, (inner, active, pooled, activation)


def apply_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x``, ``w`` and ``b``.

    Pool, activation and convolution in reverse order: :func:`at_pre_activations`, and then
    :func:`ibpcl.primitives.convolution.conv2d_vjp`.  With ``needs_dx=False``, used for the first
    layer, ``dx`` is None and is not computed.
    """
    return convolution.conv2d_vjp(at_pre_activations(dh, cache), cache[0], needs_dx)


def at_pre_activations(dh, cache):
    r"""Pull the gradient at ``h`` back to the pre-activations a only.

    .. math:: da_{abk} = f'(a_{abk})\, \sum_{p, q} dh_{pqk}\,
              \mathbb 1[(a, b) = \arg\max \text{ of window } pq]

    Parameters
    ----------
    dh : ndarray, shape (S, N, H'', W'', K)
        Gradient at the outputs.
    cache : tuple
        From :func:`apply`.

    Returns
    -------
    da : ndarray, shape (S, N, H', W', K)
        Gradient at the pre-activations.
    """
    _, active, pooled, activation = cache
    if pooled is not None:
        dh = pooling.max_pool2d_vjp(dh, pooled)
    if activation is not None:
        dh = getattr(activations, f"{activation}_vjp")(dh, active)
    return dh
