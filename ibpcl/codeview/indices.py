"""Edits of numbers, indices, slices and loop bounds: off by one, reversed, mirrored, exchanged."""

import ast

from ibpcl.codeview.rewrite import exchanges, replaced


def of_number(place):
    """Yield other numbers in a formula.

    These are one more and one less, half and twice the number, its negative, and small numbers.

    Parameters
    ----------
    place : Place
        A constant.

    Yields
    ------
    Edit
    """
    number = place.node.value
    parent = place.parent
    operator = type(parent.op) if isinstance(parent, ast.BinOp) else None
    power = any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Pow)
        and node.right in (place.node, parent)
        for node in ast.walk(place.statement)
    )
    never_zero = operator in (ast.Add, ast.Sub) or (operator is ast.Div and place.field == "right")
    for value in dict.fromkeys(
        (number - 1, number + 1, 0.5 * number, 2 * number, -number, 1, 2, 0.5, 3)
    ):
        if value != number and not (value == 0 and never_zero):
            yield replaced(
                2,
                "elementwise_factor" if power else "constant_factor",
                place,
                ast.Constant(value),
                f"a constant is wrong, the {'exponent' if power else 'number'} {number:g} "
                f"should be {value:g}",
            )


def of_index(place):
    """Yield an index, or a bound of a loop, that is one more or one less.

    Parameters
    ----------
    place : Place
        An expression in an index or in ``range``.

    Yields
    ------
    Edit
    """
    node = place.node
    kind = "shifted"
    why = "off by one in an index (shifted)"
    if place.inside == "range":
        kind = "missing_term"
        why = "the loop leaves out a step, or takes one too many"
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        for value in (node.value + 1, node.value - 1):
            yield replaced(2.5, kind, place, ast.Constant(value), why)
    elif _is_sum(node):
        yield replaced(2.5, kind, place, node.left, why)
    elif isinstance(node, ast.Name) and not _is_sum(place.parent):
        for operator in (ast.Sub(), ast.Add()):
            yield replaced(3, kind, place, ast.BinOp(node, operator, ast.Constant(1)), why)


def of_subscript(place):
    """Yield other indices and slices of an array that is read or written.

    Parameters
    ----------
    place : Place or Slot
        A subscript.

    Yields
    ------
    Edit
    """
    node = place.node
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def edit(rank, kind, new, why):
        index = new[0] if len(new) == 1 else ast.Tuple(new, ast.Load())
        return replaced(rank, kind, place, ast.Subscript(node.value, index, node.ctx), why)

    for n, index in enumerate(indices):
        if isinstance(index, ast.Slice):
            alike = [m for m, other in enumerate(indices) if ast.dump(other) == ast.dump(index)]
            for new, why in _other_slices(index):
                for chosen in ([n], alike) if alike[1:] and alike[0] == n else ([n],):
                    yield edit(
                        2 + len(chosen),
                        "shifted",
                        [new if m in chosen else p for m, p in enumerate(indices)],
                        why,
                    )
    for changed, a, b in exchanges(indices):
        if ast.dump(a) != ast.dump(b):
            yield edit(4, "transposed", changed, "two indices are exchanged")
    if any(map(_mirrored, indices)):
        yield edit(
            3,
            "shifted",
            [index.right if _mirrored(index) else index for index in indices],
            "an index is mirrored (the order is reversed)",
        )


def _is_sum(node):
    """Return whether a node is a sum or a difference."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))


def _mirrored(index):
    """Return whether an index counts from the end, as in ``n - i``."""
    return (
        isinstance(index, ast.BinOp)
        and isinstance(index.op, ast.Sub)
        and isinstance(index.right, ast.Name)
    )


def _other_slices(index):
    """Yield (slice, reason): slices that are off by one at an end, and the reversed slice."""
    start, stop, step = map(_end, (index.lower, index.upper, index.step))
    if step in (None, -1):
        yield (
            ast.Slice(index.lower, index.upper, _number(-1) if step is None else None),
            "in reversed (flipped) order",
        )
    if "unknown" in (start, stop):
        return
    lower = start - 1 if start else start
    higher = (start or 0) + 1
    before = stop - 1 if stop is not None else -1
    behind = stop + 1 if stop not in (None, -1) else None
    beside = ((higher, stop), (lower, stop), (start, before), (start, behind))
    for new in dict.fromkeys(((1, None), (None, -1), (None, None), *beside, (1, -1))):
        if new != (start, stop):
            yield ast.Slice(*map(_number, new), index.step), "off by one in a slice (shifted)"


def _end(node):
    """Return an end of a slice: an integer, None if omitted, "unknown" if computed."""
    try:
        value = None if node is None else ast.literal_eval(node)
    except ValueError:
        return "unknown"
    return value if value is None or isinstance(value, int) else "unknown"


def _number(value):
    """Return the node of one end of a slice."""
    return None if value is None else ast.parse(str(value)).body[0].value
