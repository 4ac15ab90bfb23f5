"""The small changes of one place of a gradient function by which a wrong gradient may become right.

Each edit undoes a slip that is usual in derivations by hand: a sign, a constant, an operand too many, a missing
transpose, an index that is one off, another variable's name, ``=`` where ``+=`` belongs, a loop in the wrong order.
"""

import ast

from ibpcl.verify.edits.edit import name_of
from ibpcl.verify.edits.indices import of_einsum, of_index, of_number, of_subscript
from ibpcl.verify.edits.names import of_names
from ibpcl.verify.edits.rules import LATE, by_rule
from ibpcl.verify.edits.statements import of_statements

MOST_SLICES = 8         # of a function that stand for one another

__all__ = ["LATE", "edits_of"]


def edits_of(code, recording, suspects):
    """Return all edits of a function and its helpers, the simplest first.

    Parameters
    ----------
    code : Code
    recording : Recording
        Of a run of the function.
    suspects : ibpcl.verify.suspects.Suspects
        Edits of other places are left out.
    """
    values, scopes = recording.values, recording.scopes
    found, alike, slices = [], {}, {name: _slices(tree) for name, tree in code.trees.items()}
    places = [place for place in code.places if suspects.suspect(place.node)]
    for place in places:
        edits = list(_of_expression(place, values, slices[place.function]))
        alike.setdefault((place.function, place.inside, place.text), []).append(edits)
        found += edits
    found += [edit for edits in alike.values() if len(edits) > 1 for edit in _in_all(edits)]
    for name, tree in code.trees.items():
        found += of_statements(tree, scopes.get(name, {}), slices[name])
        found += of_names([place for place in places if place.function == name], recording, scopes.get(name, {}))
    return sorted(filter(suspects.allow, found), key=lambda edit: edit.rank)


def _of_expression(place, values, slices):
    """Yield the edits of one expression."""
    node = place.node
    if place.inside in ("index", "range"):
        yield from of_index(place)
    if place.inside == "formula":
        yield from by_rule(place, values)
        if isinstance(node, ast.Constant):
            yield from of_number(place)
        elif isinstance(node, ast.Subscript):
            yield from of_subscript(place, slices)
        elif isinstance(node, ast.Call) and name_of(node.func) == "einsum" and isinstance(node.args[0], ast.Constant):
            yield from of_einsum(place)


def _slices(tree):
    """Return some slices of a function, each once."""
    slices = {ast.dump(node): node for node in ast.walk(tree) if isinstance(node, ast.Slice)}
    return list(slices.values())[:MOST_SLICES]


def _in_all(edits):
    """Yield the edits that do the same to every occurrence of an expression."""
    if len({len(item) for item in edits}) == 1:
        for same in zip(*edits, strict=True):
            if same[0].rank < LATE - 2 and len({edit.kind for edit in same}) == 1:
                yield same[0]._replace(rank=same[0].rank + 2, puts=tuple(put for edit in same for put in edit.puts),
                                       words=lambda first=same[0]: f"{first.words()} (wherever it stands)")
