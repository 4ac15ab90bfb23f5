"""Edits of indices and slices: one off, reversed, mirrored, exchanged; and of the bounds of a loop."""

import ast

import numpy as np

from ibpcl.verify.bench import OTHER
from ibpcl.verify.edits.edit import index_exchanges, is_sum, negated, number, replaced, stepped, value_at

MIRRORED = "an index is mirrored (the order is reversed)"
EXCHANGED = "two indices are exchanged"


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
    for name, value in [*scope.items(), ("2", 2)]:
        if isinstance(value, (int, np.integer)) and value > 1 and name != place.node.id:
            new = ast.BinOp(place.node, ast.Mult(), ast.parse(name, mode="eval").body)
            yield replaced(6, "shifted", place, new, "a stride is missing", place.around)


def of_subscript(place, values):
    """Yield other slices of an array, its indices exchanged, and the array itself."""
    node = place.node
    if value_at(node.value, values) is OTHER:
        return
    parts = parts_of(node)

    def rebuilt(new):
        return subscript(node.value, new, ast.Load())

    for n, part in enumerate(parts):
        for new, why in other_slices(part):
            yield replaced(3, "shifted", place, rebuilt([*parts[:n], new, *parts[n + 1:]]), why)
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    model = next((part for part in slices if part.lower or part.upper or part.step), parts[0])
    alike = [isinstance(part, ast.Slice) and ast.dump(part) == ast.dump(model) for part in parts]
    if sum(alike) > 1:
        for new, why in other_slices(model):
            yield replaced(4, "shifted", place, rebuilt([new if same else part for part, same in zip(
                parts, alike, strict=True)]), why)
    for new in index_exchanges(parts):
        yield replaced(4, "transposed", place, rebuilt(new), EXCHANGED)
    if (new := unmirrored(parts)) is not None:
        yield replaced(3, "shifted", place, rebuilt(new), MIRRORED)
    if len(slices) == len(parts):
        yield replaced(4, "shifted", place, node.value,
                       "only a part is taken (or the order is reversed) where the whole array belongs")


def parts_of(node):
    """Return the indices of a subscript as a list."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def subscript(array, parts, context):
    """Return the subscript of an array with a list of indices."""
    return ast.Subscript(array, parts[0] if len(parts) == 1 else ast.Tuple(list(parts), ast.Load()), context)


def unmirrored(parts):
    """Return indices with ``i`` where ``n - i`` stands, or None."""
    mirrored = [isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and isinstance(part.right, ast.Name)
                for part in parts]
    if not any(mirrored):
        return None
    return [part.right if turned else part for part, turned in zip(parts, mirrored, strict=True)]


def other_slices(part):
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
