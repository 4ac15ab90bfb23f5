"""The parameters and gradients that an object keeps in its attributes, at whatever depth."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import leaves
from ibpcl.verify.doors import vocabulary as words

MARKS = (
    "momentum",
    "velocity",
    "running",
    "moving",
    "optimizer",
    "opt",
    "adam",
    "history",
    "prev",
    "last",
    "old",
    "initial",
    "mask",
)


class Parameter(NamedTuple):
    """An array of an object that a gradient may belong to."""

    name: str  # the shortest way to write it: W, params["W1"], layers[0].W
    paths: tuple  # all paths at which this very array lies in the object
    value: object


def parameters_in(holder, after, arguments=()):
    """Return the arrays of an object that may be parameters: those that a forward leaves where they
    are.

    Parameters
    ----------
    holder : object
        Before the forward.
    after : object
        A copy of it in which the forward was called.
    arguments : sequence of arrays
        Arguments of the forward; the same array in the object is not a parameter.

    Returns
    -------
    list of Parameter
    """
    found = {}
    later = leaves.arrays_in(after)
    handed = {id(value) for value in arguments}
    for path, value in leaves.arrays_in(holder).items():
        if id(value) in handed or _is_gradient_path(path) or _is_marked(path) or path not in later:
            continue
        if np.shape(later[path]) != np.shape(value):
            continue
        key = id(value) if isinstance(value, np.ndarray) else path
        found.setdefault(key, []).append(path)
    made = []
    for paths in found.values():
        ordered = sorted(
            paths, key=lambda path: (sum(isinstance(step, int) for step in path), len(path))
        )
        value = leaves.get(holder, ordered[0])
        made.append(Parameter(leaves.text_of(_without_data(ordered[0])), tuple(ordered), value))
    return made


def _without_data(path):
    """Return a path without a last step that only says that the array is the value: ``W.data`` is
    ``W``.
    """
    return (
        path[:-1] if len(path) > 1 and words.plain(path[-1]) in ("data", "value", "val") else path
    )


def _is_gradient_path(path):
    named = [step for step in path if isinstance(step, str)]
    return any(
        words.plain(step) in words.GRADIENT_HOLDERS or words.looks_like_gradient(step)
        for step in named
    )


def _is_marked(path):
    return any(
        word in MARKS for step in path if isinstance(step, str) for word in words.tokens(step)
    )


def gradient_paths(parameter, after, before):
    """Return the paths in an object that hold the gradient of a parameter after the backward, the
    best first.
    """
    found = []
    for path, value in after.items():
        if np.size(value) != np.size(parameter.value) or path in parameter.paths:
            continue
        ranks = [rank for own in parameter.paths if (rank := _match(own, path)) is not None]
        if ranks:
            changed = path not in before or before[path] is not value or not np.any(value)
            found.append(
                (
                    not changed,
                    np.shape(value) != np.shape(parameter.value),
                    min(ranks),
                    len(path),
                    path,
                )
            )
    return [item[-1] for item in sorted(found, key=lambda item: item[:-1])]


def _match(own, path):
    """Return how well a path fits as that of the gradient of another path, None if it does not; 0
    is best.
    """
    left = _stripped(own)
    right = _stripped(path)
    if len(left) != len(right) or (not left and len(own) == len(path) and own[:-1] != path[:-1]):
        return None
    signal = any(
        words.plain(step) in words.GRADIENT_HOLDERS for step in path if isinstance(step, str)
    )
    cost = 0
    for a, b in zip(left, right, strict=True):
        if a == b:
            continue
        if not isinstance(a, str) or not isinstance(b, str):
            return None
        if words.is_gradient_of(b, a):
            signal = True
            cost += 0 if words.plain(a) in words.gradient_bases(b) else 2
        elif words.same(a, b):
            cost += 2
        else:
            return None
    return cost if signal else None


def _stripped(path):
    """Return the steps of a path that are more than a word for all parameters or all gradients."""
    return [
        step
        for step in path
        if not (
            isinstance(step, str)
            and words.plain(step) in (words.PARAMETER_HOLDERS | words.GRADIENT_HOLDERS)
        )
    ]


def input_gradient_path(name, shape, after, before, only):
    """Return the path at which an object keeps the gradient of a forward's argument, None if it
    does not.

    ``only`` is true if it is the only argument, so that ``dinputs`` can be meant.
    """
    for path, value in after.items():
        if (
            np.shape(value) == shape
            and len(path) == 1
            and (path not in before or before[path] is not value)
        ):
            bases = words.gradient_bases(path[0])
            if any(words.same(base, name) for base in bases) or (
                only and any(base in words.GENERIC for base in bases)
            ):
                return path
    return None
