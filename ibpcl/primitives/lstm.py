r"""The LSTM: a recurrent layer whose memory is carried on by addition, not by products.

Hochreiter and Schmidhuber (1997), "Long short-term memory", with the forget gate of Gers,
Schmidhuber and Cummins (2000), "Learning to forget: continual prediction with LSTM"; no peepholes.
Of the four gates, axis ``G``, the first is the input gate, then come the forget gate, the output
gate and the candidate.
"""

import numpy as np

from ibpcl.numerics import sigmoid


def cell(x, h, c, w, r, b):
    r"""Take one step.

    .. math:: i &= \sigma(x w_0 + h r_0 + b_0), & f &= \sigma(x w_1 + h r_1 + b_1), \\
              o &= \sigma(x w_2 + h r_2 + b_2), & g &= \tanh(x w_3 + h r_3 + b_3), \\
              c' &= f c + i g, & h' &= o \tanh c'

    Gers et al. (2000), Eqs. 2 to 7, with tanh in the place of their scaled sigmoids.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Inputs of this step.
    h, c : ndarray, shape (N, K)
        Output and memory of the step before.
    w : ndarray, shape (G, D, K)
        Weights from the inputs, one matrix a gate.
    r : ndarray, shape (G, K, K)
        Weights from the last output.
    b : ndarray, shape (G, K)
        Biases.

    Returns
    -------
    out : tuple of ndarray, shape (N, K)
        The new output and the new memory.
    cache : tuple
        What :func:`cell_vjp` needs.

    Examples
    --------
    >>> zero = np.zeros((1,
    ...     1))                             # open half way, the gates keep half of the memory
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
    r"""Pull the gradients at the new output and memory back to ``x``, ``h``, ``c``, ``w``, ``r``
    and ``b``.

    With :math:`\delta = dc' + dh'\, o\, (1 - \tanh^2 c')`, all that the new memory receives,

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
    r"""Run the cell over a sequence, from :math:`h = c = 0`.

    .. math:: (h_t, c_t) = \mathrm{cell}(x_t, h_{t - 1}, c_{t - 1}), \qquad t = 1 \dots T

    Hochreiter and Schmidhuber (1997), Sec. 4.

    Parameters
    ----------
    x : ndarray, shape (T, N, D)
        Inputs, at least one step of them.
    w : ndarray, shape (G, D, K)
        Weights from the inputs.
    r : ndarray, shape (G, K, K)
        Weights from the last output.
    b : ndarray, shape (G, K)
        Biases.

    Returns
    -------
    h : ndarray, shape (T, N, K)
        The output of every step.
    cache : tuple
        What :func:`unroll_vjp` needs.

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
    r"""Pull the gradient at all outputs back to ``x``, ``w``, ``r`` and ``b``, from the last step
    to the first.

    What step t receives at its output is its own :math:`dh_t` and what step t + 1 sends back; the
    parameters are those of every step, so their gradients are added up.
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
