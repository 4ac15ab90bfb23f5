r"""The linear layer, with one weight matrix per sample."""

import numpy as np


def apply(x, w, b):
    r"""Multiply by the weights and add the bias, for every sample.

    .. math:: h_{snk} = \sum_d x_{snd}\, w_{sdk} + b_{sk}

    Parameters
    ----------
    x : ndarray, shape (S, N, D)
        Inputs; (N, D) if all samples share them.
    w : ndarray, shape (S, D, K)
        Weights, one matrix per sample.
    b : ndarray, shape (S, K)
        Biases.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Pre-activations.
    cache : tuple
        Input of :func:`apply_vjp`.

    Examples
    --------
    >>> apply(np.ones((1, 2)), np.ones((1, 2, 1)), np.ones((1, 1)))[0]
    array([[[3.]]])
    """
    return x @ w + b[:, None, :], (x, w)


def apply_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x``, ``w`` and ``b``.

    .. math:: dx = dh\, w^\top, \qquad dw = x^\top dh, \qquad db = \sum_n dh_{n}

    With ``needs_dx=False``, used for the first layer, ``dx`` is None and is not computed.
    """
    x, w = cache
    dx = None
    if needs_dx:
        dx = dh @ np.swapaxes(w, -1, -2)
        if x.ndim == 2:
            dx = dx.sum(axis=0)  # x was shared by all samples
    return dx, np.swapaxes(x, -1, -2) @ dh, dh.sum(axis=1)  # b was broadcast over N
