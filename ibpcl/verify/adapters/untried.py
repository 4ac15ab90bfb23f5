"""Choices of a user's code that a check leaves at their defaults: other branches are not judged.

An activation layer may choose among several functions by a string, and a gradient may be scaled if
a flag is set.  Only the branch of the default runs.
"""

import ast
import inspect

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.signatures import tree_of


def of_functions(functions, given):
    """Return sentences on string arguments whose other values are not tried.

    Parameters
    ----------
    functions : sequence of callable
        The forward, then its gradient function.
    given : collection of str
        Names of the arguments of the forward that are given.

    Returns
    -------
    list of str
        One sentence for each argument that a function compares with other strings.
    """
    trees = [tree for tree in map(tree_of, functions) if tree is not None]
    sentences = []
    for name, default in _defaults(functions[0]).items():
        others = _others([ast.Name(name, ast.Load())], trees, default)
        if others and name not in given:
            sentences.append(
                f"{name} = {', '.join(others)}, as only {default!r} was run: return "
                f'{{..., "{name}": {others[0]}}} from a check_inputs_{functions[0].__name__}()'
            )
    return sentences


def of_class(kind, backward, given):
    """Return sentences on arguments of a constructor whose other values are not tried.

    These are strings that a method compares with others, and flags that switch a branch of the
    gradient.

    Parameters
    ----------
    kind : type
        The class, of which the checker has made an object.
    backward : str
        Name of its backward method.
    given : collection of str
        Names of the arguments that are given.

    Returns
    -------
    list of str
        One sentence for each argument.
    """
    methods = {name: tree_of(value) for name, value in inspect.getmembers(kind, inspect.isfunction)}
    start = methods.pop("__init__", None)
    trees = [tree for tree in methods.values() if tree is not None]
    sentences = []
    for name, default in _defaults(kind.__init__).items():
        held = _attributes(start, name)
        if isinstance(default, bool):
            switches = not words.is_training(name) and _switches(held, methods.get(backward))
            others = [repr(not default)] if switches else []
        else:
            others = _others(held, trees, default)
        if others and name not in given:
            sentences.append(
                f"{name} = {', '.join(others)}, as only {default!r} was run: make an object of "
                f"each in the file, layer = {kind.__name__}({name}={others[0]})"
            )
    return sentences


def _defaults(function):
    """Return the default of each argument that has a string or a flag as its default."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions have none
        return {}
    return {
        name: parameter.default
        for name, parameter in parameters.items()
        if isinstance(parameter.default, (str, bool))
    }


def _attributes(start, name):
    """Return the attributes in which a constructor keeps an argument, as expressions."""
    found = [ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())]
    for node in ast.walk(start or ast.Pass()):
        if isinstance(node, ast.Assign) and getattr(node.value, "id", None) == name:
            found += [target for target in node.targets if isinstance(target, ast.Attribute)]
    return found


def _others(held, trees, default):
    """Return the texts of other strings with which an expression is compared."""
    texts = {ast.unparse(node) for node in held}
    strings = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Compare) and ast.unparse(node.left) in texts:
            for right in node.comparators:
                parts = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [right]
                values = [getattr(part, "value", None) for part in parts]
                strings.update(dict.fromkeys(v for v in values if isinstance(v, str)))
    return [repr(text) for text in strings if text != default] if isinstance(default, str) else []


def _switches(held, tree):
    """Return whether a function has a branch for an expression that is true or false."""
    texts = {ast.unparse(node) for node in held}
    return any(
        any(isinstance(part, ast.Attribute) and ast.unparse(part) in texts for part in _parts(node))
        for node in ast.walk(tree or ast.Pass())
        if isinstance(node, (ast.If, ast.IfExp))
    )


def _parts(branch):
    """Return the conditions of a branch that are joined by ``and``, ``or`` and ``not``."""
    waiting = [branch.test]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BoolOp):
            waiting += node.values
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        else:
            yield node
