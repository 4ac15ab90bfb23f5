"""Edits of an expression: its sign, its operator, a constant, an operand too many, what is missing beside a name."""

import ast

import numpy as np

from ibpcl.verify.edits.calls import of_call
from ibpcl.verify.edits.edit import (
    around,
    attribute_t,
    call,
    is_numeric,
    is_sum,
    name_of,
    negated,
    replaced,
    text,
    transposed,
    value_at,
)
from ibpcl.verify.edits.indices import of_counter, of_index, of_subscript
from ibpcl.verify.edits.products import of_matrix_product

RANKING = ("argmax", "argmin", "argsort", "max", "min", "sort")     # their sign is another function
_COMPARISONS = {ast.Gt: (ast.Lt, ast.GtE), ast.Lt: (ast.Gt, ast.LtE), ast.GtE: (ast.LtE, ast.Gt),
                ast.LtE: (ast.GtE, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,)}


def of_expression(place, values, scope, slices):
    """Yield the edits of one expression.

    Parameters
    ----------
    place : ibpcl.verify.source.Place
    values : dict of int to object
        First recorded value of each place.
    scope : dict
        The variables that the function had when it returned.
    slices : list of ast.Slice
        All slices of the function.

    Yields
    ------
    Edit
    """
    node = place.node
    if place.inside in ("index", "range"):
        yield from of_index(place)
    if isinstance(node, ast.Name) and isinstance(value_at(node, values), (int, np.integer)):
        yield from of_counter(place, scope)
    if place.inside != "formula":
        return
    if isinstance(node, ast.BinOp):
        yield from _of_operator(place, values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield replaced(0, "sign", place, node.operand, "the sign is wrong")
    elif isinstance(node, ast.Call):
        yield from of_call(place, values)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(place)
    elif isinstance(node, ast.Subscript):
        yield from of_subscript(place, values, scope, slices)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield replaced(3, "transposed", place, node.value, "transposed once too often")
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for n, operator in enumerate(_COMPARISONS.get(type(node.ops[0]), ())):
            new = ast.Compare(node.left, [operator()], node.comparators)
            yield replaced(5, "few_entries" if n else "elementwise_factor", place, new, "the comparison is wrong")
    value = value_at(node, values)
    if is_numeric(value):
        yield from _of_value(place, np.asarray(value))
        if isinstance(node, ast.Name):
            yield from _beside_name(place)


def _of_value(place, value):
    """Yield the negative of an array or number, its transpose, its conjugate and its entries in reversed order."""
    node, parent, shape = place.node, place.parent, value.shape
    first_term = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add) and place.field == "left"
    called = isinstance(parent, ast.Call) and name_of(parent.func) not in RANKING
    if not isinstance(node, (ast.Constant, ast.UnaryOp)) and (place.whole or called or first_term):
        yield replaced(0 if place.whole else 1, "sign", place, negated(node), "the sign is wrong")
    factor = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult)
    if len(shape) >= 2 and shape[-1] == shape[-2] and not factor:
        yield replaced(5, "transposed", place, transposed(node), "transposed")
        if isinstance(node, ast.Name):
            both = ast.BinOp(ast.BinOp(node, ast.Add(), attribute_t(node)), ast.Div(), ast.Constant(2))
            yield replaced(6, "missing_term", place, both, f"`{node.id}` is treated as symmetric: a term with "
                           "its transpose is missing (it is used twice, in two different ways)")
    if value.dtype.kind == "c":
        yield replaced(4 if isinstance(node, ast.Name) else 4.5, "transposed", place, call("conj", node),
                       "the complex conjugate is missing (without it the kernel runs in reversed order)")
    if shape and shape[0] > 1 and isinstance(node, (ast.Name, ast.Call, ast.Subscript)):
        for axis in range(len(shape)):
            yield replaced(5, "shifted", place, call("flip", node, ast.Constant(axis)),
                           f"in reversed (flipped) order along axis {axis}")


