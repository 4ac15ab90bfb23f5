r"""The masked linear layer: weights are multiplied by their masks, biases by their unit's activity.

The activity of a unit is the largest mask of its weights.
"""

import numpy as np

from ibpcl.primitives import linear


def column_activity(z):
    r"""Compute the activity of each unit, the largest mask of its column.

    .. math:: u_k = \max_d z_{dk}

    Kumar et al. (2021), Sec. 4.5, "Adjusting bias terms": for binary masks this is
    :math:`\mathbb 1[\exists d: B_{dk} = 1]`.

    Parameters
    ----------
    z : ndarray, shape (S, D, K)
        Masks, relaxed or binary.

    Returns
    -------
    activity : ndarray, shape (S, K)
        Activities in [0, 1]; 0 for a layer without inputs.
    cache : tuple
        Input of :func:`column_activity_vjp`.

    Examples
    --------
    >>> column_activity(np.array([[[0.2, 0.9], [0.7, 0.1]]]))[0]
    array([[0.7, 0.9]])
    """
    if z.shape[1] == 0:
        return np.zeros((z.shape[0], z.shape[2]), z.dtype), (None, z.shape)
    rows = np.argmax(z.real, axis=1)[:, None, :]  # (S, 1, K)
    return np.take_along_axis(z, rows, axis=1)[:, 0, :], (rows, z.shape)


def column_activity_vjp(dactivity, cache):
    r"""Pull the gradient at the activity back to ``z``.

    Only the largest mask of each column has a gradient; among equal masks, only the first.
    """
    rows, shape = cache
    dz = np.zeros(shape, dactivity.dtype)
    if rows is not None:
        np.put_along_axis(dz, rows, dactivity[:, None, :], axis=1)
    return dz


def apply(x, v, z, b):
    r"""Multiply by the masked weights and add the bias, scaled by the activity of its unit.

    .. math:: h_{snk} = \sum_d x_{snd}\, z_{sdk} v_{sdk} + b_{sk} \max_d z_{sdk}

    Kumar et al. (2021), Sec. 3.1 (:math:`W = B \odot V`) and Sec. 4.5, "Adjusting bias terms".

    Parameters
    ----------
    x : ndarray, shape (S, N, D)
        Inputs; (N, D) if all samples share them.
    v, z : ndarray, shape (S, D, K)
        Weights and their masks.
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
    >>> apply(np.ones((1, 2)), np.full((1, 2, 1), 3.0), np.array([[[1.0], [0.0]]]),
    ...     np.ones((1, 1)))[0]
    array([[[4.]]])
    """
    activity, largest = column_activity(z)
    h, inner = linear.apply(x, v * z, b * activity)
    return h, (v, z, b, activity, largest, inner)


def apply_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x``, ``v``, ``z`` and ``b``.

    .. math::

        dv = z \odot dw, \qquad
        dz = v \odot dw + \text{(at the largest of each column)}\; b\, db', \qquad
              db = u\, db'

    where :math:`dw` and :math:`db'` are the gradients at the masked weight and at the scaled bias.
    With ``needs_dx=False``, ``dx`` is None and is not computed.
    """
    v, z, b, activity, largest, inner = cache
    dx, dw, dscaled_bias = linear.apply_vjp(dh, inner, needs_dx)
    dz = dw * v + column_activity_vjp(dscaled_bias * b, largest)
    return dx, dw * z, dz, dscaled_bias * activity
