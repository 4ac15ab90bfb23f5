"""The forward and the backward method of a class, found by their names."""

import ast
import inspect
from typing import NamedTuple

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.pair import Adapted
from ibpcl.verify.adapters.signatures import tree_of


class Methods(NamedTuple):
    """The names of the two methods of a class.

    Attributes
    ----------
    forward : str
        Name of the forward method.
    backward : str
        Name of the backward method.
    """

    forward: str
    backward: str


def methods_of(kind):
    """Return the names of the forward and the backward method of a class.

    Parameters
    ----------
    kind : type
        The class. Methods that it inherits count; those of ``object`` do not.

    Returns
    -------
    methods : Methods or None
        None if one of the two is missing.
    """
    own = {name: getattr(kind, name, None) for base in kind.__mro__[:-1] for name in vars(base)}
    usable = [name for name in reversed(own) if callable(own[name])]
    named = {
        "".join(word for word in words.without_verbs(name) if word not in words.STAGES): name
        for name in usable
    }
    named.update((words.plain(name), name) for name in usable)
    forward = _first(words.FORWARD_METHODS, own, named)
    backward = _first(words.BACKWARD_METHODS, own, {**named, words.plain(forward): ""})
    return Methods(forward, backward) if forward and backward else None


def _first(names, own, named):
    """Return the first usual name that a class has, with any capitals and underscores."""
    for name in names:
        if callable(own.get(name)) and named.get(words.plain(name)):
            return name
        if not name.startswith("_") and named.get(words.plain(name)):
            return named[words.plain(name)]
    return ""


def keeps_in_call(kind, forward):
    """Return whether calling an object keeps something in it, and then calls its forward.

    Parameters
    ----------
    kind : type
        The class.
    forward : str
        Name of its forward method.

    Returns
    -------
    bool
        True if ``__call__`` sets attributes, so that ``layer(x)`` is more than its forward.
    """
    tree = tree_of(kind.__call__)
    attributes = [n for n in ast.walk(tree or ast.Pass()) if isinstance(n, ast.Attribute)]
    is_kept = any(isinstance(node.ctx, ast.Store) for node in attributes)
    return is_kept and any(node.attr == forward for node in attributes)


def free_methods(kind):
    """Return the methods of a class that need no attribute of an object.

    They are static, or read only other such methods of ``self`` and values of the class, as
    ``sigmoid_prime`` of a network does.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    dict of str to callable
        Functions without ``self``, by name; those of base classes are left out.

    Examples
    --------
    >>> list(free_methods(type("Net", (), {"relu": staticmethod(abs)})))
    ['relu']
    >>> free_methods(type("Failure", (ValueError,), {"text": lambda self: "a"}))
    {}
    >>> free_methods(type("Name", (str,), {"text": lambda self: "a"}))
    {}
    """
    try:
        blank = object.__new__(kind)
    except TypeError:  # it is abstract, or needs values, as a tuple, a text or an exception does
        return {}
    return {
        name: getattr(blank, name)
        for name, value in vars(kind).items()
        if not name.startswith("__")
        and (isinstance(value, staticmethod) or inspect.isfunction(value))
        and is_free(kind, name)
    }


def is_free(kind, name, callers=()):
    """Return whether a method reads nothing of its object that the constructor sets.

    Parameters
    ----------
    kind : type
        The class.
    name : str
        Name of the method, or of any other attribute.
    callers : tuple of str
        Methods that call it, which are decided elsewhere.

    Returns
    -------
    bool
        False if the source of the method is not available.
    """
    method = inspect.getattr_static(kind, name, None)
    if isinstance(method, (staticmethod, classmethod)):
        return True
    tree = tree_of(method) if inspect.isfunction(method) else None
    if tree is None or not tree.args.args:
        return False
    own = tree.args.args[0].arg
    read = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == own
    ]
    used = sum(isinstance(node, ast.Name) and node.id == own for node in ast.walk(tree))
    return used == len(read) and all(
        other in callers or other == name or is_free(kind, other, (*callers, name))
        for other in read
    )


def method_of(kind, name):
    """Return a method as a function that is called with the object as its first argument.

    Parameters
    ----------
    kind : type
        The class.
    name : str
        Name of the method. It may be a static method or a class method.

    Returns
    -------
    function : callable
        ``function(holder, *arguments)``. For a static method, ``holder`` is ignored; for a class
        method, it is replaced by ``kind``.

    Raises
    ------
    AttributeError
        If the class has no attribute of this name.
    """
    method = inspect.getattr_static(kind, name)
    if not isinstance(method, (staticmethod, classmethod)):
        return method
    first = (kind,) if isinstance(method, classmethod) else ()
    adapted = Adapted(
        method.__func__,
        lambda source, holder, *arguments, **options: source(*first, *arguments, **options),
    )
    signature = inspect.signature(method.__func__)
    holder = inspect.Parameter("holder", inspect.Parameter.POSITIONAL_ONLY)
    others = list(signature.parameters.values())[len(first) :]
    adapted.__signature__ = signature.replace(parameters=[holder, *others])
    return adapted