def _beside_name(place):
    """Yield one more term or factor beside a name."""
    node, one, two = place.node, ast.Constant(1), ast.Constant(2)
    for new in (ast.BinOp(node, ast.Sub(), one), ast.BinOp(node, ast.Add(), one)):
        yield replaced(4, "missing_term", place, new, "a term is missing", around(place))
    yield replaced(4, "elementwise_factor", place, ast.BinOp(one, ast.Sub(), node), "one minus it is meant",
                   around(place))
    yield replaced(5, "elementwise_factor", place, ast.BinOp(node, ast.Pow(), two), f"a factor `{node.id}` is missing",
                   around(place))


def _of_operator(place, values):
    node = place.node
    if is_sum(node):
        yield from _of_sum(place, node.left, node.right, isinstance(node.op, ast.Add), value_at(node, values))
    elif isinstance(node.op, ast.Mult):
        yield from _of_product(place, node.left, node.right, values)
    elif isinstance(node.op, ast.Div):
        yield from _of_quotient(place, node.left, node.right, values)
    elif isinstance(node.op, ast.FloorDiv):
        yield replaced(1, "constant_factor", place, ast.BinOp(node.left, ast.Div(), node.right),
                       "// rounds to whole numbers")
    elif isinstance(node.op, ast.MatMult):
        yield from of_matrix_product(place, node.left, node.right, lambda a, b: ast.BinOp(a, ast.MatMult(), b))


def _of_sum(place, left, right, plus, value):
    kind = "constant_factor" if isinstance(value, (int, np.integer)) else "missing_term"        # N - 1, K + 1
    new = ast.BinOp(left, ast.Sub() if plus else ast.Add(), right)
    yield replaced(1, "sign", place, new, f"the sign is wrong: this must be a {'difference' if plus else 'sum'}")
    for kept, gone in ((left, right), (right if plus else negated(right), left)):
        yield replaced(3, kind, place, kept, f"a term too many, `{text(gone)}`")
    if not plus:
        yield replaced(2, "sign", place, ast.BinOp(right, ast.Sub(), left),
                       "the operands are exchanged, so the sign is wrong")


def _of_product(place, left, right, values):
    yield _without(place, left, right, values)
    yield _without(place, right, left, values)
    yield replaced(3, "elementwise_factor", place, ast.BinOp(left, ast.Div(), right),
                   f"this must be a quotient, a division by `{text(right)}`")
    shapes = [np.shape(value_at(side, values)) for side in (left, right)]
    if all(len(shape) == 2 for shape in shapes) and shapes[0][1] == shapes[1][0]:
        yield replaced(4, "elementwise_factor", place, ast.BinOp(left, ast.MatMult(), right),
                       "an elementwise product stands where a matrix product belongs")


def _of_quotient(place, left, right, values):
    yield _without(place, left, right, values)
    yield replaced(3, "elementwise_factor", place, ast.BinOp(left, ast.Mult(), right),
                   f"this must be a product with `{text(right)}`")
    yield replaced(3, "elementwise_factor", place, ast.BinOp(right, ast.Div(), left), "the operands are exchanged")
    square = ast.BinOp(right, ast.Pow(), ast.Constant(2))
    yield replaced(4, "elementwise_factor", place, ast.BinOp(left, ast.Div(), square),
                   f"the divisor must be squared, one more factor `{text(right)}`")


def _without(place, kept, gone, values):
    """Return the edit that leaves out a factor."""
    constant = np.size(value_at(gone, values)) == 1 and not isinstance(gone, ast.Name)
    return replaced(2, "constant_factor" if constant else "elementwise_factor", place, kept,
                    f"a factor too many, `{text(gone)}`")


def _of_constant(place):
    """Yield other numbers: one more or less, half or twice as much, the negative, and small ones."""
    c, parent = place.node.value, place.parent
    operator = type(parent.op) if isinstance(parent, ast.BinOp) else None
    power = any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and node.right in (place.node, parent)
                for node in ast.walk(place.statement))
    never_zero = operator in (ast.Add, ast.Sub) or (operator is ast.Div and place.field == "right")
    for value in dict.fromkeys((c - 1, c + 1, 0.5 * c, 2 * c, -c, 1, 2, 0.5, 3)):
        if value != c and not (value == 0 and never_zero):
            yield replaced(2, "elementwise_factor" if power else "constant_factor", place, ast.Constant(value),
                           f"a constant is wrong, the {'exponent' if power else 'number'} {c:g} should be {value:g}",
                           around(place))
