"""Reference solution of assignment 10: tests by central differences at random points."""

import numpy as np


def linear(x, w):
    """Return the product of a batch and a matrix of weights.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Inputs.
    w : ndarray, shape (D, K)
        Weights.

    Returns
    -------
    out : ndarray, shape (N, K)
        The product.
    cache : tuple
        The inputs.
    """
    return x @ w, (x, w)


def standardize(x):
    """Return each column of a batch with mean 0 and variance 1.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        A batch of at least three examples.

    Returns
    -------
    out : ndarray, shape (N, D)
        The standardized batch.
    cache : tuple
        The output, and one over the standard deviation of each column.
    """
    centered = x - x.mean(axis=0)
    scale = 1 / np.sqrt(np.mean(centered**2, axis=0))
    return centered * scale, (centered * scale, scale)


def cross_entropy(scores, labels):
    """Return the mean cross-entropy of softmax probabilities, in nats.

    Parameters
    ----------
    scores : ndarray, shape (N, C)
        Logarithms of the probabilities, up to a constant in each row.
    labels : ndarray of int, shape (N,)
        The true classes.

    Returns
    -------
    loss : float
        The mean over the examples.
    cache : tuple
        The probabilities and the labels.
    """
    shifted = scores - scores.max(axis=1, keepdims=True)
    p = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(labels)), labels]).mean(), (p, labels)


def linear_vjp(dout, cache):
    """Return the gradients of ``linear``."""
    x, w = cache
    dx = dout @ w.T
    dw = x.T @ dout
    return dx, dw


def linear_vjp_by_sums(dout, cache):
    """Return the gradients of ``linear`` as sums over the shared axis."""
    x, w = cache
    dx = (dout[:, None, :] * w[None, :, :]).sum(axis=2)
    dw = (x[:, :, None] * dout[:, None, :])[::-1].sum(axis=0)
    return dx, dw


def standardize_vjp(dout, cache):
    """Return the gradient of ``standardize``."""
    out, scale = cache
    direct = dout - dout.mean(axis=0)
    dx = scale * (direct - out * np.mean(dout * out, axis=0))
    return (dx,)


def standardize_vjp_by_matrices(dout, cache):
    """Return the gradient of ``standardize`` with one matrix for each column."""
    out, scale = cache
    n = len(out)
    dx = np.empty_like(dout)
    for column in range(out.shape[1]):
        unit = out[:, column]
        jacobian = np.eye(n) - 1 / n - np.outer(unit, unit) / n
        dx[:, column] = jacobian @ dout[:, column] * scale[column]
    return (dx,)


def cross_entropy_vjp(dout, cache):
    """Return the gradient of ``cross_entropy`` at the scores."""
    p, labels = cache
    hit = np.zeros_like(p)
    hit[np.arange(len(labels)), labels] = 1
    dscores = dout * (p - hit) / len(labels)
    return (dscores,)


def cross_entropy_vjp_by_rows(dout, cache):
    """Return the gradient of ``cross_entropy``, one row after another."""
    p, labels = cache
    n = len(labels)
    dscores = p * (dout / n)
    for row, label in enumerate(labels):
        dscores[row, label] = -dout / n * (1 - p[row, label])
    return (dscores,)


def points_linear():
    """Return the points at which ``accepts_linear`` tests gradients.

    Returns
    -------
    points : list of tuple
        At most 20 tuples (x, w, dout).
    """
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(4, 3)), rng.normal(size=(3, 2)), rng.normal(size=(4, 2)))]


def accepts_linear(x, w, dout, dx, dw):
    """Return whether gradients of ``linear`` are right at one point.

    Parameters
    ----------
    x, w : ndarray
        The inputs.
    dout : ndarray
        The cotangent.
    dx, dw : ndarray
        The gradients under test, of any shape.

    Returns
    -------
    accepted : bool
        True if they pass the test.
    """
    return _agrees(lambda x: linear(x, w), x, dout, dx) and _agrees(
        lambda w: linear(x, w), w, dout, dw
    )


