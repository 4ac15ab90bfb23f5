r"""The LSTM: a recurrent layer whose memory is updated by addition.

Hochreiter and Schmidhuber (1997), "Long short-term memory", with the forget gate of Gers,
Schmidhuber and Cummins (2000), "Learning to forget: continual prediction with LSTM", and without
peepholes.  The axis ``G`` has four entries: input gate, forget gate, output gate and candidate.
"""

import numpy as np

from ibpcl.numerics import sigmoid


def cell(x, h, c, w, r, b):
    r"""Compute one step of the LSTM.

    .. math:: i &= \sigma(x w_0 + h r_0 + b_0), & f &= \sigma(x w_1 + h r_1 + b_1), \\
              o &= \sigma(x w_2 + h r_2 + b_2), & g &= \tanh(x w_3 + h r_3 + b_3), \\
              c' &= f c + i g, & h' &= o \tanh c'

    Gers et al. (2000), Eqs. 2 to 7, with tanh in place of their scaled sigmoids.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Inputs of this step.
    h, c : ndarray, shape (N, K)
        Output and memory of the previous step.
    w : ndarray, shape (G, D, K)
        Weights of the inputs, one matrix per gate.
    r : ndarray, shape (G, K, K)
        Weights of the previous output.
    b : ndarray, shape (G, K)
        Biases.

    Returns
    -------
    out : tuple of ndarray, shape (N, K)
        The new output and the new memory.
    cache : tuple
        Input of :func:`cell_vjp`.

    Examples
    --------
    >>> zero = np.zeros((1,
    ...     1))                             # half-open gates keep half of the memory
    >>> out, _ = cell(zero, zero, zero + 3, np.zeros((4, 1, 1)), np.zeros((4, 1, 1)),
    ...     np.zeros((4, 1)))
    >>> float(out[1][0, 0])
    1.5
    """
    a = x @ w + h @ r + b[:, None, :]  # (G, N, K)
    i = sigmoid(a[0])
    f = sigmoid(a[1])
    o = sigmoid(a[2])
    g = np.tanh(a[3])
    new_c = f * c + i * g
    s = np.tanh(new_c)
    return (o * s, new_c), (x, h, c, w, r, i, f, o, g, s)


def cell_vjp(dout, cache):
    r"""Pull the gradients at output and memory back to ``x``, ``h``, ``c``, ``w``, ``r`` and ``b``.

    With the total gradient at the new memory, :math:`\delta = dc' + dh'\, o\, (1 - \tanh^2 c')`,

    .. math::

        da = \bigl(\delta g\, i (1 - i),\; \delta c\, f (1 - f),\; dh' \tanh(c')\, o (1 - o),\;
                         \delta i\, (1 - g^2)\bigr),

    .. math:: dx = \sum_G da\, w^\top, \quad dh = \sum_G da\, r^\top, \quad dc = \delta f, \quad
              dw = x^\top da, \quad dr = h^\top da, \quad db = \sum_n da_n.
    """
    dnew_h, dnew_c = dout
    x, h, c, w, r, i, f, o, g, s = cache
    delta = dnew_c + dnew_h * o * (1 - s * s)
    da = np.stack(
        [
            delta * g * i * (1 - i),
            delta * c * f * (1 - f),
            dnew_h * s * o * (1 - o),
            delta * i * (1 - g * g),
        ]
    )
    dx = (da @ np.swapaxes(w, 1, 2)).sum(axis=0)  # x and h go to all gates
    dh = (da @ np.swapaxes(r, 1, 2)).sum(axis=0)
    return dx, dh, delta * f, x.T @ da, h.T @ da, da.sum(axis=1)  # b was broadcast over N


def unroll(x, w, r, b):
    r"""Compute the outputs of the LSTM for a sequence, starting from :math:`h = c = 0`.

    .. math:: (h_t, c_t) = \mathrm{cell}(x_t, h_{t - 1}, c_{t - 1}), \qquad t = 1 \dots T

    Hochreiter and Schmidhuber (1997), Sec. 4.

    Parameters
    ----------
    x : ndarray, shape (T, N, D)
        Inputs of T steps, T >= 1.
    w : ndarray, shape (G, D, K)
        Weights of the inputs.
    r : ndarray, shape (G, K, K)
        Weights of the previous output.
    b : ndarray, shape (G, K)
        Biases.

    Returns
    -------
    h : ndarray, shape (T, N, K)
        The output of every step.
    cache : tuple
        Input of :func:`unroll_vjp`.

    Examples
    --------
    >>> unroll(np.ones((3, 1, 2)), np.ones((4, 2, 1)), np.ones((4, 1, 1)),
    ...     np.zeros((4, 1)))[0].ravel().round(3)
    array([0.608, 0.873, 0.935])
    """
    h = c = np.zeros((x.shape[1], b.shape[1]), x.dtype)
    outputs = []
    caches = []
    for x_t in x:
        (h, c), cache = cell(x_t, h, c, w, r, b)
        outputs.append(h)
        caches.append(cache)
    return np.stack(outputs), caches


def unroll_vjp(dh, cache):
    r"""Pull the gradient at all outputs back to ``x``, ``w``, ``r`` and ``b``.

    Backpropagation runs from the last step to the first.  The gradient at the output of step t is
    :math:`dh_t` plus the gradient that comes back from step t + 1.  All steps share the parameters,
    so their gradients are summed.
    """
    dnext_h = dnext_c = np.zeros_like(dh[0])
    dx = []
    steps = []
    for dh_t, step in zip(dh[::-1], reversed(cache), strict=True):
        dx_t, dnext_h, dnext_c, *dparameters = cell_vjp((dh_t + dnext_h, dnext_c), step)
        dx.append(dx_t)
        steps.append(dparameters)
    dw, dr, db = (sum(parts) for parts in zip(*steps, strict=True))
    return np.stack(dx[::-1]), dw, dr, db
