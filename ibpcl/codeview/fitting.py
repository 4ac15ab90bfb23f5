"""Edits that make the shapes of a gradient function that raises fit together.

They are tried beside the other edits (:mod:`ibpcl.codeview.slips`).  In a function that runs, most
of them would only change the shape of a result, so they are of no use there.
"""

import ast
import copy
from itertools import permutations

import numpy as np

from ibpcl.codeview.reductions import AXES, NAMES, is_method, of_reduction
from ibpcl.codeview.rewrite import Edit, Slot, exchanges, in_place, replaced
from ibpcl.codeview.rules import LATE, infix
from ibpcl.codeview.syntax import is_numeric, items_of, name_of, parsed, text_of, value_at

NAMED = (ast.Name, ast.Attribute, ast.Subscript)
MOST_OTHERS = 30  # variables that may stand in the place of one


def fitting_edits(places, values, scope):
    """Yield the edits of some places of a function after which other shapes meet.

    Parameters
    ----------
    places : list of Place
        The places to change, of one function.
    values : dict
        The values of the places up to the exception, by their numbers.
    scope : dict
        Local variables of the function when it raised.

    Yields
    ------
    Edit
    """
    arrays = _arrays(scope)
    for place in places:
        if place.inside != "formula":
            continue
        if isinstance(place.node, ast.Call):
            yield from of_reduction(place)
            yield from _of_arguments(place)
        yield from _of_product(place, values)
        value = value_at(place.node, values)
        if isinstance(place.node, NAMED):
            yield from _of_matrix(place, value)
            for other in arrays:
                if other != place.text and (value is None or is_numeric(value, "fiub")):
                    new = parsed(other)
                    yield replaced(5, "raises", place, new, "another variable is meant")
    for statement in dict.fromkeys(place.statement for place in places):
        yield from _of_statement(statement, [p for p in places if p.statement is statement], arrays)


def _arrays(scope):
    """Return the arrays in scope by their source texts, those in containers last."""
    found = {name: value for name, value in scope.items() if is_numeric(value) and np.ndim(value)}
    for name, holder in scope.items():
        if isinstance(holder, (tuple, list, dict)) or hasattr(holder, "__dict__"):
            for text, item in items_of(name, holder):
                if is_numeric(item) and np.ndim(item):
                    found.setdefault(text, item)
    return dict(list(found.items())[:MOST_OTHERS])


def _of_arguments(place):
    """Yield another ``axis`` of a function, and sizes of a new shape in another order."""
    call = place.node
    for n, word in enumerate(call.keywords):
        if word.arg == "axis" and name_of(call.func) not in NAMES:
            for axis in AXES:
                changed = list(call.keywords)
                changed[n] = ast.keyword("axis", ast.Constant(axis))
                new = ast.Call(call.func, call.args, changed)
                yield replaced(3, "shifted", place, new, "along the wrong axis")
    if name_of(call.func) not in ("reshape", "transpose", "swapaxes", "moveaxis"):
        return
    sizes = call.args if is_method(call) else call.args[1:]
    first = call.args[: len(call.args) - len(sizes)]
    inner = sizes[0].elts if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple) else sizes
    orders = list(permutations(inner)) if len(inner) <= 4 else [e[0] for e in exchanges(inner)]
    for order in orders:
        if list(order) != list(inner):
            given = list(order) if inner is sizes else [ast.Tuple(list(order), ast.Load())]
            new = ast.Call(call.func, [*first, *given], call.keywords)
            yield replaced(2.9, "transposed", place, new, "the axes are in another order")
    plain = call.func.value if is_method(call) else call.args[0] if call.args else None
    if plain is not None:
        yield replaced(2.8, "transposed", place, plain, "this must keep its shape")


def _of_product(place, values):
    """Yield a product of matrices with its operands exchanged and transposed."""
    node = infix(place.node, values)
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        return
    left = node.left
    right = node.right
    for a, b in ((right, left), (left, right)):
        for first, second in ((True, False), (False, True), (True, True)):
            if a is left and not (first and second):
                continue  # among the other edits
            new = ast.BinOp(
                _turned(a, values) if first else a,
                ast.MatMult(),
                _turned(b, values) if second else b,
            )
            why = "the operands of the matrix product are exchanged or must be transposed"
            yield replaced(3.5, "transposed", place, new, why)


def _turned(node, values):
    """Return a matrix transposed, or without its transpose."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return node.value
    attribute = "T" if np.ndim(value_at(node, values)) < 3 else "mT"
    return ast.Attribute(node, attribute, ast.Load())


def _of_matrix(place, value):
    """Yield an array transposed, and with one more axis."""
    axes = np.ndim(value) if is_numeric(value, "fiub") else 0
    if axes >= 2 and not (isinstance(place.parent, ast.Attribute) and place.parent.attr == "T"):
        new = ast.Attribute(place.node, "T" if axes == 2 else "mT", ast.Load())
        yield replaced(4, "transposed", place, new, "a transpose is missing")
    if axes >= 1 and isinstance(place.parent, ast.BinOp):
        for index in ("..., None", ":, None", "None"):
            new = parsed(f"x[{index}]")
            new.value = place.node
            yield replaced(LATE, "raises", place, new, "an axis is missing")


def _of_statement(statement, places, arrays):
    """Yield two variables exchanged in a statement, on its right side or among its targets."""
    uses = {}
    for place in places:
        if place.inside == "formula" and isinstance(place.node, NAMED) and place.text in arrays:
            uses.setdefault(place.text, []).append(place)
    for _, a, b in exchanges(list(uses)):
        if a not in b and b not in a:
            puts = tuple(
                in_place(place, copy.deepcopy(uses[other][0].node))
                for name, other in ((a, b), (b, a))
                for place in uses[name]
            )
            yield Edit(
                4, "swapped", lambda a=a, b=b: f"`{a}` and `{b}` are exchanged", statement, puts
            )
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, (ast.Tuple, ast.List)):
        return
    for order, first, second in exchanges(target.elts):
        new = type(target)(list(order), ast.Store())
        changed = ast.copy_location(ast.Assign([new], statement.value), statement)

        def words(first=first, second=second, changed=changed):
            return (
                f"`{text_of(first)}` and `{text_of(second)}` are unpacked in the wrong order: "
                f"`{text_of(statement)}` should be `{text_of(changed)}`"
            )

        yield Edit(
            3, "raises", words, statement, (in_place(Slot(target, statement, "targets", 0), new),)
        )
