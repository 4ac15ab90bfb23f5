"""Every change of one place of a gradient function: which nodes of its syntax tree, and what is put
in their place.
"""

import ast
from typing import NamedTuple

# Arguments of these are axes and shapes, not numbers of a formula.
LAYOUT = ("swapaxes", "moveaxis", "transpose", "reshape", "zeros", "shape")
INDEXED = ("put_along_axis", "take_along_axis")
EXPONENTIALS = ("exp", "expm1")
OPERATORS = {ast.Sub: "-", ast.Div: "/", ast.MatMult: "@", ast.Pow: "**"}


class Change(NamedTuple):
    """A node by its position in the walk, what to put in its place, and what to say of it."""

    kind: str
    at: int
    # node -> node, or None to leave the statement out
    replace: object
    words: str
    part: ast.AST | None = None
    operator: str = ""
    rest: ast.AST | None = None
    uses: tuple = ()


class Walk:
    """The nodes of a tree in a fixed order, with their parents."""

    def __init__(self, tree):
        self.nodes = list(ast.walk(tree))
        self.position = {id(node): n for n, node in enumerate(self.nodes)}
        self.parents = {
            id(child): node for node in self.nodes for child in ast.iter_child_nodes(node)
        }

    def statement(self, node):
        """Return the statement that a node stands in."""
        while not isinstance(node, ast.stmt):
            node = self.parents[id(node)]
        return node

    def above(self, node):
        """Yield (parent, child) from a node up to the statement it is in."""
        while id(node) in self.parents and not isinstance(node, ast.stmt):
            parent = self.parents[id(node)]
            yield parent, node
            node = parent

    def formula(self, node):
        """Tell whether a node is part of a formula: not of an axis, an index, a shape, or a
        signature.
        """
        for parent, child in self.above(node):
            if isinstance(parent, (ast.arguments, ast.keyword)):
                return False
            if isinstance(parent, ast.Subscript) and child is parent.slice:
                return False
            if (
                isinstance(parent, ast.Call)
                and name_of(parent.func) in LAYOUT
                and child is not parent.func
            ):
                return False
        return True

    def role(self, node):
        """Return what a node is within its formula (factor, term, whole), and whether it is within
        an exponent.

        A value that is given a name is within an exponent if every use of the name is.
        """
        role = "whole"
        exponent = False
        for parent, child in self.above(node):
            if role == "whole" and isinstance(parent, ast.BinOp):
                role = "term" if isinstance(parent.op, (ast.Add, ast.Sub)) else "factor"
            if isinstance(parent, ast.Call) and child in parent.args:
                role = "factor" if role == "whole" else role
                exponent |= name_of(parent.func) in EXPONENTIALS
            exponent |= (
                isinstance(parent, ast.BinOp)
                and isinstance(parent.op, ast.Pow)
                and child is parent.right
            )
            if (
                isinstance(parent, ast.Assign)
                and isinstance(parent.targets[0], ast.Name)
                and not exponent
            ):
                uses = [
                    use
                    for use in self.nodes
                    if isinstance(use, ast.Name)
                    and use.id == parent.targets[0].id
                    and isinstance(use.ctx, ast.Load)
                    and use.lineno > parent.lineno
                ]
                exponent = bool(uses) and all(self.role(use)[1] for use in uses)
        return role, exponent


