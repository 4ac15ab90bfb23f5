"""The small changes of one place of a gradient function by which a wrong gradient may become right.

Each edit undoes a slip that is usual in derivations by hand: a sign, a constant, an operand too many, a missing
transpose, an index that is one off, another variable's name, ``=`` where ``+=`` belongs, a loop in the wrong order.
"""

import ast

from ibpcl.verify.edits.edit import LATE
from ibpcl.verify.edits.expressions import of_expression
from ibpcl.verify.edits.grafts import grafts_of, is_pure
from ibpcl.verify.edits.statements import of_statements
from ibpcl.verify.edits.variables import of_variables

MOST_SLICES = 8         # of a function that stand for one another

__all__ = ["LATE", "edits_of", "grafts_of", "is_pure"]


def edits_of(code, values, scopes):
    """Return all edits of a function and its helpers, the simplest first.

    Parameters
    ----------
    code : Code
    values : dict of int to object
        First recorded value of each place.
    scopes : dict of str to dict
        For each function name the variables that it had when it returned.
    """
    found, alike, slices = [], {}, {name: _slices(tree) for name, tree in code.trees.items()}
    for place in code.places:
        edits = list(of_expression(place, values, scopes.get(place.function, {}), slices[place.function]))
        alike.setdefault((place.function, place.inside, place.text), []).append(edits)
        found += edits
    found += [edit for edits in alike.values() if len(edits) > 1 for edit in _in_all(edits)]
    for name, tree in code.trees.items():
        found += of_statements(tree, scopes.get(name, {}), slices[name])
        found += of_variables(name, code, values, scopes.get(name, {}))
    return sorted(found, key=lambda edit: edit.rank)


def _slices(tree):
    """Return the slices of a function, each once."""
    slices = {ast.dump(node): node for node in ast.walk(tree) if isinstance(node, ast.Slice)}
    return list(slices.values())[:MOST_SLICES]


def _in_all(edits):
    """Yield the edits that do the same to every occurrence of an expression."""
    if len({len(item) for item in edits}) == 1:
        for same in zip(*edits, strict=True):
            if same[0].rank < LATE - 2 and len({edit.kind for edit in same}) == 1:
                yield same[0]._replace(rank=same[0].rank + 2, puts=tuple(put for edit in same for put in edit.puts),
                                       words=lambda first=same[0]: f"{first.words()} (wherever it stands)")
