"""Parameters of functions, and the names in their ``return`` statements."""

import ast
import inspect
import re
import textwrap
from typing import NamedTuple


class Parameters(NamedTuple):
    """The parameters of a function, without ``self``.

    Attributes
    ----------
    required : list of str
        Names of positional parameters without a default.
    optional : list of str
        Names of positional parameters with a default.
    keywords : list of str
        Names of keyword-only parameters.
    open_ended : bool
        Whether there is ``*args``.
    known : bool
        Whether the function has a signature.
    """

    required: list
    optional: list
    keywords: list
    open_ended: bool
    known: bool = True

    @property
    def every(self):
        """All names, in the order of the signature."""
        return self.required + self.optional + self.keywords


def parameters_of(function, skip=0):
    """Return the parameters of a function.

    Parameters
    ----------
    function : callable
        The function.
    skip : int
        Number of leading parameters to leave out, such as 1 for ``self``.

    Returns
    -------
    Parameters
        With ``known=False`` if the function has no signature, as some built-in functions.
    """
    try:
        every = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):  # built-in functions have none
        return Parameters([], [], [], True, False)
    positional = [p for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return Parameters(
        [p.name for p in positional if p.default is p.empty],
        [p.name for p in positional if p.default is not p.empty],
        [p.name for p in every if p.kind is p.KEYWORD_ONLY],
        any(p.kind is p.VAR_POSITIONAL for p in every),
    )


def method_parameters(kind, name):
    """Return the parameters of a method, without ``self``.

    Parameters
    ----------
    kind : type
        The class.
    name : str
        Name of the method.

    Returns
    -------
    Parameters
        The parameters.
    """
    static = isinstance(inspect.getattr_static(kind, name, None), (staticmethod, classmethod))
    return parameters_of(getattr(kind, name), skip=0 if static else 1)


def tree_of(function):
    """Return the syntax tree of a function.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    ast.FunctionDef, ast.AsyncFunctionDef or None
        None if the source is not available.
    """
    try:
        parsed = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    first = parsed.body[0] if parsed.body else None
    return first if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def returned_names(function):
    r"""Return the names in the last ``return`` statement of a function.

    Parameters
    ----------
    function : callable or ast.FunctionDef
        The function, or its syntax tree.

    Returns
    -------
    str, list or None
        The text of a name, an attribute or a key; a list, possibly nested, for a tuple or a list;
        None for any other expression, and if the source is not available.

    Examples
    --------
    >>> returned_names(ast.parse("def f(x):\n    return dx, [self.dW, g['b']], x * 2").body[0])
    ['dx', ['dW', 'b'], None]
    """
    tree = function if isinstance(function, ast.AST) else tree_of(function)
    if tree is None:
        return None
    returns = [
        node for node in _own_nodes(tree) if isinstance(node, ast.Return) and node.value is not None
    ]
    return _named(max(returns, key=lambda node: node.lineno).value) if returns else None


def returned_keys(function):
    """Return the keys of the dicts that a function returns, as far as its source shows them.

    Parameters
    ----------
    function : callable or None
        The function.

    Returns
    -------
    set of str
        The keys that are strings in a dict after ``return``.

    Examples
    --------
    >>> returned_keys(None)
    set()
    """
    tree = None if function is None else tree_of(function)
    return {
        key.value
        for node in (() if tree is None else _own_nodes(tree))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)
        for key in node.value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _own_nodes(tree):
    """Yield the nodes of a function without those of nested functions."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _named(node):
    if isinstance(node, (ast.Tuple, ast.List)):
        return [_named(item) for item in node.elts]
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        return node.slice.value
    if isinstance(node, ast.Subscript):  # a part of an array, as in `h[-1]`
        return _named(node.value)
    return None


def required_keywords(function):
    """Return the keyword-only parameters of a function that have no default.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    list of str
        Their names.
    """
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in every if p.kind is p.KEYWORD_ONLY and p.default is p.empty]


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
    return {
        node.comparators[0].value
        for node in ast.walk(tree_of(function) or ast.Pass())
        if isinstance(node, ast.Compare)
        and isinstance(getattr(node.comparators[0], "value", None), int)
        and re.search(r"\.ndim$|len\(\w+\.shape\)", ast.unparse(node.left))
    }
