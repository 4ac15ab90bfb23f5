"""Edits: changes of a syntax tree, each with a sentence that describes it."""

import ast
import copy
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

from ibpcl.codeview.syntax import parsed, put, text_of


class Edit(NamedTuple):
    """A change of the source.

    Attributes
    ----------
    rank : float
        Simpler changes have smaller ranks.
    kind : str
        Kind of the mistake that the change mends.
    words : callable
        ``words()`` returns a description of the mistake.  It is made when the change has been found
        to work.
    node : ast.AST
        The node that gives the line of the mistake.
    puts : tuple of tuple
        The replaced nodes: (parent, field, index, new node).  The index is None if the field is not
        a list.
    same : tuple of str
        Equal for changes that are one slip in several places; empty for a change of one place only.
    """

    rank: float
    kind: str
    words: Callable
    node: ast.AST
    puts: tuple
    same: tuple = ()

    def swap(self):
        """Make the change in the syntax tree.

        Returns
        -------
        Edit
            The change that undoes it.
        """
        undone = [put(*item) for item in self.puts]
        return self._replace(puts=tuple(reversed(undone)))


def replaced(rank, kind, place, new, why):
    """Return the edit that replaces the node at one place.

    Parameters
    ----------
    rank : float
        Rank of the edit.
    kind : str
        Kind of the mistake.
    place : Place
        The node to replace.
    new : ast.AST
        The new node.
    why : str
        Beginning of the description; both expressions follow.

    Returns
    -------
    Edit
    """
    return Edit(
        rank, kind, lambda: f"{why}: {belongs(new, place)}", place.node, (in_place(place, new),)
    )


def in_place(place, new):
    """Return the item of :attr:`Edit.puts` that replaces the node at a place.

    Parameters
    ----------
    place : Place
        The node to replace.
    new : ast.AST
        The new node.  It gets the position of the old one.

    Returns
    -------
    tuple
        (parent, field, index, new node).
    """
    return place.parent, place.field, place.index, ast.copy_location(new, place.node)


def belongs(new, place):
    """Return a description of a replacement, as in "`old` should be `new`".

    Parameters
    ----------
    new : ast.AST
        The new node.
    place : Place
        The node that it replaces.

    Returns
    -------
    str
        For a single name or number, the expression around it is added.  For a removed statement,
        only the statement is shown.
    """
    if isinstance(new, ast.Pass):
        return f"`{text_of(place.node)}`"
    words = f"`{text_of(place.node)}` should be `{text_of(new)}`"
    shown = around(place)
    if not isinstance(place.node, (ast.Name, ast.Constant)) or shown is place.node:
        return words
    return f"{words} in `{text_of(shown)}`"


def around(place):
    """Return the smallest expression around a place that shows its role.

    Parameters
    ----------
    place : Place
        A place in the source.

    Returns
    -------
    ast.AST
    """
    if place.inside != "formula":
        return place.around
    return (
        place.parent
        if isinstance(place.parent, (ast.Attribute, ast.BinOp, ast.Call, ast.Compare, ast.UnaryOp))
        else place.node
    )


def exchanges(items):
    """Yield a sequence with two of its elements exchanged, for every pair of elements.

    Parameters
    ----------
    items : sequence
        The elements.

    Yields
    ------
    changed : list
        The elements after the exchange.
    first, second : object
        The two elements.
    """
    for a, b in combinations(range(len(items)), 2):
        changed = list(items)
        changed[a] = items[b]
        changed[b] = items[a]
        yield changed, items[a], items[b]


def renamed(node, names):
    """Return a copy of an expression with names replaced by other expressions.

    Parameters
    ----------
    node : ast.AST
        The expression.
    names : dict of str to str
        Source text of the new expression for each name.

    Returns
    -------
    ast.AST

    Examples
    --------
    >>> ast.unparse(renamed(parsed("x[i:i + k]"), {"i": "2 * i"}))
    'x[2 * i:2 * i + k]'
    """

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, name):
            return parsed(names[name.id]) if name.id in names else name

    return Renaming().visit(copy.deepcopy(node))
