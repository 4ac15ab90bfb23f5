"""Small changes of a gradient function that can make a wrong gradient right.

Each edit undoes a slip that is common in derivations by hand: a sign, a constant, an extra operand,
a missing transpose, an index that is off by one, another variable's name, ``=`` instead of ``+=``,
a loop in the wrong order.
"""

import ast

import numpy as np

from ibpcl.codeview.carries import (
    of_arguments,
    of_carries,
    of_derivative_at_dout,
    of_single_steps,
)
from ibpcl.codeview.indices import of_index, of_number, of_subscript
from ibpcl.codeview.layout import of_blocks, of_flattening, of_kernels, of_strides
from ibpcl.codeview.names import of_names
from ibpcl.codeview.reductions import of_axes
from ibpcl.codeview.rewrite import Edit, Slot, in_place, replaced
from ibpcl.codeview.rules import LATE, by_rule
from ibpcl.codeview.syntax import is_numeric, items_of, name_of, text_of

__all__ = ["LATE", "edits_of"]

REPEATED = LATE - 0.5  # rank of one change in several places


def edits_of(code, recording, suspects):
    """Return the edits of a function and its helpers, the simplest first.

    Parameters
    ----------
    code : Code
        Source of the function.
    recording : Recording
        The values of its places in one run.
    suspects : Suspects
        Filter of the places and edits.

    Returns
    -------
    list of Edit
        The allowed edits by rank.
    """
    edits = [
        edit
        for place in code.places
        if suspects.suspect(place.node)
        for edit in _of_expression(place, recording.values)
    ]
    edits += _repeated(edits)
    for name, tree in code.trees.items():
        scope = recording.scopes.get(name, {})
        places = [place for place in code.places if place.function == name]
        edits += of_statements(tree, scope)
        edits += of_names(places, recording, scope, suspects)
        edits += of_axes(places)
        for place in places:
            edits += _of_known(place, recording.values, scope, places, suspects)
        loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
        for loop in loops:
            edits += [*of_carries(loop, tree, scope), *of_single_steps(loop)]
        edits += _of_written_windows(loops, scope)
    return sorted(filter(suspects.allow, edits), key=lambda edit: edit.rank)


def _repeated(edits):
    """Yield each change of an expression that stands in several places, made in all of them."""
    groups = {}
    for edit in edits:
        if len(edit.puts) == 1 and isinstance(edit.node, ast.expr):
            new = edit.puts[0][-1]
            key = type(edit.node), type(new), ast.unparse(edit.node), ast.unparse(new)
            groups.setdefault(key, []).append(edit)
    for group in groups.values():
        first = group[0]
        puts = {(id(edit.puts[0][0]), *edit.puts[0][1:3]): edit.puts[0] for edit in group}
        if len(puts) > 1:

            def words(first=first, puts=puts):
                return f"in {len(puts)} places, {first.words()}"

            yield first._replace(rank=REPEATED, words=words, puts=tuple(puts.values()))


def _of_known(place, values, scope, places, suspects):
    """Yield the edits of one expression that depend on the variables of its function."""
    node = place.node
    if not suspects.suspect(node):
        return
    if isinstance(node, ast.Subscript):
        yield from of_strides(node, place, scope)
    if isinstance(node, ast.Call) and place.inside == "formula":
        yield from of_arguments(place, values, scope, places)
    if not suspects.linear and place.whole:
        entries = {
            text: value
            for name, holder in scope.items()
            if isinstance(holder, (tuple, list, dict)) or hasattr(holder, "__dict__")
            for text, value in items_of(name, holder)
            if is_numeric(value)
        }
        for name in list(scope):
            if is_numeric(scope[name]) and np.ndim(scope[name]):
                yield from of_derivative_at_dout(place, values, scope, entries, name)


def _of_written_windows(loops, scope):
    """Yield missing strides in the targets of assignments in loops, each statement once."""
    for statement in dict.fromkeys(node for loop in loops for node in ast.walk(loop)):
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            field_and_index = (
                ("targets", 0) if isinstance(statement, ast.Assign) else ("target", None)
            )
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Subscript):
                yield from of_strides(target, Slot(target, statement, *field_and_index), scope)


def _of_expression(place, values):
    """Yield the edits of one expression that depend on its values only."""
    node = place.node
    if place.inside in ("index", "range"):
        yield from of_index(place)
    if place.inside == "formula":
        yield from by_rule(place, values)
        yield from of_kernels(place, values)
        if isinstance(node, ast.Constant):
            yield from of_number(place)
        elif isinstance(node, ast.Subscript):
            yield from of_subscript(place)
            yield from of_blocks(place)
        elif isinstance(node, ast.Call):
            yield from of_flattening(place, values)


def of_statements(tree, scope):
    """Yield the edits of the statements of a function.

    Parameters
    ----------
    tree : ast.FunctionDef
        The function.
    scope : dict
        Its local variables when it returned.

    Yields
    ------
    Edit
    """
    assigned = set()
    for parent in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(parent, field, None)
            for index, statement in enumerate(statements if isinstance(statements, list) else ()):
                target = (
                    getattr(statement, "target", None) or getattr(statement, "targets", [None])[0]
                )
                element = isinstance(target, ast.Subscript)
                store = ast.unparse(target) if target else ""
                slot = Slot(statement, parent, field, index, element or store in assigned)
                assigned |= (
                    {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
                    if target
                    else set()
                )
                yield from by_rule(slot, {})
                if isinstance(statement, ast.For):
                    yield _other_order(statement)
                elif element:
                    field_and_index = (
                        ("targets", 0) if isinstance(statement, ast.Assign) else ("target", None)
                    )
                    yield from of_subscript(Slot(target, statement, *field_and_index))
                elif isinstance(statement, ast.Assign) and is_numeric(scope.get(store), "fiubc"):
                    yield from _one_more_term(slot, target, scope)


def _one_more_term(slot, target, scope):
    """Yield an assignment with one more term: each variable of the right shape."""
    for name, other in scope.items():
        if (
            name != target.id
            and is_numeric(other)
            and np.shape(other) == np.shape(scope[target.id])
        ):
            for operator, sign in ((ast.Add(), "+"), (ast.Sub(), "-")):
                new = ast.BinOp(slot.node.value, operator, ast.Name(name, ast.Load()))
                yield replaced(
                    5,
                    "missing_term",
                    slot,
                    ast.Assign([target], new),
                    f"a term is missing, `{sign} {name}`",
                )


def _other_order(statement):
    """Return the edit that runs a loop in the opposite order."""
    order = statement.iter
    if isinstance(order, ast.Call) and name_of(order.func) == "reversed":
        new = order.args[0]
        direction = "forward"
    else:
        listed = ast.Call(ast.Name("list", ast.Load()), [order], [])
        new = ast.Call(ast.Name("reversed", ast.Load()), [listed], [])
        direction = "backward (reversed)"

    def words():
        return (
            f"the loop `for {text_of(statement.target)} in {text_of(order)}` runs in the "
            f"wrong order: it must run {direction}, so that terms of later steps flow back to "
            "earlier ones"
        )

    return Edit(
        2, "shifted", words, statement, (in_place(Slot(order, statement, "iter", None), new),)
    )
