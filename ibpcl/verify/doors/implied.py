"""Losses that occur only inside a backward, such as ``net.backward(x, y, learning_rate)``.

Such a backward has no ``dout``.  It begins with the derivative of a loss that is computed nowhere
else in the code.  The usual losses are tried, and the gradient is judged for the loss that fits.
If none of them fits, no verdict is possible.
"""

import numpy as np

from ibpcl.verify.doors import vocabulary as words

TINY = 1e-300


def _rows(out):
    return max(np.shape(out)[0], 1) if np.ndim(out) else 1


LOSSES = {
    "0.5 * sum((out - {y})**2)": lambda out, y: 0.5 * np.sum((out - y) ** 2),
    "sum((out - {y})**2)": lambda out, y: np.sum((out - y) ** 2),
    "0.5 * sum((out - {y})**2) / examples": lambda out, y: (
        0.5 * np.sum((out - y) ** 2) / _rows(out)
    ),
    "sum((out - {y})**2) / examples": lambda out, y: np.sum((out - y) ** 2) / _rows(out),
    "mean((out - {y})**2)": lambda out, y: np.mean((out - y) ** 2),
    "0.5 * mean((out - {y})**2)": lambda out, y: 0.5 * np.mean((out - y) ** 2),
    "-sum({y} * log(out))": lambda out, y: -np.sum(y * np.log(out + TINY)),
    "-sum({y} * log(out)) / examples": lambda out, y: -np.sum(y * np.log(out + TINY)) / _rows(out),
    "-sum({y} * log(out) + (1 - {y}) * log(1 - out))": lambda out, y: (
        -np.sum(y * np.log(out + TINY) + (1 - y) * np.log(1 - out + TINY))
    ),
    "-sum({y} * log(out) + (1 - {y}) * log(1 - out)) / examples": lambda out, y: (
        -np.sum(y * np.log(out + TINY) + (1 - y) * np.log(1 - out + TINY)) / _rows(out)
    ),
}


def label_of(parameters, given):
    """Return the parameter of a backward that is a label unknown to the forward.

    Parameters
    ----------
    parameters : Parameters
        Parameters of the backward.
    given : sequence of str
        Names of the forward's arguments.

    Returns
    -------
    str or None
        None if there is no such parameter.
    """
    return next(
        (
            name
            for name in parameters.required
            if (words.is_label(name) or words.plain(name) == "y")
            and not any(words.same(name, other) for other in given)
        ),
        None,
    )


def guessed_label(out, seed=0):
    """Return random labels that are valid for every usual loss.

    Parameters
    ----------
    out : ndarray
        The output.
    seed : int
        Seed for the labels.

    Returns
    -------
    ndarray
        In the shape of the output, in (0, 1); rows of a matrix sum to one.
    """
    drawn = np.random.default_rng(seed).uniform(0.2, 0.8, size=np.shape(out))
    return (
        drawn / drawn.sum(axis=-1, keepdims=True)
        if drawn.ndim > 1 and drawn.shape[-1] > 1
        else drawn
    )
