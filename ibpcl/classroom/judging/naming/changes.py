"""Typical changes of a whole input or a whole result, tried to explain a wrong forward."""

from typing import NamedTuple

import numpy as np

LOG_2 = np.log(2.0)


class Change(NamedTuple):
    """A change of an array.

    Attributes
    ----------
    words : str
        Continuation of "your result is right for ...", with ``{}`` for the name of the input, or
        of "your result is ...".
    function : callable
        The change, from array to array.
    """

    words: str
    function: object


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _logit(x):
    return np.log(x) - np.log1p(-x)


OF_INPUTS = (
    Change("minus {}", lambda x: -x),
    Change("1 - {}", lambda x: 1 - x),
    Change("1 / {}", lambda x: 1 / x),
    Change("half of {}", lambda x: x / 2),
    Change("twice {}", lambda x: 2 * x),
    Change("minus half of {}", lambda x: -x / 2),
    Change("minus twice {}", lambda x: -2 * x),
    Change("the square of {}", np.square),
    Change("the square root of {}", np.sqrt),
    Change("the exponential of {}", np.exp),
    Change("the logarithm of {}", np.log),
    Change("the sigmoid of {}", _sigmoid),
    Change("the log-odds of {}", _logit),
    Change("{} with another base of the logarithm", lambda x: x * LOG_2),
    Change("{} with another base of the logarithm", lambda x: x / LOG_2),
    Change("{} plus 1", lambda x: x + 1),
    Change("{} minus 1", lambda x: x - 1),
    Change("{} rounded", np.round),
    Change("the absolute value of {}", np.abs),
)
IGNORED = (  # the input does not influence the result
    Change("0", lambda x: 0 * x),
    Change("1", lambda x: 0 * x + 1),
)
OF_RESULTS = (
    Change("the exponential of the right result", np.exp),
    Change("the exponential of minus the right result", lambda x: np.exp(-x)),
    Change("the logarithm of the right result", np.log),
    Change("minus the logarithm of the right result", lambda x: -np.log(x)),
    Change("the reciprocal of the right result", lambda x: 1 / x),
    Change("one minus the right result", lambda x: 1 - x),
    Change("the square of the right result", np.square),
    Change("the square root of the right result", np.sqrt),
    Change("the absolute value of the right result", np.abs),
    Change("the sigmoid of the right result", _sigmoid),
    Change("the log-odds of the right result", _logit),
    Change("the hyperbolic tangent of the right result", np.tanh),
    Change("one minus the exponential of the right result", lambda x: 1 - np.exp(x)),
    Change("the logarithm of one minus the right result", lambda x: np.log1p(-x)),
    Change("the right result, rounded", np.round),
    Change("the right result, clipped at 0", lambda x: np.maximum(x, 0)),
)


def of_axes(name, array):
    """Return the changes of an input along its axes: means, reversals and shifts.

    Parameters
    ----------
    name : str
        Name of the input.
    array : ndarray
        Its value.

    Returns
    -------
    list of Change
    """
    changes = []
    for axis in range(np.ndim(array)):
        if np.shape(array)[axis] > 1:
            changes.append(
                Change(
                    "{} averaged over an axis",
                    lambda x, axis=axis: np.broadcast_to(x.mean(axis=axis, keepdims=True), x.shape),
                )
            )
            changes.append(Change("{} in reversed order", lambda x, axis=axis: np.flip(x, axis)))
            changes.append(
                Change(
                    "{} with its entries shifted by one", lambda x, axis=axis: np.roll(x, 1, axis)
                )
            )
    return changes


def of_result_axes(array):
    """Return the changes of a result along its axes, and those of a matrix.

    Parameters
    ----------
    array : ndarray
        The result.

    Returns
    -------
    list of Change
    """
    changes = []
    for axis in range(np.ndim(array)):
        if np.shape(array)[axis] < 2:
            continue
        changes += [
            Change("the right result, in reversed order", lambda x, axis=axis: np.flip(x, axis)),
            Change("the right result, shifted by one", lambda x, axis=axis: np.roll(x, 1, axis)),
            Change("the right result, shifted by one", lambda x, axis=axis: np.roll(x, -1, axis)),
            Change(
                "the cumulative sum of the right result",
                lambda x, axis=axis: np.cumsum(x, axis=axis),
            ),
            Change(
                "the right result, averaged over an axis",
                lambda x, axis=axis: np.broadcast_to(x.mean(axis=axis, keepdims=True), x.shape),
            ),
            Change(
                "the right result, normalized to sum 1",
                lambda x, axis=axis: x / x.sum(axis=axis, keepdims=True),
            ),
            Change(
                "the right result, minus its mean",
                lambda x, axis=axis: x - x.mean(axis=axis, keepdims=True),
            ),
            Change(
                "the running difference of the right result",
                lambda x, axis=axis: np.diff(
                    x, axis=axis, prepend=np.zeros_like(np.take(x, [0], axis=axis))
                ),
            ),
        ]
    if np.ndim(array) > 1:
        changes.append(
            Change("the transpose of the right result", lambda x: np.swapaxes(x, -1, -2))
        )
    if np.ndim(array) == 2 and np.shape(array)[0] == np.shape(array)[1] > 1:
        changes += [
            Change("the inverse of the right result", np.linalg.inv),
            Change("the diagonal of the right result", lambda x: np.diag(np.diagonal(x))),
            Change("a triangle of the right result", np.tril),
            Change("a triangle of the right result", np.triu),
        ]
    return changes