def name_of(function):
    """Return the last name of a called expression: ``np.exp`` is ``exp``."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def changes(walk, same_shape):
    """Yield every :class:`Change` of a tree."""
    for at, node in enumerate(walk.nodes):
        if isinstance(node, ast.BinOp) and walk.formula(node):
            yield from binary(at, node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and walk.formula(node):
            yield Change(
                "sign", at, lambda n: n.operand, f"`{text(node)}` without its minus", node.operand
            )
        elif isinstance(node, ast.AugAssign):
            yield Change("sign", at, _turned, f"`{text(node)}` with the other sign", node.value)
            yield Change("term", at, None, f"`{text(node)}` left out", node.value)
        elif isinstance(node, ast.Call):
            yield from call(at, node)
        elif isinstance(node, ast.Subscript):
            yield from index(walk, node)
        elif isinstance(node, ast.Constant) and walk.formula(node):
            yield from constant(at, node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id.isupper():
                yield Change(
                    "constant",
                    at,
                    lambda n: ast.BinOp(n, ast.Add(), ast.Constant(1)),
                    f"`{node.id} + 1` for `{node.id}`",
                    node,
                )
            for other in same_shape.get(node.id, ()):
                yield Change(
                    "cache",
                    at,
                    lambda n, other=other: ast.Name(other, n.ctx),
                    f"`{other}` for `{node.id}`, once",
                    node,
                    other,
                )
        elif isinstance(node, ast.Return):
            yield from returned(walk, node)
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, (ast.BinOp, ast.Call))
            and not isinstance(
                node.value.func if isinstance(node.value, ast.Call) else None, ast.Name
            )
        ):
            yield Change(
                "sign",
                walk.position[id(node.value)],
                _negated,
                f"`{text(node.value)}` negated",
                node.value,
            )
        elif isinstance(node, ast.FunctionDef):
            yield from everywhere(node, at, same_shape)


def binary(at, node):
    """Yield the changes of a sum, a difference, a product or a quotient."""
    whole = text(node)
    left = text(node.left)
    right = text(node.right)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        minus = isinstance(node.op, ast.Sub)
        yield Change("sign", at, _turned, f"`{whole}` with the other sign", node.right)
        yield Change(
            "term", at, lambda n: n.left, f"`{whole}` without `{right}`", node.right, rest=node.left
        )
        yield Change(
            "term",
            at,
            lambda n: _negated(n.right) if minus else n.right,
            f"`{whole}` without `{left}`",
            node.left,
            rest=node.right,
        )
    elif isinstance(node.op, (ast.Mult, ast.Div)):
        yield Change("factor", at, lambda n: n.left, f"`{whole}` without `{right}`", node.right)
        if isinstance(node.op, ast.Mult):
            yield Change("factor", at, lambda n: n.right, f"`{whole}` without `{left}`", node.left)
        elif not isinstance(node.left, ast.Constant):
            yield Change(
                "factor",
                at,
                lambda n: ast.BinOp(ast.Constant(1), n.op, n.right),
                f"`{whole}` without `{left}`",
                node.left,
            )
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
        yield Change(
            "operands",
            at,
            lambda n: ast.BinOp(n.right, n.op, n.left),
            f"`{whole}` the other way round",
            node,
            OPERATORS[type(node.op)],
        )


def _reads_a_name(node):
    return any(isinstance(part, ast.Name) for part in ast.walk(node))


def call(at, node):
    """Yield the changes of a call: its axis, the sum that it is, its arguments."""
    for keyword in node.keywords:
        if keyword.arg == "axis" and not _reads_a_name(keyword.value):
            for axis in other_axes(ast.literal_eval(keyword.value)):
                yield Change(
                    "axis",
                    at,
                    lambda n, axis=axis: _with_axis(n, axis),
                    f"axis {axis} in `{text(node)}`",
                    node,
                    name_of(node.func),
                )
    if name_of(node.func) == "sum" and isinstance(node.func, ast.Attribute):
        yield Change("sum", at, lambda n: n.func.value, f"`{text(node)}` without its sum", node)
        yield Change("sum", at, _mean, f"a mean for `{text(node)}`", node)
    if name_of(node.func) in ("where", "copysign"):
        yield Change(
            "operands",
            at,
            _exchanged,
            f"`{text(node)}` with its last arguments exchanged",
            node,
            "call",
        )
    if name_of(node.func) in INDEXED:
        yield Change("slice", at, _next_row, f"`{text(node)}` one row off", node)


def other_axes(axis):
    """Return what else the axis could be: for a number its neighbour and all, for several each
    alone and all.
    """
    if isinstance(axis, tuple):
        return [*axis, None]
    return [axis + 1 if axis >= 0 else axis - 1, None]


def index(walk, node):
    """Yield the index of an array one off, in each of its parts."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        at = walk.position[id(part)]
        if isinstance(part, ast.Slice) and part.lower is None and part.upper is None:
            yield Change(
                "slice",
                at,
                lambda n: ast.Slice(ast.Constant(1), None),
                f"`1:` in `{text(node)}`",
                node,
            )
            yield Change(
                "slice",
                at,
                lambda n: ast.Slice(None, ast.Constant(-1)),
                f"`:-1` in `{text(node)}`",
                node,
            )
        elif isinstance(part, ast.Name) or (
            isinstance(part, (ast.Constant, ast.UnaryOp))
            and isinstance(ast.literal_eval(part), int)
        ):
            # One part of a cotangent or of a cache for another is no slip in a slice.
            whole = (
                isinstance(node.value, ast.Name)
                and not isinstance(part, ast.Name)
                and len(parts) == 1
            )
            yield Change(
                "cache" if whole else "slice",
                at,
                lambda n: ast.BinOp(n, ast.Sub(), ast.Constant(1)),
                f"`{text(part)} - 1` in `{text(node)}`",
                node,
            )


def constant(at, node):
    """Yield other values of a number."""
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        for value in (node.value + 1, node.value / 2):
            if value != node.value:
                yield Change(
                    "constant",
                    at,
                    lambda n, value=value: ast.Constant(value),
                    f"{value:g} for the constant {node.value:g}",
                    node,
                )


def returned(walk, node):
    """Yield each result negated, and neighbouring results exchanged."""
    results = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    for result in results:
        if not isinstance(result, ast.Starred):  # several results have no sign
            yield Change(
                "sign", walk.position[id(result)], _negated, f"`{text(result)}` negated", result
            )
    for n in range(len(results) - 1):
        yield Change(
            "operands",
            walk.position[id(node.value)],
            lambda tree, n=n: _swapped(tree, n),
            f"results {n} and {n + 1} exchanged",
            None,
            "results",
        )


def everywhere(node, at, same_shape):
    """Yield a cached value replaced by another wherever it is used, if that is in several
    places.
    """
    for name, others in same_shape.items():
        uses = tuple(
            item
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load)
        )
        for other in others if len(uses) > 1 else ():
            yield Change(
                "cache",
                at,
                lambda n, name=name, other=other: _renamed(n, name, other),
                f"`{other}` for `{name}`, everywhere",
                uses[0],
                other,
                uses=uses,
            )


def text(node):
    """Return the source of a node."""
    return ast.unparse(node)


def _turned(node):
    node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    return node


def _negated(node):
    return ast.UnaryOp(ast.USub(), node)


def _with_axis(node, axis):
    for keyword in node.keywords:
        if keyword.arg == "axis":
            keyword.value = ast.Constant(axis)
    return node


def _mean(node):
    node.func.attr = "mean"
    return node


def _exchanged(node):
    node.args[-2:] = reversed(node.args[-2:])
    return node


def _next_row(node):
    node.args[1] = ast.BinOp(node.args[1], ast.Sub(), ast.Constant(1))
    return node


def _swapped(node, n):
    node.elts[n : n + 2] = reversed(node.elts[n : n + 2])
    return node


def _renamed(node, name, other):
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load):
            item.id = other
    return node
