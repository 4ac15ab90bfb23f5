"""Edits of whole statements: accumulated or overwritten, left out, moved, written elsewhere; loops in another order."""

import ast

import numpy as np

from ibpcl.verify.edits.edit import (
    Edit,
    Slot,
    belongs,
    call,
    exchanges,
    in_place,
    is_numeric,
    name_of,
    put,
    stepped,
    text,
)
from ibpcl.verify.edits.indices import other_indices, parts_of, subscript

MOST_UNPACKED = 6       # names on the left of one assignment that are exchanged


def of_statements(tree, scope, slices):
    """Yield the edits of the statements of a function.

    Parameters
    ----------
    tree : ast.FunctionDef
    scope : dict
        The variables that it had when it returned.
    slices : list of ast.Slice
        All slices of the function.

    Yields
    ------
    Edit
    """
    known = set()
    for parent in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(parent, field, None)
            for index, statement in enumerate(statements if isinstance(statements, list) else ()):
                slot = Slot(statement, parent, field, index)
                yield from _of_statement(slot, known, scope, slices)


def _of_statement(slot, known, scope, slices):
    statement = slot.node
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        yield from _of_assignment(slot, known, scope, slices)
    elif isinstance(statement, ast.AugAssign):
        yield from _of_accumulation(slot, scope, slices)
    elif isinstance(statement, ast.For):
        yield from _of_loop(statement)
        yield from _last_step(statement, scope)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield _left_out(4, "missing_term", slot, "a step too many")


def _left_out(rank, kind, slot, why, after=""):
    """Return the edit that leaves out a statement."""
    return put(rank, kind, slot, ast.Pass(), lambda: f"{why}: `{text(slot.node)}`{after}")


def _of_assignment(slot, known, scope, slices):
    """Yield the edits of an assignment; ``known`` are the names that were assigned before it, and grows."""
    statement = slot.node
    target = statement.targets[0]
    store, element = text(target), isinstance(target, ast.Subscript)
    if isinstance(target, ast.Tuple):
        known.update(item.id for item in target.elts if isinstance(item, ast.Name))
        yield from _unpacked(slot, target, scope)
        return
    if element or store in known:
        yield put(1, "missing_term", slot, ast.AugAssign(target, ast.Add(), statement.value),
                  lambda: f"`{store}` is overwritten where contributions must be accumulated (a term of each earlier "
                          f"one is missing): `{store} += ...` belongs there")
    if element:
        if isinstance(statement.value, ast.Constant):
            yield _left_out(0, "few_entries", slot, "a step too many", " overwrites what must stay")
        else:
            yield _left_out(2, "few_entries", slot, "a step too many")
        yield _scattered(slot, target)
        yield from _other_target(slot, target, scope, slices)
    if store in known and isinstance(target, ast.Name):
        yield _left_out(4, "missing_term", slot, "a step too many")
    known.add(store)
    value = scope.get(store)
    if isinstance(target, ast.Name) and is_numeric(value, "fiubc"):
        for name, other in scope.items():
            if name != store and is_numeric(other, "f") and np.shape(other) == np.shape(value):
                yield from _one_more_term(slot, target, name)


def _unpacked(slot, target, scope):
    for items, a, b in exchanges(target.elts) if len(target.elts) <= MOST_UNPACKED else ():
        indices = all(isinstance(scope.get(text(item)), (int, np.integer)) for item in (a, b))
        yield put(5, "transposed" if indices else "shifted", slot,
                  ast.Assign([ast.Tuple(items, ast.Store())], slot.node.value),
                  lambda a=a, b=b: f"`{text(a)}` and `{text(b)}` are unpacked in the wrong order (exchanged) in "
                                   f"`{text(slot.node)}`")


def _one_more_term(slot, target, name):
    for operator, sign in ((ast.Add(), "+"), (ast.Sub(), "-")):
        value = ast.BinOp(slot.node.value, operator, ast.Name(name, ast.Load()))
        yield put(5, "missing_term", slot, ast.Assign([target], value),
                  lambda sign=sign: f"a term is missing: `{sign} {name}` belongs in `{text(slot.node)}`")


