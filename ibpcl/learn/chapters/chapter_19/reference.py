"""Reference functions of chapter 19."""

import numpy as np


def slopes(dout, above, below, h):
    r"""Return central differences of an objective, for each entry of an input.

    .. math:: \frac{L(x + h e_p) - L(x - h e_p)}{2 h}, \qquad
              L = \sum_n \texttt{dout}_n\, \texttt{out}_n

    Parameters
    ----------
    dout : ndarray
        Cotangent of the output.
    above, below : ndarray, shape (P, *dout.shape)
        Outputs with the entry p of the input a step above and below.
    h : float
        The step.

    Returns
    -------
    slopes : ndarray, shape (P,)
    """
    change = (above - below).reshape(len(above), -1)
    return change @ dout.ravel() / (2 * h)


def relative_error(claimed, slopes):
    """Return the error of a gradient relative to its largest entry.

    Parameters
    ----------
    claimed : ndarray
        The gradient under test.
    slopes : ndarray
        Independent slopes of the same shape, not all zero.

    Returns
    -------
    error : float
        The largest absolute difference, divided by the largest absolute slope.
    """
    return np.abs(claimed - slopes).max() / np.abs(slopes).max()


def objective(x, dout):
    """Return the objective of a test: the sum of a cotangent times the standardized batch.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        A batch of at least three examples.
    dout : ndarray, shape (N, D)
        The cotangent.

    Returns
    -------
    value : float
    cache : object
        Input of the gradient.
    """
    centered = x - x.mean(axis=0)
    scale = 1 / np.sqrt(np.mean(centered**2, axis=0))
    out = centered * scale
    return np.sum(dout * out), (out, scale, dout)


def objective_slip_vjp(dvalue, cache):
    """Pull the gradient at ``value`` back to ``x`` and ``dout``, with a mistake.

    Parameters
    ----------
    dvalue : float
    cache : object
        From ``objective``.

    Returns
    -------
    dx : ndarray, shape (N, D)
    ddout : ndarray, shape (N, D)
    """
    out, scale, dout = cache
    inner = dout - dout.mean(axis=0) - out * np.mean(dout * out, axis=0)
    return dvalue * scale**2 * inner, dvalue * out


def objective_vjp(dvalue, cache):
    """Pull the gradient at ``value`` back to ``x`` and ``dout``.

    Parameters
    ----------
    dvalue : float
    cache : object
        From ``objective``.

    Returns
    -------
    dx : ndarray, shape (N, D)
    ddout : ndarray, shape (N, D)
    """
    out, scale, dout = cache
    inner = dout - dout.mean(axis=0) - out * np.mean(dout * out, axis=0)
    return dvalue * scale * inner, dvalue * out


def row_norms(x):
    """Return the Euclidean norm of each row.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        No row is zero.

    Returns
    -------
    norms : ndarray, shape (N,)
    cache : object
        Input of the gradient.
    """
    norms = np.sqrt((x**2).sum(axis=1))
    return norms, (x, norms)


def row_norms_slip_vjp(dout, cache):
    """Pull the gradient at ``norms`` back to ``x``, with a mistake.

    Parameters
    ----------
    dout : ndarray, shape (N,)
    cache : object
        From ``row_norms``.

    Returns
    -------
    dx : ndarray, shape (N, D)
    """
    x, norms = cache
    return dout[:, None] * x / norms.mean()


def row_norms_vjp(dout, cache):
    """Pull the gradient at ``norms`` back to ``x``.

    Parameters
    ----------
    dout : ndarray, shape (N,)
    cache : object
        From ``row_norms``.

    Returns
    -------
    dx : ndarray, shape (N, D)
    """
    x, norms = cache
    return dout[:, None] * x / norms[:, None]


def seen_by_another_cotangent():
    """Return inputs (x, dout) of ``objective`` at which ``objective_slip_vjp`` is wrong."""
    x = np.array([[1.0], [2.0], [4.0], [-3.0]])
    return x, np.array([[1.0], [2.0], [0.0], [-1.0]])


def seen_by_more_rows():
    """Return the input x of ``row_norms`` at which ``row_norms_slip_vjp`` is wrong."""
    return np.array([[1.0, 2.0], [3.0, -1.0]])


def scale_shift(x, gain, shift):
    """Return a batch with a gain and a shift for each column.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        A batch.
    gain, shift : ndarray, shape (D,)
        Gains and shifts.

    Returns
    -------
    out : ndarray, shape (N, D)
    cache : tuple
        The batch and the gains.
    """
    return x * gain + shift, (x, gain)


