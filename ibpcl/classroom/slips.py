"""Slips: small local changes that turn a right function into one that students typically write.

The rules cover mistakes in derivations: a lost sign, factor or term, an omitted function, a sum
along another axis, a reversed comparison.  They use only the syntax tree, not the assignment.
"""

import ast
import copy
from typing import NamedTuple

UNWRAPPED = 1  # functions whose first argument may replace the call
PARTNERS = {  # functions that are often confused
    "sum": ("mean",),
    "mean": ("sum", "prod"),
    "prod": ("mean", "sum"),
    "any": ("all",),
    "all": ("any",),
    "max": ("min", "mean"),
    "min": ("max", "mean"),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "exp": ("expm1",),
    "expm1": ("exp",),
    "log": ("log1p",),
    "log1p": ("log",),
    "tril": ("triu",),
    "triu": ("tril",),
    "cumsum": ("cumprod",),
    "digamma": ("log",),
}
ELEMENTARY = ("exp", "expm1", "log", "log1p", "log2", "tanh", "sqrt", "digamma", "sin", "cos")
REDUCTIONS = ("sum", "mean", "prod", "any", "all", "max", "min")
AXES = (0, 1, -1)
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
}


class Slot(NamedTuple):
    """The place of a node in its tree.

    Attributes
    ----------
    parent : ast.AST
        The parent node.
    field : str
        Name of the parent's attribute.
    index : int or None
        Position, if the attribute is a list.
    """

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node):
        """Put a node into the place, or None to remove a statement, and return the old node.

        Parameters
        ----------
        node : ast.AST or None
            The new node.

        Returns
        -------
        ast.AST or None
        """
        if self.index is None:
            old = getattr(self.parent, self.field)
            setattr(self.parent, self.field, node)
            return old
        entries = getattr(self.parent, self.field)
        old = entries[self.index]
        entries[self.index] = node
        return old


class Slip(NamedTuple):
    """One slip.

    Attributes
    ----------
    kind : str
        Kind of the mistake.
    words : str
        Description for the student, without expressions.
    slots : tuple of Slot
        The places that change.
    new : tuple of ast.AST or None
        The new node for each place.
    """

    kind: str
    words: str
    slots: tuple
    new: tuple


def slips_of(function):
    """Return the slips of a function: in one place each, or repeated in all equal places.

    Parameters
    ----------
    function : ast.FunctionDef
        Syntax tree of the function.

    Returns
    -------
    list of Slip
    """
    slips = []
    alike = {}
    for slot, node in _places(function):
        for kind, words, new in _changes(node):
            slips.append(Slip(kind, words, (slot,), (new,)))
            alike.setdefault((ast.dump(node), ast.dump(new)), []).append(slips[-1])
    for group in alike.values():
        if len(group) > 1:
            slots = tuple(slip.slots[0] for slip in group)
            slips.append(Slip(group[0].kind, group[0].words, slots, group[0].new * len(group)))
    return [*slips, *_of_choices(function), *_of_names(function)]


def _places(function):
    """Yield the slot and node of every statement and expression of a function's body."""
    parents = [node for statement in function.body for node in ast.walk(statement)]
    for parent in [function, *parents]:
        for field, value in ast.iter_fields(parent):
            if parent is function and field != "body":
                continue
            if isinstance(value, (ast.expr, ast.stmt)):
                yield Slot(parent, field, None), value
            elif isinstance(value, list):
                for index, node in enumerate(value):
                    if isinstance(node, (ast.expr, ast.stmt)):
                        yield Slot(parent, field, index), node


