"""Edits of whole statements: one that overwrites instead of adding, a loop run backwards."""

import ast

from ibpcl.verify.edits.edit import Edit, Slot, in_place, name_of
from ibpcl.verify.edits.indices import of_subscript
from ibpcl.verify.edits.rules import by_rule


def of_statements(tree):
    """Yield the edits of the statements of a function."""
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