def scale_shift_vjp(dout, cache):
    """Return the gradients of ``scale_shift``."""
    x, gain = cache
    dx = dout * gain
    dgain = np.sum(dout * x, axis=0)
    dshift = np.sum(dout, axis=0)
    return dx, dgain, dshift


def scale_shift_vjp_by_products(dout, cache):
    """Return the gradients of ``scale_shift`` as products of matrices."""
    x, gain = cache
    ones = np.ones(len(x))
    return dout @ np.diag(gain), ones @ (dout * x), ones @ dout


def softmax(x):
    """Return the probabilities of each row of scores.

    Parameters
    ----------
    x : ndarray, shape (N, C)
        Scores.

    Returns
    -------
    p : ndarray, shape (N, C)
    cache : tuple
        The probabilities.
    """
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return p, (p,)


def softmax_vjp(dout, cache):
    """Return the gradient of ``softmax``."""
    (p,) = cache
    inner = np.sum(dout * p, axis=1, keepdims=True)
    dx = p * (dout - inner)
    return (dx,)


def softmax_vjp_by_jacobians(dout, cache):
    """Return the gradient of ``softmax`` with the Jacobian of each row."""
    (p,) = cache
    rows = [(np.diag(row) - np.outer(row, row)) @ d for row, d in zip(p, dout, strict=True)]
    return (np.array(rows),)


def differences(forward, inputs, dout):
    """Return central differences of ``sum(dout * out)`` for each entry of each input."""
    found = []
    for n, value in enumerate(inputs):
        steps = 1e-5 * np.eye(value.size).reshape(value.size, *value.shape)
        sides = []
        for sign in (1, -1):
            moved = [[*inputs[:n], value + sign * step, *inputs[n + 1 :]] for step in steps]
            sides.append(np.array([forward(*each)[0] for each in moved]))
        found.append(slopes(dout, *sides, 1e-5).reshape(value.shape))
    return found


def agree(claimed, expected):
    """Return whether gradients have the shapes and the numbers of independent slopes."""
    return all(
        np.shape(a) == b.shape and relative_error(a, b) < 1e-6
        for a, b in zip(claimed, expected, strict=True)
    )


def points_scale_shift():
    """Return the points at which ``accepts_scale_shift`` tests gradients.

    Returns
    -------
    points : list of tuple
        At most 20 tuples (x, gain, shift, dout).
    """
    rng = np.random.default_rng(1)
    draw = rng.standard_normal
    return [(draw((4, 3)), draw(3), draw(3), draw((4, 3)))]


def accepts_scale_shift(x, gain, shift, dout, dx, dgain, dshift):
    """Return whether gradients of ``scale_shift`` are right at one point.

    Parameters
    ----------
    x, gain, shift : ndarray
        The inputs.
    dout : ndarray
        The cotangent.
    dx, dgain, dshift : ndarray
        The gradients under test, of any shape.

    Returns
    -------
    accepted : bool
    """
    expected = differences(scale_shift, (x, gain, shift), dout)
    return bool(agree((dx, dgain, dshift), expected))


def points_softmax():
    """Return the points at which ``accepts_softmax`` tests gradients.

    Returns
    -------
    points : list of tuple
        At most 20 tuples (x, dout).
    """
    rng = np.random.default_rng(2)
    return [(rng.standard_normal((3, 4)), rng.standard_normal((3, 4)))]


def accepts_softmax(x, dout, dx):
    """Return whether a gradient of ``softmax`` is right at one point.

    Parameters
    ----------
    x : ndarray
        The scores.
    dout : ndarray
        The cotangent.
    dx : ndarray
        The gradient under test, of any shape.

    Returns
    -------
    accepted : bool
    """
    return bool(agree((dx,), differences(softmax, (x,), dout)))


def least_error():
    """Return the least error of a central difference, in units of 1e-11.

    Returns
    -------
    error : float
    """
    h = np.cbrt(3 * 2.2e-16)
    return (h**2 / 6 + 2.2e-16 / h) / 1e-11


def same_formula():
    """Return what a test sees that repeats the derivation.

    Returns
    -------
    letter : str
    """
    return "b"


def full_score():
    """Return what it means that a test catches all planted mistakes.

    Returns
    -------
    letter : str
    """
    return "b"