def _changes(node):
    """Yield (kind, words, new node) for one node."""
    if isinstance(node, ast.BinOp):
        yield from _of_operation(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", "a minus sign is lost", node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from _of_number(node)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Compare):
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield (
                "comparison",
                "a comparison is wrong",
                ast.Compare(node.left, [other()], node.comparators),
            )
    elif isinstance(node, ast.Subscript):
        yield from _of_subscript(node)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield "transposed", "a transpose is missing", node.value
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield "swapped", "two results are exchanged", ast.Tuple(node.elts[::-1], ast.Load())
    elif isinstance(node, ast.AugAssign):
        yield "missing_term", "a term is missing", ast.Pass()
        if isinstance(node.op, (ast.Add, ast.Sub)):
            other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield (
                "sign",
                "the sign of a term is wrong",
                ast.AugAssign(node.target, other, node.value),
            )


def _of_operation(node):
    left = node.left
    right = node.right
    if isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _of_sum(node)
    elif isinstance(node.op, ast.Mult):
        yield "elementwise_factor", "a factor is missing", left
        yield "elementwise_factor", "a factor is missing", right
        yield (
            "elementwise_factor",
            "a factor stands where a divisor belongs",
            _operation(left, ast.Div(), right),
        )
        yield (
            "elementwise_factor",
            "a factor stands where a divisor belongs",
            _operation(right, ast.Div(), left),
        )
        yield from _spread(node)
    elif isinstance(node.op, ast.Div):
        yield "elementwise_factor", "a divisor is missing", left
        yield (
            "elementwise_factor",
            "it is multiplied where it must be divided",
            _operation(left, ast.Mult(), right),
        )
        yield "elementwise_factor", "a quotient is upside down", _operation(right, ast.Div(), left)
        yield (
            "elementwise_factor",
            "a square is missing",
            _operation(left, ast.Div(), _operation(right, ast.Mult(), right)),
        )
        yield from _spread(node)
    elif isinstance(node.op, ast.Pow):
        yield "elementwise_factor", "a power is missing", left
    elif isinstance(node.op, ast.MatMult):
        yield (
            "transposed",
            "a factor of a matrix product must be transposed",
            _operation(ast.Attribute(left, "T", ast.Load()), ast.MatMult(), right),
        )


def _of_sum(node):
    left = node.left
    right = node.right
    op = node.op
    other = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
    yield "missing_term", "a term is missing", left
    yield (
        "missing_term",
        "a term is missing",
        (right if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), right)),
    )
    constant = isinstance(right, ast.Constant)
    kind, words = (
        ("constant_factor", "a number is wrong")
        if constant
        else ("sign", "the sign of a term is wrong")
    )
    yield kind, words, _operation(left, other, right)
    yield (
        "sign",
        "the sign of a term is wrong",
        _operation(ast.UnaryOp(ast.USub(), left), op, right),
    )
    words = "a factor of one term stands beside both"
    for own, rest, first in ((left, right, True), (right, left, False)):
        if isinstance(own, ast.BinOp) and isinstance(own.op, (ast.Mult, ast.Div)):
            inner = own.left
            both = (inner, rest) if first else (rest, inner)
            yield (
                "elementwise_factor",
                words,
                _operation(_operation(both[0], op, both[1]), own.op, own.right),
            )
            if isinstance(own.op, ast.Mult):
                both = (own.right, rest) if first else (rest, own.right)
                yield (
                    "elementwise_factor",
                    words,
                    _operation(own.left, own.op, _operation(both[0], op, both[1])),
                )


def _spread(node):
    """Yield a factor that multiplies some terms of a sum only: one, or all but one."""
    words = "a factor of a whole sum stands beside some of its terms only"
    for own, factor in ((node.left, node.right), (node.right, node.left)):
        if own is node.right and isinstance(node.op, ast.Div):
            return
        terms = _terms(own)
        for at in range(len(terms)) if len(terms) > 1 else ():
            only = {at}
            for chosen in (only, set(range(len(terms))) - only):
                yield (
                    "elementwise_factor",
                    words,
                    _sum_of(
                        [
                            (positive, _operation(term, node.op, factor) if n in chosen else term)
                            for n, (positive, term) in enumerate(terms)
                        ]
                    ),
                )