def _scattered(slot, target):
    """Return the edit that adds at repeated indices as often as they occur."""
    adding = ast.Expr(call("add.at", target.value, target.slice, slot.node.value))
    return put(2, "few_entries", slot, adding, lambda: f"repeated indices in `{text(target)}` keep the last "
                                                       "contribution only: accumulate with np.add.at")


def _other_target(slot, target, scope, slices):
    """Yield other indices to write to."""
    statement, parts = slot.node, parts_of(target)
    options = list(other_indices(parts, scope, slices))
    for n, part in enumerate(parts):
        if isinstance(part, (ast.Name, ast.Constant, ast.BinOp)) and getattr(part, "value", 0) is not None:
            options += [(3, "shifted", [*parts[:n], new, *parts[n + 1:]], "off by one in an index (shifted)")
                        for new in stepped(part)]
    for rank, kind, new, why in options:
        written = subscript(target.value, new, ast.Store())
        changed = ast.Assign([written], statement.value) if isinstance(statement, ast.Assign) else \
            ast.AugAssign(written, statement.op, statement.value)
        yield put(rank, kind, slot, changed, lambda written=written, why=why:
                  f"{why}: `{text(written)}` belongs where `{text(target)}` is written to")


def _of_accumulation(slot, scope, slices):
    statement = slot.node
    target, value = statement.target, statement.value
    if isinstance(statement.op, (ast.Add, ast.Sub)):
        new = ast.AugAssign(target, ast.Sub() if isinstance(statement.op, ast.Add) else ast.Add(), value)
        yield put(1, "sign", slot, new, lambda: f"the sign is wrong: {belongs(new, statement)}")
        yield put(3, "missing_term", slot, ast.Assign([target], value),
                  lambda: f"a term too many: `{text(statement)}` accumulates what belongs to earlier steps; `=` "
                          "belongs there")
    yield _left_out(3, "missing_term", slot, "a term too many")
    if isinstance(target, ast.Subscript):
        if isinstance(statement.op, ast.Add):
            yield _scattered(slot, target)
        yield from _other_target(slot, target, scope, slices)


def _of_loop(statement):
    """Yield the loop in the opposite order."""
    order = statement.iter
    if isinstance(order, ast.Call) and name_of(order.func) == "reversed" and len(order.args) == 1:
        new, way = order.args[0], "forward"
    elif isinstance(order, ast.Call) and name_of(order.func) == "range" and len(order.args) == 3:
        new, way = _called("reversed", order), "in the opposite order"
    else:
        new, way = _called("reversed", _called("list", order)), "backward (reversed)"

    def words():
        return f"the loop `for {text(statement.target)} in {text(order)}` runs in the wrong order: it must run " \
            f"{way}, so that terms of later steps flow back to earlier ones"

    yield Edit(2, "shifted", words, statement, (in_place(Slot(order, statement, "iter", None), new),))


def _last_step(statement, scope):
    """Yield a step more at the end of a loop: what is carried on is multiplied, or starts from zero again."""
    changed = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)
               and isinstance(node.ctx, ast.Store) and is_numeric(scope.get(node.id))}
    read = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for name in sorted(changed & read):
        others = [other for other in scope if is_numeric(scope[other]) and other != name
                  and _fits(scope[other], scope[name])]
        for factor, kind, why in (*((ast.Name(other, ast.Load()), "elementwise_factor", "") for other in others),
                                  (ast.Constant(0), "missing_term", ": it has been used up, and is a term too many")):
            step = ast.Assign([ast.Name(name, ast.Store())],
                              ast.BinOp(ast.Name(name, ast.Load()), ast.Mult(), factor))

            def words(step=step, why=why):
                return f"a step is missing at the end of the loop: `{text(step)}`{why}"

            ast.fix_missing_locations(ast.copy_location(step, statement.body[-1]))
            yield Edit(6, kind, words, statement, ((statement, "body", None, [*statement.body, step]),))


def _fits(value, other):
    try:
        return np.broadcast_shapes(np.shape(value), np.shape(other)) == np.shape(other)
    except ValueError:
        return False


def _called(name, argument):
    return ast.Call(ast.Name(name, ast.Load()), [argument], [])
