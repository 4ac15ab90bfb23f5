"""The small changes of one place of a gradient function by which a wrong gradient may become right.

Each edit undoes a slip that is usual in derivations by hand: a sign, a constant, an operand too many, a missing
transpose, an index that is one off, another variable's name, ``=`` where ``+=`` belongs, a loop in the wrong order.
"""

import ast

import numpy as np

from ibpcl.verify.edits.edit import Edit, Slot, in_place, is_numeric, name_of, replaced
from ibpcl.verify.edits.indices import of_index, of_number, of_subscript
from ibpcl.verify.edits.names import of_names
from ibpcl.verify.edits.rules import LATE, by_rule

__all__ = ["LATE", "edits_of"]


def edits_of(code, recording, suspects):
    """Return all edits of a function and its helpers, the simplest first, of suspect places only.

    ``recording`` is a :class:`ibpcl.verify.bench.Recording` of a run of it.
    """
    found = [edit for place in code.places if suspects.suspect(place.node)
             for edit in _of_expression(place, recording.values)]
    for name, tree in code.trees.items():
        scope = recording.scopes.get(name, {})
        found += of_statements(tree, scope)
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


def of_statements(tree, scope):
    """Yield the edits of the statements of a function; ``scope`` has its variables when it returned."""
    known = set()
    for parent in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(parent, field, None)
            for index, statement in enumerate(statements if isinstance(statements, list) else ()):
                target = getattr(statement, "target", None) or getattr(statement, "targets", [None])[0]
                element, store = isinstance(target, ast.Subscript), ast.unparse(target) if target else ""
                slot = Slot(statement, parent, field, index, element or store in known)
                known |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)} if target else set()
                yield from by_rule(slot, {})
                if isinstance(statement, ast.For):
                    yield _other_order(statement)
                elif element:
                    held = ("targets", 0) if isinstance(statement, ast.Assign) else ("target", None)
                    yield from of_subscript(Slot(target, statement, *held))
                elif isinstance(statement, ast.Assign) and is_numeric(scope.get(store), "fiubc"):
                    yield from _one_more_term(slot, target, scope)


def _one_more_term(slot, target, scope):
    """Yield one more term of the shape of what is assigned."""
    for name, other in scope.items():
        if name != target.id and is_numeric(other) and np.shape(other) == np.shape(scope[target.id]):
            for operator, sign in ((ast.Add(), "+"), (ast.Sub(), "-")):
                new = ast.BinOp(slot.node.value, operator, ast.Name(name, ast.Load()))
                yield replaced(5, "missing_term", slot, ast.Assign([target], new),
                               f"a term is missing, `{sign} {name}`")


def _other_order(statement):
    """Return the edit that runs a loop in the opposite order."""
    order = statement.iter
    if isinstance(order, ast.Call) and name_of(order.func) == "reversed":
        new, way = order.args[0], "forward"
    else:
        listed = ast.Call(ast.Name("list", ast.Load()), [order], [])
        new, way = ast.Call(ast.Name("reversed", ast.Load()), [listed], []), "backward (reversed)"

    def words():
        return f"the loop `for {ast.unparse(statement.target)} in {ast.unparse(order)}` runs in the wrong order: it " \
            f"must run {way}, so that terms of later steps flow back to earlier ones"

    return Edit(2, "shifted", words, statement, (in_place(Slot(order, statement, "iter", None), new),))