def points_standardize():
    """Return the points at which ``accepts_standardize`` tests gradients.

    Returns
    -------
    points : list of tuple
        At most 20 tuples (x, dout).
    """
    rng = np.random.default_rng(1)
    return [(2 * rng.normal(size=(5, 3)), rng.normal(size=(5, 3)))]


def accepts_standardize(x, dout, dx):
    """Return whether a gradient of ``standardize`` is right at one point.

    Parameters
    ----------
    x : ndarray
        The input.
    dout : ndarray
        The cotangent.
    dx : ndarray
        The gradient under test, of any shape.

    Returns
    -------
    accepted : bool
        True if it passes the test.
    """
    return _agrees(standardize, x, dout, dx)


def points_cross_entropy():
    """Return the points at which ``accepts_cross_entropy`` tests gradients.

    Returns
    -------
    points : list of tuple
        At most 20 tuples (scores, labels, dout), where dout is a number.
    """
    rng = np.random.default_rng(2)
    return [(rng.normal(size=(4, 3)), np.array([0, 2, 2, 1]), 0.7)]


def accepts_cross_entropy(scores, labels, dout, dscores):
    """Return whether a gradient of ``cross_entropy`` is right at one point.

    Parameters
    ----------
    scores, labels : ndarray
        The inputs.
    dout : float
        The cotangent.
    dscores : ndarray
        The gradient under test, of any shape.

    Returns
    -------
    accepted : bool
        True if it passes the test.
    """
    return _agrees(lambda scores: cross_entropy(scores, labels), scores, dout, dscores)


def points_unknown(x):
    """Return the points at which an unknown function is evaluated for ``accepts_unknown``.

    Parameters
    ----------
    x : ndarray
        The input at which its gradient is tested.

    Returns
    -------
    points : ndarray, shape (Q, *x.shape)
        At most 500 inputs.
    """
    steps = np.eye(x.size).reshape(-1, *x.shape) * 1e-5
    return np.concatenate([x + steps, x - steps])


def accepts_unknown(x, values, dx):
    """Return whether a gradient of an unknown function is right at one point.

    Parameters
    ----------
    x : ndarray
        The input.
    values : ndarray, shape (Q,)
        The sum of dout * out at each of the points.
    dx : ndarray
        The gradient under test, of any shape.

    Returns
    -------
    accepted : bool
        True if it passes the test.
    """
    ahead, behind = np.split(values, 2)
    slope = ((ahead - behind) / 2e-5).reshape(x.shape)
    return _close(dx, slope)


def unknown_softplus(x):
    """Return log(1 + exp(x))."""
    return np.logaddexp(0, x), x


def unknown_softplus_vjp(dout, cache):
    """Return the gradient of ``unknown_softplus``."""
    x = cache
    rate = 1 / (1 + np.exp(-x))
    return (dout * rate,)


def unknown_norms(x):
    """Return the norm of each row."""
    norms = np.sqrt(np.sum(x**2, axis=1))
    return norms, (x, norms)


def unknown_norms_vjp(dout, cache):
    """Return the gradient of ``unknown_norms``."""
    x, norms = cache
    return (x * (dout / norms)[:, None],)


def unknown_products(x):
    """Return the products of each row with the next column."""
    return x[:, :-1] * x[:, 1:], x


def unknown_products_vjp(dout, cache):
    """Return the gradient of ``unknown_products``."""
    x = cache
    dx = np.zeros_like(x)
    dx[:, :-1] += dout * x[:, 1:]
    dx[:, 1:] += dout * x[:, :-1]
    return (dx,)


def _agrees(f, value, dout, gradient):
    steps = np.eye(value.size).reshape(-1, *value.shape) * 1e-5
    slope = [np.sum(dout * (f(value + s)[0] - f(value - s)[0])) / 2e-5 for s in steps]
    return _close(gradient, np.reshape(slope, value.shape))


def _close(gradient, slope):
    gradient = np.asarray(gradient)
    if gradient.shape != slope.shape or not np.all(np.isfinite(gradient)):
        return False
    return bool(np.abs(gradient - slope).max() <= 1e-5 * (1e-3 + np.abs(slope).max()))
