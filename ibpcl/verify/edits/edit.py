"""What an edit is, and how one is made: nodes put in the place of others, with a sentence that names both."""

import ast
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

LATE = 7                # edits of this rank and above are tried after everything else


class Edit(NamedTuple):
    """A change of the source; of several that work, the one of smallest ``rank`` is the simplest."""

    rank: float
    kind: str
    words: Callable         # () -> str, once it has been found to work
    node: ast.AST           # where
    puts: tuple             # (parent, field, index, new node)

    def swap(self):
        """Carry the change out, and return the edit that undoes it."""
        undone = []
        for parent, field, index, new in self.puts:
            old = getattr(parent, field) if index is None else getattr(parent, field)[index]
            undone.append((parent, field, index, old))
            if isinstance(new, ast.AST):
                ast.fix_missing_locations(new)
            if index is None:
                setattr(parent, field, new)
            else:
                getattr(parent, field)[index] = new
        return self._replace(puts=tuple(reversed(undone)))


class Slot(NamedTuple):
    """A statement in its list; :class:`ibpcl.verify.source.Place` is the same for an expression."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int


def replaced(rank, kind, place, new, why, shown=None):
    """Return the edit that puts ``new`` in a place; ``why`` opens its sentence, ``shown`` is what is around it."""
    return put(rank, kind, place, new, lambda: f"{why}: {belongs(new, place.node, shown)}")


def put(rank, kind, place, new, words):
    """Return the edit that puts ``new`` in a place, with a function for its sentence."""
    return Edit(rank, kind, words, place.node, (in_place(place, new),))


def put_all(rank, kind, places, make, words):
    """Return the edit that puts ``make(node)`` in each of several places, with a function for its sentence."""
    return Edit(rank, kind, words, places[0].node, tuple(in_place(place, make(place.node)) for place in places))


def in_place(place, new):
    """Return the item of ``puts`` for a new node, which gets the position of the one that it replaces."""
    return place.parent, place.field, place.index, ast.copy_location(new, place.node)


def belongs(new, old, shown=None):
    """Return "`new` belongs where `old` stands, in `shown`"."""
    inside = f", in `{text(shown)}`" if shown is not None and shown is not old else ""
    return f"`{text(new)}` belongs where `{text(old)}` stands{inside}"


def around(place):
    """Return the smallest expression around a place that shows what it belongs to."""
    return place.parent if isinstance(place.parent, (ast.BinOp, ast.Call, ast.Compare, ast.UnaryOp)) else place.node


def exchanges(items):
    """Yield a sequence with two of its elements exchanged, for every pair: (list, first, second)."""
    for a, b in combinations(range(len(items)), 2):
        changed = list(items)
        changed[a], changed[b] = items[b], items[a]
        yield changed, items[a], items[b]


def text(node):
    """Return a node as source."""
    return ast.unparse(node)


def name_of(function):
    """Return the name of the function that is called, without its module or object."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def sibling(function, name):
    """Return the function of another name, in the same module."""
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def call(name, *arguments, **keywords):
    """Return the call of a NumPy function."""
    path = ast.Name("np", ast.Load())
    for part in name.split("."):
        path = ast.Attribute(path, part, ast.Load())
    return ast.Call(path, list(arguments), [ast.keyword(word, value) for word, value in keywords.items()])


def number(value):
    """Return the node of a number; of None, for an end of a slice, None."""
    if value is None:
        return None
    return ast.Constant(value) if value >= 0 else negated(ast.Constant(-value))


def negated(node):
    """Return minus an expression."""
    return ast.UnaryOp(ast.USub(), node)


def transposed(node):
    """Return an expression with its last two axes exchanged."""
    return call("swapaxes", node, ast.Constant(-1), ast.Constant(-2))


def attribute_t(node):
    """Return an expression with ``.T``, as a person would write it."""
    return ast.Attribute(node, "T", ast.Load())


def stepped(node):
    """Return an index one lower, and one higher."""
    return [ast.BinOp(node, operator, ast.Constant(1)) for operator in (ast.Sub(), ast.Add())]


def is_sum(node):
    """Return whether an expression is a sum or a difference."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))


def value_at(node, values):
    """Return the recorded value of an expression, None if there is none."""
    return values.get(getattr(node, "place", None))


def is_numeric(value, kinds="fc"):
    """Return whether a value is an array or a number of one of NumPy's kinds."""
    return isinstance(value, (np.ndarray, np.generic, float)) and np.asarray(value).dtype.kind in kinds
