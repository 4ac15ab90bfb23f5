"""What students do to a whole input or a whole result: the changes that are tried when a forward is
wrong.
"""

from typing import NamedTuple

import numpy as np

LOG_2 = np.log(2.0)


class Change(NamedTuple):
    """A change of an array.

    Attributes
    ----------
    words : str
        Follows "your result is right for ...", with ``{}`` for the name, or "your result is ...".
    function : callable
        From array to array.
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
IGNORED = (  # the input does not matter
    Change("0", lambda x: 0 * x),
    Change("1", lambda x: 0 * x + 1),
)
OF_RESULTS = (
    Change("the exponential of what is asked for", np.exp),
    Change("the exponential of minus what is asked for", lambda x: np.exp(-x)),
    Change("the logarithm of what is asked for", np.log),
    Change("minus the logarithm of what is asked for", lambda x: -np.log(x)),
    Change("the reciprocal of what is asked for", lambda x: 1 / x),
    Change("one minus what is asked for", lambda x: 1 - x),
    Change("the square of what is asked for", np.square),
    Change("the square root of what is asked for", np.sqrt),
    Change("the absolute value of what is asked for", np.abs),
    Change("the sigmoid of what is asked for", _sigmoid),
    Change("the log-odds of what is asked for", _logit),
    Change("the hyperbolic tangent of what is asked for", np.tanh),
    Change("one minus the exponential of what is asked for", lambda x: 1 - np.exp(x)),
    Change("the logarithm of one minus what is asked for", lambda x: np.log1p(-x)),
    Change("what is asked for, rounded", np.round),
    Change("what is asked for, cut off at 0", lambda x: np.maximum(x, 0)),
)


def of_axes(name, array):
    """Return the changes of an input that follow its axes: means, reversals, exchanged axes.

    Parameters
    ----------
    name : str
    array : ndarray
    """
    found = []
    for axis in range(np.ndim(array)):
        if np.shape(array)[axis] > 1:
            found.append(
                Change(
                    "{} averaged over an axis",
                    lambda x, axis=axis: np.broadcast_to(x.mean(axis=axis, keepdims=True), x.shape),
                )
            )
            found.append(Change("{} in reversed order", lambda x, axis=axis: np.flip(x, axis)))
            found.append(
                Change(
                    "{} with its entries shifted by one", lambda x, axis=axis: np.roll(x, 1, axis)
                )
            )
    return found


def of_result_axes(array):
    """Return the changes of a result that follow its axes, or that need a matrix."""
    found = []
    for axis in range(np.ndim(array)):
        if np.shape(array)[axis] < 2:
            continue
        found += [
            Change("what is asked for, in reversed order", lambda x, axis=axis: np.flip(x, axis)),
            Change("what is asked for, shifted by one", lambda x, axis=axis: np.roll(x, 1, axis)),
            Change("what is asked for, shifted by one", lambda x, axis=axis: np.roll(x, -1, axis)),
            Change("what is asked for, cumulated", lambda x, axis=axis: np.cumsum(x, axis=axis)),
            Change(
                "what is asked for, averaged over an axis",
                lambda x, axis=axis: np.broadcast_to(x.mean(axis=axis, keepdims=True), x.shape),
            ),
            Change(
                "what is asked for, normalized to sum 1",
                lambda x, axis=axis: x / x.sum(axis=axis, keepdims=True),
            ),
            Change(
                "what is asked for, minus its mean",
                lambda x, axis=axis: x - x.mean(axis=axis, keepdims=True),
            ),
            Change(
                "the running difference of what is asked for",
                lambda x, axis=axis: np.diff(
                    x, axis=axis, prepend=np.zeros_like(np.take(x, [0], axis=axis))
                ),
            ),
        ]
    if np.ndim(array) > 1:
        found.append(Change("the transpose of what is asked for", lambda x: np.swapaxes(x, -1, -2)))
    if np.ndim(array) == 2 and np.shape(array)[0] == np.shape(array)[1] > 1:
        found += [
            Change("the inverse of what is asked for", np.linalg.inv),
            Change("the diagonal of what is asked for", lambda x: np.diag(np.diagonal(x))),
            Change("a triangle of what is asked for", np.tril),
            Change("a triangle of what is asked for", np.triu),
        ]
    return found
