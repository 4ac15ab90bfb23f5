"""Losses that occur only inside a backward, such as ``net.backward(x, y, learning_rate)``.

Such a backward has no ``dout``.  It begins with the derivative of a loss that is computed nowhere
else in the code.  The usual losses are tried, and the gradient is judged for the loss that fits.
If none of them fits, no verdict is possible.
"""

import inspect
from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.signatures import parameters_of

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


def losses_in(function, label):
    """Yield the losses in the file of a function: those of an output and labels.

    Parameters
    ----------
    function : callable
        The gradient function.
    label : str
        Name of its argument with the labels.

    Yields
    ------
    name : str
        Name of the loss, for a note.
    loss : callable
        ``loss(out, labels)``.
    """
    for name, value in getattr(function, "__globals__", {}).items():
        if not inspect.isfunction(value) or {"loss", "cost"}.isdisjoint(words.tokens(name)):
            continue
        required = parameters_of(value).required
        labels = [n for n, one in enumerate(required) if words.same(one, label)]
        if len(required) == 2 and len(labels) == 1:
            yield (
                f"{name}({', '.join(required)})",
                (lambda out, y, value=value: value(y, out))
                if labels == [0]
                else lambda out, y, value=value: value(out, y),
            )


class Labels(NamedTuple):
    """Labels for a loss inside a backward, and their meaning.

    Attributes
    ----------
    values : ndarray
        The labels.
    columns : bool
        Whether every column is one example, instead of every row.
    words : str
        The meaning, for a note; empty for labels in the shape of the output, one row per example.
    """

    values: np.ndarray
    columns: bool = False
    words: str = ""

    def arguments(self, out, values):
        """Return the output and labels of its shape, with one row per example.

        Parameters
        ----------
        out : ndarray
            The output.
        values : ndarray
            The labels, as the backward takes them.

        Returns
        -------
        out, values : ndarray
            The arguments of a function in :data:`LOSSES`.
        """
        out = np.asarray(out).T if self.columns else out
        if np.ndim(values) == np.ndim(out):
            return out, np.asarray(values).T if self.columns else values
        return out, np.eye(np.shape(out)[-1])[np.asarray(values, dtype=int)]


def labels_for(out, given=None, seed=0):
    """Return labels that a backward may expect, the likeliest first.

    Parameters
    ----------
    out : ndarray
        The output.
    given : ndarray, optional
        The labels, if the user has given them.  Only their meaning is then searched.
    seed : int
        Seed for random labels.

    Returns
    -------
    list of Labels
        Labels in the shape of the output, in (0, 1), and integer classes.  Each may have one
        example per row or per column.
    """
    shape = np.shape(out)
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(0.2, 0.8, size=shape)
    if len(shape) != 2:
        if len(shape) > 2 and shape[-1] > 1:
            drawn = drawn / drawn.sum(axis=-1, keepdims=True)
        return [Labels(drawn if given is None else given)]
    readings = []
    for columns in (False, True):
        n, k = shape[::-1] if columns else shape
        axis = 0 if columns else 1
        dense = drawn / drawn.sum(axis=axis, keepdims=True) if k > 1 else drawn
        classes = rng.integers(0, k, n)
        side = "one example per column" if columns else ""
        for values, words_of in (
            (dense, side),
            (classes, ", ".join(filter(None, ("integer classes", side)))),
        ):
            if given is None or np.shape(given) == values.shape:
                readings.append(Labels(values if given is None else given, columns, words_of))
    return readings or [Labels(given)]