def _terms(node, positive=True):
    """Return the terms of a sum as (whether it is added, node)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        right = positive == isinstance(node.op, ast.Add)
        return _terms(node.left, positive) + _terms(node.right, right)
    return [(positive, node)]


def _sum_of(terms):
    """Return the sum of terms as a node."""
    (positive, total), *rest = terms
    total = total if positive else ast.UnaryOp(ast.USub(), total)
    for positive, term in rest:
        total = _operation(total, ast.Add() if positive else ast.Sub(), term)
    return total


def _of_number(node):
    value = node.value
    words = "a number is wrong"
    for other in (2 * value, value / 2, value + 1, value - 1, -value, 0):
        if other != value:
            whole = int(other) if type(value) is int and other == int(other) else other
            yield "constant_factor", words, ast.Constant(whole)


def _of_call(node):
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for partner in PARTNERS.get(name, ()):
        func = copy.copy(node.func)
        if isinstance(func, ast.Attribute):
            func.attr = partner
            kind, words = _exchange(name, partner)
            yield kind, words, ast.Call(func, node.args, node.keywords)
    if len(node.args) >= UNWRAPPED and name not in (
        "arange",
        "range",
        "zip",
        "len",
        "array",
        "full",
        "zeros",
    ):
        yield "other_function", "a function is left out", node.args[0]
    if len(node.args) == 1 and not node.keywords and (name in ELEMENTARY or name.startswith("_")):
        flipped = ast.UnaryOp(ast.USub(), node.args[0])
        yield "sign", "the sign inside a function is wrong", ast.Call(node.func, [flipped], [])
    if len(node.args) == 2 and name not in ("swapaxes", "full", "reshape"):
        yield (
            "swapped",
            "two arguments are exchanged",
            ast.Call(node.func, node.args[::-1], node.keywords),
        )
    if name == "where" and len(node.args) == 3:
        yield (
            "swapped",
            "a choice is the wrong way round",
            ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], []),
        )
    if name in ("cumsum", "cumprod"):
        op = ast.Sub() if name == "cumsum" else ast.Div()
        yield (
            "shifted",
            "a cumulative sum omits the element itself",
            _operation(node, op, node.args[0]),
        )
    if isinstance(node.func, ast.Attribute) and name in (*REDUCTIONS, "cumsum", "argmax"):
        yield from _of_axis(node)
    if isinstance(node.func, ast.Attribute) and name in REDUCTIONS and not node.args:
        yield "not_summed", "a sum or mean is missing", node.func.value


def _of_axis(node):
    """Yield the reduction along other axes."""
    for at, keyword in enumerate(node.keywords):
        if keyword.arg == "axis":
            for axis in (*AXES, None):
                other = ast.keyword("axis", ast.Constant(axis))
                yield (
                    "summed",
                    "it runs along the wrong axis",
                    ast.Call(
                        node.func, node.args, [*node.keywords[:at], other, *node.keywords[at + 1 :]]
                    ),
                )


def _of_subscript(node):
    text = ast.unparse(node.slice)
    if "::-1" in text:
        yield "shifted", "the order along an axis is not reversed", node.value
        inner = node.value
        if isinstance(inner, ast.Call) and inner.args and isinstance(inner.args[0], ast.Subscript):
            args = [inner.args[0].value, *inner.args[1:]]
            words = "a cumulative sum runs in the wrong direction"
            yield "shifted", words, ast.Call(inner.func, args, inner.keywords)
    elif isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Slice):
        yield "shifted", "a slice is left out", node.value
        for lower, upper in ((1, None), (None, -1)):
            bounds = [None if n is None else ast.Constant(n) for n in (lower, upper)]
            yield (
                "shifted",
                "a slice begins or ends elsewhere",
                ast.Subscript(node.value, ast.Slice(*bounds, None), ast.Load()),
            )


def _of_choices(function):
    """Yield the slip of a weighted mean in place of a choice by a threshold."""
    slots = []
    new = []
    for slot, node in _places(function):
        if isinstance(node, ast.Compare) and slot.field == "value":
            slots.append(slot)
            new.append(node.left)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "np.where"
            and len(node.args) == 3
        ):
            weight, first, second = node.args
            rest = _operation(ast.Constant(1), ast.Sub(), weight)
            slots.append(slot)
            new.append(
                _operation(
                    _operation(weight, ast.Mult(), first),
                    ast.Add(),
                    _operation(rest, ast.Mult(), second),
                )
            )
    if len(slots) > 1:
        yield Slip(
            "other_function",
            "a weighted mean stands where a choice belongs",
            tuple(slots),
            tuple(new),
        )


def _of_names(function):
    """Yield the slips that use another variable, in one place and in all."""
    parameters = [argument.arg for argument in function.args.args]
    stored = [
        node.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    names = list(dict.fromkeys([*parameters, *stored]))
    slots = {}
    for slot, node in _places(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            slots.setdefault(node.id, []).append(slot)
    for name, places in slots.items():
        for other in names:
            if other == name:
                continue
            words = "another quantity stands where this one belongs"
            each = [(slot,) for slot in places]
            for group in each if len(places) == 1 else [*each, tuple(places)]:
                yield Slip(
                    "other_quantity", words, group, (ast.Name(other, ast.Load()),) * len(group)
                )


def _exchange(name, partner):
    """Return kind and description of a function that replaces another."""
    if {name, partner} == {"sum", "mean"}:
        return "mean", f"a {partner} stands where a {name} belongs"
    if partner in ("exp", "expm1", "log", "log1p") and name != "digamma":
        return "missing_term", "a 1 is missing, or a 1 is added wrongly"
    return "other_function", f"a function is wrong: {partner} in place of {name}"


def _operation(left, op, right):
    return ast.BinOp(left, op, right)
