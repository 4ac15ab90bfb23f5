"""Parameters, outputs and gradients in the attributes of an object, at any depth."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters import vocabulary as words

# Words in the names of arrays that are not parameters.
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
    """An array in an object that may be a parameter.

    Attributes
    ----------
    name : str
        Shortest source for it: ``W``, ``params["W1"]``, ``layers[0].W``.
    paths : tuple of tuple
        All paths to this array in the object.
    value : ndarray or float
        The array.
    """

    name: str
    paths: tuple
    value: object


def parameters_in(holder, after, arguments=()):
    """Return the arrays in an object that may be parameters.

    A forward call does not remove a parameter or change its shape.

    Parameters
    ----------
    holder : object
        The object before a forward call.
    after : object
        A copy after the call.
    arguments : sequence of ndarray
        Arguments of the forward; they do not count as parameters.

    Returns
    -------
    list of Parameter
        The parameters, in the order of the attributes.
    """
    paths_by_array = {}
    later = leaves.arrays_in(after)
    handed = {id(value) for value in arguments}
    for path, value in leaves.arrays_in(holder).items():
        if id(value) in handed or _is_marked(path) or path not in later:
            continue
        if np.shape(later[path]) != np.shape(value):
            continue
        key = id(value) if isinstance(value, np.ndarray) else path
        paths_by_array.setdefault(key, []).append(path)
    made = []
    for paths in paths_by_array.values():
        ordered = sorted(
            paths, key=lambda path: (sum(isinstance(step, int) for step in path), len(path))
        )
        value = leaves.get(holder, ordered[0])
        made.append(Parameter(leaves.text_of(_without_data(ordered[0])), tuple(ordered), value))
    return made


def is_parameter(path):
    """Return whether the path of an array in an object is that of a learned parameter.

    Parameters
    ----------
    path : tuple
        The path.

    Returns
    -------
    bool
        True for names such as ``W``, for arrays in a collection such as ``params``, and for
        ``W.data``.
    """
    steps = [step for step in path if isinstance(step, str)]
    holders = [words.plain(step) in words.PARAMETER_HOLDERS for step in steps]
    return bool(steps) and (
        words.is_learned(steps[-1])
        or (len(steps) > 1 and holders[-2])
        or (len(steps) > 1 and holders[-1] and words.is_learned(steps[-2]))
    )


def kept_output(holder):
    """Return the output that a forward without a result has stored in an attribute.

    Parameters
    ----------
    holder : object
        The object after the forward.

    Returns
    -------
    ndarray, float or None
        None if there is no such attribute.  ``output`` comes before names such as ``z``, which may
        also be those of a value on the way.
    """
    kept = {words.plain(step): value for step, value in leaves.children(holder)}
    named = [kept[name] for name in words.KEPT_OUTPUTS if leaves.is_array(kept.get(name))]
    return next(iter(named), None)


def _without_data(path):
    """Return a path without a last step such as ``data``: ``W.data`` becomes ``W``."""
    return (
        path[:-1] if len(path) > 1 and words.plain(path[-1]) in ("data", "value", "val") else path
    )


def is_gradient(parameter):
    """Return whether the path of an array in an object is that of a gradient.

    Parameters
    ----------
    parameter : Parameter
        The array.

    Returns
    -------
    bool
        True for names such as ``dW``, ``grads["W"]``, and ``velocity_dW``.
    """
    named = [step for step in parameter.paths[0] if isinstance(step, str)]
    return any(
        words.plain(step) in words.GRADIENT_HOLDERS
        or any(map(words.looks_like_gradient, (step, *step.split("_"))))
        for step in named
    )


def _is_marked(path):
    return any(
        word in MARKS for step in path if isinstance(step, str) for word in words.tokens(step)
    )


def gradients_in(parameters, after, before):
    """Return where an object stores the gradients of its parameters.

    Parameters
    ----------
    parameters : sequence of Parameter
        The parameters.
    after : dict of tuple to ndarray
        Arrays of the object after the backward, by path.
    before : dict of tuple to ndarray
        Arrays of the object before the backward, by path.

    Returns
    -------
    dict of str to tuple
        The path by the name of the parameter.  A path that fits two parameters is left out.
    """
    best = {item.name: _gradient_path(item, after, before) for item in parameters}
    # of another size is only what is no other parameter's gradient
    left = {path: value for path, value in after.items() if path not in best.values()}
    best |= {
        item.name: _gradient_path(item, left, before, any_size=True)
        for item in parameters
        if best[item.name] is None
    }
    paths = list(best.values())
    return {name: path for name, path in best.items() if path and paths.count(path) == 1}


def _gradient_path(parameter, after, before, any_size=False):
    """Return the path that most likely holds the gradient of a parameter, or None."""
    ranked = []
    for path, value in after.items():
        if path in parameter.paths:
            continue
        ranks = [rank for own in parameter.paths if (rank := _match(own, path)) is not None]
        if not ranks:
            continue
        changed = path not in before or before[path] is not value or not np.any(value)
        is_telling = changed and (any_size or not min(ranks))
        if np.size(value) != np.size(parameter.value) and not is_telling:
            continue  # another size is a mistake only under the very name of the gradient
        other_shape = np.shape(value) != np.shape(parameter.value)
        ranked.append((not changed, other_shape, min(ranks), len(path), path))
    return min(ranked, key=lambda item: item[:-1])[-1] if ranked else None


def _match(own, path):
    """Return how well a path fits as that of another path's gradient; 0 is best.

    None means that it does not fit.  The key in a dict of parameters may be the key in a dict of
    gradients: ``grads["W"]`` belongs to ``weights["W"]``.
    """
    cost = _cost(own, path)
    if cost is None and len(own) > 1 and isinstance(own[-2], str):
        cost = _cost(own[:-2] + own[-1:], path)
    return cost


def _cost(own, path):
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
    """Return the steps of a path without words that stand for all parameters or all gradients.

    A single letter at the end, as in ``params["g"]``, is the name of an array.
    """
    holders = words.PARAMETER_HOLDERS | words.GRADIENT_HOLDERS
    return [
        step
        for n, step in enumerate(path)
        if not (isinstance(step, str) and words.plain(step) in holders)
        or (n == len(path) - 1 and len(words.plain(step)) == 1)
    ]


def input_gradient_path(name, shape, after, before, only):
    """Return the path at which an object stores the gradient of a forward's argument.

    Parameters
    ----------
    name : str
        Name of the argument.
    shape : tuple of int
        Its shape.
    after : dict of tuple to ndarray
        Arrays of the object after the backward, by path.
    before : dict of tuple to ndarray
        Arrays of the object before the backward, by path.
    only : bool
        Whether it is the only argument, so that a general name such as ``dinputs`` can refer to it.

    Returns
    -------
    tuple or None
        None if there is no such path.
    """
    fitting = [
        path
        for path, value in after.items()
        if len(path) == 1
        and (path not in before or before[path] is not value)
        and _names_gradient_of(path[0], name, only)
    ]
    same_shape = [path for path in fitting if np.shape(after[path]) == shape]
    return next(iter(same_shape or fitting), None)


def _names_gradient_of(attribute, name, only):
    """Return whether an attribute has the name of the gradient of an argument."""
    bases = words.gradient_bases(attribute)
    return any(words.same(base, name) for base in bases) or (
        only and any(base in words.GENERIC for base in bases)
    )
