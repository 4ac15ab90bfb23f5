"""What an edit is, and how one is made: a node put in the place of another, with a sentence that
names both.
"""

import ast
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Edit(NamedTuple):
    """A change of the source; of several that work, the one of smallest ``rank`` is the
    simplest.
    """

    rank: float
    kind: str
    words: Callable  # () -> str, once it has been found to work
    node: ast.AST  # where
    puts: tuple  # (parent, field, index, new node)

    def swap(self):
        """Carry the change out, and return the edit that undoes it."""
        undone = []
        for parent, field, index, new in self.puts:
            old = getattr(parent, field) if index is None else getattr(parent, field)[index]
            undone.append((parent, field, index, old))
            ast.fix_missing_locations(new)
            if index is None:
                setattr(parent, field, new)
            else:
                getattr(parent, field)[index] = new
        return self._replace(puts=tuple(reversed(undone)))


class Slot(NamedTuple):
    """A statement, or what it writes to; :class:`ibpcl.verify.diagnosis.source.Place` is the same
    for an expression.
    """

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    again: bool = False  # whether what the statement assigns to had a value before


def replaced(rank, kind, place, new, why):
    """Return the edit that puts ``new`` in a place; ``why`` opens its sentence."""
    return Edit(
        rank, kind, lambda: f"{why}: {belongs(new, place)}", place.node, (in_place(place, new),)
    )


def parsed(text):
    """Return the syntax tree of an expression."""
    return ast.parse(text, mode="eval").body


def in_place(place, new):
    """Return the item of ``puts`` for a new node, which gets the position of the one that it
    replaces.
    """
    return place.parent, place.field, place.index, ast.copy_location(new, place.node)


def belongs(new, place):
    """Return "`new` belongs where `old` stands", and for a single name or number what that is
    in.
    """
    if isinstance(new, ast.Pass):
        return f"`{ast.unparse(place.node)}`"
    words = f"`{ast.unparse(new)}` belongs where `{ast.unparse(place.node)}` stands"
    if not isinstance(place.node, (ast.Name, ast.Constant)):
        return words
    return f"{words}, in `{ast.unparse(around(place))}`"


def around(place):
    """Return the smallest expression around a place that shows what it belongs to."""
    if getattr(place, "inside", "formula") != "formula":
        return place.around
    return (
        place.parent
        if isinstance(place.parent, (ast.BinOp, ast.Call, ast.Compare, ast.UnaryOp))
        else place.node
    )


def exchanges(items):
    """Yield a sequence with two of its elements exchanged, for every pair: (list, first,
    second).
    """
    for a, b in combinations(range(len(items)), 2):
        changed = list(items)
        changed[a] = items[b]
        changed[b] = items[a]
        yield changed, items[a], items[b]


def name_of(function):
    """Return the name of the function that is called, without its module or object."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def value_at(node, values):
    """Return the recorded value of an expression, None if there is none."""
    return values.get(getattr(node, "place", None))


def is_numeric(value, kinds="fc"):
    """Return whether a value is an array or a number of one of NumPy's kinds."""
    return (
        isinstance(value, (np.ndarray, np.generic, float, int))
        and np.asarray(value).dtype.kind in kinds
    )
