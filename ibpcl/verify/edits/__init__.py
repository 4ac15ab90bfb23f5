"""The small changes of one place of a gradient function by which a wrong gradient may become right.

Each edit undoes a slip that is usual in derivations by hand: a sign, a constant, an operand too many, a missing
transpose, an index that is one off, another variable's name, ``=`` where ``+=`` belongs, a loop in the wrong order.
"""

import ast

from ibpcl.verify.edits.indices import of_index, of_number, of_subscript
from ibpcl.verify.edits.names import of_names
from ibpcl.verify.edits.rules import LATE, by_rule
from ibpcl.verify.edits.statements import of_statements

__all__ = ["LATE", "edits_of"]


def edits_of(code, recording, suspects):
    """Return all edits of a function and its helpers, the simplest first, of suspect places only.

    ``recording`` is a :class:`ibpcl.verify.bench.Recording` of a run of it.
    """
    found = [edit for place in code.places if suspects.suspect(place.node)
             for edit in _of_expression(place, recording.values)]
    for name, tree in code.trees.items():
        scope = recording.scopes.get(name, {})
        found += of_statements(tree)
        found += of_names([place for place in code.places if place.function == name], recording, scope, suspects)
    return sorted(filter(suspects.allow, found), key=lambda edit: edit.rank)


def _of_expression(place, values):
    """Yield the edits of one expression."""
    node = place.node
    if place.inside in ("index", "range"):
        yield from of_index(place)
    if place.inside == "formula":
        yield from by_rule(place, values)
        if isinstance(node, ast.Constant):
            yield from of_number(place)
        elif isinstance(node, ast.Subscript):
            yield from of_subscript(place)
