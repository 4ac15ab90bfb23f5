"""Edits of indices and slices: one off, reversed, mirrored, exchanged; and of the bounds of a loop."""

import ast
import copy

import numpy as np

from ibpcl.verify.bench import OTHER
from ibpcl.verify.edits.edit import exchanges, is_sum, negated, number, replaced, stepped, value_at


def of_index(place):
    """Yield an index, or a bound of a loop, that is one off."""
    node, index = place.node, place.inside == "index"
    kind = "shifted" if index else "missing_term"
    why = "off by one in an index" if index else "the loop leaves out a step, or takes one too many"
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        for value in (node.value + 1, node.value - 1):
            yield replaced(2, kind, place, ast.Constant(value), why, place.around)
    elif is_sum(node):
        yield replaced(2, kind, place, node.left, why, place.around)
    elif isinstance(node, ast.Name) and not is_sum(place.parent):
        for new in stepped(node):
            yield replaced(3, kind, place, new, why, place.around)


def of_counter(place, scope):
    """Yield the product of a whole number with others: a stride, a dilation, a width."""
    for factor in _counts(scope, place.node.id):
        yield replaced(6, "shifted", place, ast.BinOp(place.node, ast.Mult(), factor), "a stride is missing",
                       place.around)


def of_subscript(place, values, scope, slices):
    """Yield other indices and slices of an array, and the array itself."""
    node = place.node
    if value_at(node.value, values) is OTHER:
        return
    parts = parts_of(node)
    for rank, kind, new, why in other_indices(parts, scope, slices):
        yield replaced(rank, kind, place, subscript(node.value, new, ast.Load()), why)
    if all(isinstance(part, ast.Slice) for part in parts):
        yield replaced(4, "shifted", place, node.value,
                       "only a part is taken (or the order is reversed) where the whole array belongs")


def other_indices(parts, scope, slices):
    """Yield (rank, kind, indices, reason): other indices than those of a subscript.

    Parameters
    ----------
    parts : list of ast.AST
        Its indices.
    scope : dict
        The variables that the function had when it returned.
    slices : list of ast.Slice
        All slices of the function.
    """
    alike = [n for n, part in enumerate(parts) if isinstance(part, ast.Slice) and ast.dump(part) == ast.dump(next(
        (other for other in parts if isinstance(other, ast.Slice) and (other.lower or other.upper or other.step)),
        part))]
    for n, part in enumerate(parts):
        for new, why in _other_slices(part):
            yield 3, "shifted", [*parts[:n], new, *parts[n + 1:]], why
        for new in slices if isinstance(part, ast.Slice) else ():
            if ast.dump(new) != ast.dump(part):
                yield 4.5, "shifted", [*parts[:n], new, *parts[n + 1:]], "another slice is meant (exchanged)"
    for new, why in _other_slices(parts[alike[0]]) if len(alike) > 1 else ():
        yield 4, "shifted", [new if n in alike else part for n, part in enumerate(parts)], why
    for changed, a, b in exchanges(parts):
        if ast.dump(a) != ast.dump(b):
            yield 4, "transposed", changed, "two indices are exchanged"
    if any(map(_mirrored, parts)):
        yield 3, "shifted", [part.right if _mirrored(part) else part for part in parts], \
            "an index is mirrored (the order is reversed)"
    names = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
    for name in sorted(names):
        for factor in _counts(scope, name) if isinstance(scope.get(name), (int, np.integer)) else ():
            yield 6, "shifted", [_Strided(name, factor).visit(copy.deepcopy(part)) for part in parts], \
                "a stride is missing"


class _Strided(ast.NodeTransformer):
    """Multiply a name by a number wherever it stands."""

    def __init__(self, name, factor):
        self.name, self.factor = name, factor

    def visit_Name(self, node):                         # the name that ast.NodeTransformer calls
        return ast.BinOp(node, ast.Mult(), self.factor) if node.id == self.name else node


def _counts(scope, without):
    """Return nodes for the whole numbers greater than one of a function, and for two."""
    names = [name for name, value in scope.items() if isinstance(value, (int, np.integer)) and value > 1]
    return [ast.Constant(2), *(ast.Name(name, ast.Load()) for name in names if name != without)]


def _mirrored(part):
    return isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and isinstance(part.right, ast.Name)


def parts_of(node):
    """Return the indices of a subscript as a list."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def subscript(array, parts, context):
    """Return the subscript of an array with a list of indices."""
    return ast.Subscript(array, parts[0] if len(parts) == 1 else ast.Tuple(list(parts), ast.Load()), context)


def _other_slices(part):
    """Yield slices one off at an end, and in the other order, with the reason; nothing for an index."""
    if not isinstance(part, ast.Slice):
        return
    start, stop, step = map(_end, (part.lower, part.upper, part.step))
    if step in (None, -1):
        new = ast.Slice(part.lower, part.upper, None if step == -1 else negated(ast.Constant(1)))
        yield new, "in reversed (flipped) order"
    if "unknown" in (start, stop):
        return
    lower, higher = (start - 1 if start else start), (start or 0) + 1
    before, behind = (stop - 1 if stop is not None else -1), (stop + 1 if stop not in (None, -1) else None)
    beside = ((higher, stop), (lower, stop), (start, before), (start, behind))
    for new in dict.fromkeys(((1, None), (None, -1), (None, None), *beside, (1, -1))):
        if new != (start, stop):
            yield ast.Slice(*map(number, new), part.step), "off by one in a slice (shifted)"


def _end(node):
    """Return an end of a slice as an integer, None if it is left out, "unknown" if it has to be computed."""
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return "unknown"
    return value if isinstance(value, int) else "unknown"
