"""Options whose other values run other branches of a user's code, such as ``activation="tanh"``.

An activation layer may choose among several functions by a string, and a gradient may be scaled if
a flag is set.  A check with the defaults alone would not reach these branches.
"""

import ast
import inspect

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.signatures import tree_of


def of_target(target, given):
    """Return the values of options that reach other branches than the defaults do.

    Options are arguments with a string as their default, which the code compares with other
    strings, and flags of a constructor that switch a branch of the gradient.

    Parameters
    ----------
    target : ibpcl.verify.adapters.target.Target
        Functions, or a class of which the checker makes an object.
    given : collection of str
        Names of the arguments that the file gives.

    Returns
    -------
    list of dict of str to object
        One value of one option each.
    """
    if inspect.isclass(target.forward):
        found = _of_class(target.forward)
    elif inspect.isfunction(target.forward):
        found = _of_functions(target.forward, target.gradient)
    else:
        return []
    return [{name: value} for name, value in found if name not in given]


def _of_functions(f, f_vjp):
    """Yield the options of a forward with the other strings that it or its gradient reads."""
    trees = [tree for tree in map(tree_of, filter(inspect.isfunction, (f, f_vjp))) if tree]
    for name, default in _defaults(f).items():
        for text in _strings({name}, trees) if isinstance(default, str) else ():
            if text != default:
                yield name, text


def _of_class(kind):
    """Yield the options of a constructor with the other values that its methods read."""
    methods = {name: tree_of(value) for name, value in inspect.getmembers(kind, inspect.isfunction)}
    start = methods.pop("__init__", None)
    named = methods_of(kind)
    backward = methods.get(named.backward) if named else None
    trees = [tree for tree in methods.values() if tree]
    for name, default in _defaults(kind.__init__).items():
        held = _attributes(start, name)
        if isinstance(default, str):
            yield from ((name, text) for text in _strings(held, trees) if text != default)
        elif not words.is_training(name) and _switches(held, backward):
            yield name, not default


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
    """Return the texts of the attributes in which a constructor keeps an argument."""
    found = {f"self.{name}"}
    for node in ast.walk(start or ast.Pass()):
        if isinstance(node, ast.Assign) and getattr(node.value, "id", None) == name:
            found.update(ast.unparse(target) for target in node.targets)
    return found


def _strings(texts, trees):
    """Return the strings with which expressions of these texts are compared."""
    strings = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Compare) and ast.unparse(node.left) in texts:
            parts = (part for right in node.comparators for part in ast.walk(right))
            values = [getattr(part, "value", None) for part in parts]
            strings.update(dict.fromkeys(value for value in values if isinstance(value, str)))
    return list(strings)


def _switches(texts, tree):
    """Return whether a function has a branch for an attribute that is true or false."""
    tests = [
        node.test for node in ast.walk(tree or ast.Pass()) if isinstance(node, (ast.If, ast.IfExp))
    ]
    return any(ast.unparse(part) in texts for test in tests for part in _parts(test))


def _parts(test):
    """Return the conditions that a test joins by ``and``, ``or`` and ``not``."""
    if isinstance(test, ast.BoolOp):
        return [part for value in test.values for part in _parts(value)]
    return _parts(test.operand) if isinstance(test, ast.UnaryOp) else [test]
