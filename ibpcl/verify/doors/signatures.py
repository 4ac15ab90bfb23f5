"""The parameters of functions, and the names in their ``return`` statements."""

import ast
import inspect
import textwrap
from typing import NamedTuple


class Parameters(NamedTuple):
    """The parameters of a function by position; ``self`` of a bound method is not among them."""

    required: list  # names of those without a default
    optional: list  # names of those with a default
    keywords: list  # names of those that are taken by keyword only
    open_ended: bool  # whether there is ``*args``
    known: bool = True  # whether there is a signature at all

    @property
    def every(self):
        """All names in the order of the signature."""
        return self.required + self.optional + self.keywords


def parameters_of(function, skip=0):
    """Return the :class:`Parameters` of a function without the first ``skip`` of them
    (``self``).
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
    """Return the :class:`Parameters` of a method of a class, without ``self``; a static method has
    none.
    """
    static = isinstance(inspect.getattr_static(kind, name, None), (staticmethod, classmethod))
    return parameters_of(getattr(kind, name), skip=0 if static else 1)


def tree_of(function):
    """Return the syntax tree of a function, None without source."""
    try:
        parsed = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    first = parsed.body[0] if parsed.body else None
    return first if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def returned_names(function):
    """Return what the last ``return`` of a function names, nested as it is written.

    A name, an attribute or a key gives its text; anything else gives None.

    Examples
    --------
    >>> returned_names(ast.parse("def f(x):\\n    return dx, [self.dW, g['b']], x * 2").body[0])
    ['dx', ['dW', 'b'], None]
    """
    tree = function if isinstance(function, ast.AST) else tree_of(function)
    if tree is None:
        return None
    returns = [
        node for node in _own_nodes(tree) if isinstance(node, ast.Return) and node.value is not None
    ]
    return _named(max(returns, key=lambda node: node.lineno).value) if returns else None


def _own_nodes(tree):
    """Yield the nodes of a function without those of functions inside it."""
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
    return None
