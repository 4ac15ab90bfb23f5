"""Arguments whose form only the source of a function shows: dicts of parameters, and switches.

``parameters["W1"]`` says that ``parameters`` is a dict with the key ``W1``, and ``activation ==
"relu"`` says that ``activation`` is a string.
"""

import ast
import inspect

from ibpcl.verify.adapters.signatures import parameters_of, tree_of

DEEPEST = 3  # a dict is followed through this many calls
NUMBERS = ("1", "2")  # layers of a network whose keys are made in a loop, as in "W" + str(l)


def keys_of(function, name, deepest=DEEPEST):
    """Return the keys with which a function reads an argument, itself or in functions it calls.

    Parameters
    ----------
    function : callable
        The function.
    name : str
        Name of the argument.
    deepest : int
        Number of nested calls to follow.

    Returns
    -------
    list of str
        The keys in the order of the source; empty if the argument is not a dict.

    Examples
    --------
    >>> keys_of(lambda p: p, "p")
    []
    """
    tree = tree_of(function)
    keys = {}
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and _is_name(node.value, name):
            keys.update(dict.fromkeys(_keys_in(node.slice)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and deepest:
            called = scope.get(node.func.id)
            if not inspect.isfunction(called) or called is function:
                continue
            every = parameters_of(called).every
            inner = [
                *(
                    other
                    for arg, other in zip(node.args, every, strict=False)
                    if _is_name(arg, name)
                ),
                *(word.arg for word in node.keywords if _is_name(word.value, name)),
            ]
            for other in inner:
                keys.update(dict.fromkeys(keys_of(called, other, deepest - 1)))
    return list(keys)


def _is_name(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _keys_in(node):
    """Return the keys that a subscript names; a key with a number in it stands for two layers."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        start = node.left
    elif isinstance(node, ast.JoinedStr) and len(node.values) == 2:
        start = node.values[0]
    else:
        return []
    if not isinstance(start, ast.Constant) or not isinstance(start.value, str):
        return []
    return [start.value + number for number in NUMBERS]


def strings_of(function, name):
    """Return the strings with which a function compares an argument.

    Parameters
    ----------
    function : callable
        The function.
    name : str
        Name of the argument.

    Returns
    -------
    list of str
        The strings in the order of the source.
    """
    tree = tree_of(function)
    found = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Compare) and _is_name(node.left, name):
            for other in node.comparators:
                items = other.elts if isinstance(other, (ast.Tuple, ast.List)) else [other]
                found.update(
                    (item.value, None)
                    for item in items
                    if isinstance(item, ast.Constant) and isinstance(item.value, str)
                )
    return list(found)


def axes_of(function):
    """Return the numbers of axes with which a function compares those of an array.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    set of int
        Such as 3 for ``x.ndim == 3`` and for ``len(x.shape) == 3``.
    """
    tree = tree_of(function)
    return {
        node.comparators[0].value
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, ast.Compare)
        and isinstance(node.comparators[0], ast.Constant)
        and isinstance(node.comparators[0].value, int)
        and _counts_axes(node.left)
    }


def _counts_axes(node):
    """Return whether an expression is ``x.ndim`` or ``len(x.shape)``."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len" and node.args:
        return getattr(node.args[0], "attr", "") == "shape"
    return getattr(node, "attr", "") == "ndim"
