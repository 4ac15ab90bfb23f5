"""Edits of matrix products: operands exchanged or transposed, and the letters of ``einsum``."""

import ast
import re
from itertools import permutations

from ibpcl.verify.edits.edit import attribute_t, belongs, exchanges, put, replaced, transposed


def of_matrix_product(place, left, right, product):
    """Yield operands exchanged and transposed, two changes at most.

    Parameters
    ----------
    place : ibpcl.verify.source.Place
    left, right : ast.AST
    product : callable
        Two nodes to the node of their product.
    """
    def edit(why, operands):
        def words():
            new = product(*operands(attribute_t))
            return f"{why} in a matrix product: {belongs(new, place.node)}; a transpose is missing or too many"

        return put(3, "transposed", place, product(*operands(transposed)), words)

    yield edit("the operands are exchanged", lambda turn: (right, left))
    yield edit("the first operand must be transposed", lambda turn: (turn(left), right))
    yield edit("the second operand must be transposed", lambda turn: (left, turn(right)))
    yield edit("both operands must be transposed", lambda turn: (turn(left), turn(right)))
    yield replaced(3, "transposed", place, transposed(place.node), "the result must be transposed")
    for why, a, b in (("the operands are exchanged, and the first one transposed", right, transposed(left)),
                      ("the operands are exchanged, and the second one transposed", transposed(right), left)):
        yield replaced(4, "transposed", place, product(a, b), why)


def of_einsum(place):
    """Yield other letters: two of an operand or of the result exchanged, one in the place of another."""
    node = place.node
    text = node.args[0].value
    left, arrow, right = text.partition("->")
    operands, seen = left.split(","), set()

    def edit(rank, new, why):
        call = ast.Call(node.func, [ast.Constant(new), *node.args[1:]], node.keywords)
        return replaced(rank, "transposed", place, call, f"{why}, {new!r} not {text!r}")

    def with_operand(n, letters):
        return f"{','.join([*operands[:n], letters, *operands[n + 1:]])}{arrow}{right}"

    for n, part in [*enumerate(operands), (None, right)]:
        for letters, a, b in exchanges(part):
            joined = "".join(letters)
            new = f"{left}{arrow}{joined}" if n is None else with_operand(n, joined)
            if a.isalpha() and b.isalpha() and new not in seen:
                seen.add(new)
                yield edit(3, new, "the indices of einsum are exchanged (transposed)")
    for a, b in permutations(sorted(set(re.findall("[a-zA-Z]", text))), 2):
        for n, part in enumerate(operands):
            if a in part and b not in part:
                yield edit(6, with_operand(n, part.replace(a, b)), "an index of einsum is wrong")
