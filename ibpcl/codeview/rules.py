"""Usual slips in one expression or statement, as a table of wrong and right patterns.

The patterns are Python source with placeholders:

``A``, ``B``, ``C``
    any expression
``NAME``
    a variable
``SQUARE``
    an array whose last two axes have equal size
``COMPLEX``
    a complex array
``WHOLE``
    a whole value that is assigned, returned or passed to a function
``TARGET``
    a target of an assignment that had a value before
``FUNCTION``
    any function
``AXIS``
    each axis of the first argument in turn

Functions match by their names, as methods or from any module.  Further arguments are kept.
"""

import ast
import copy
import functools
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.rewrite import Edit, belongs, in_place
from ibpcl.codeview.syntax import is_numeric, name_of, text_of, value_at

LATE = 7  # edits of this rank and above are tried after everything else
# The negative of an argument makes these another function (max becomes min), not another sign.
RANKING = ("argmax", "argmin", "argsort", "max", "min", "sort")
PRODUCT = " in a matrix product (a transpose is missing or too many)"
# Each row has a rank, the kind of the mistake, the wrong and the right pattern, and the reason.  In
# a reason, {A} is replaced by the expression that A stands for.
RULES = [
    (0, "sign", "-A", "A", "the sign is wrong"),
    (0.5, "sign", "WHOLE", "-WHOLE", "the sign is wrong"),
    (1, "sign", "A + B", "A - B", "the sign is wrong: this must be a difference"),
    (1, "sign", "A - B", "A + B", "the sign is wrong: this must be a sum"),
    (2, "sign", "A - B", "B - A", "the operands are exchanged, so the sign is wrong"),
    (3, "term", "A + B", "A", "a term too many, `{B}`"),
    (3, "term", "A + B", "B", "a term too many, `{A}`"),
    (3, "term", "A - B", "A", "a term too many, `{B}`"),
    (3, "term", "A - B", "-B", "a term too many, `{A}`"),
    (4, "missing_term", "NAME", "NAME - 1", "a term is missing"),
    (4, "missing_term", "NAME", "NAME + 1", "a term is missing"),
    (2, "factor", "A * B", "A", "a factor too many, `{B}`"),
    (2, "factor", "A * B", "B", "a factor too many, `{A}`"),
    (2, "factor", "A / B", "A", "a factor too many, a division by `{B}`"),
    (2, "factor", "A / B", "B", "a factor too many, `{A}`"),
    (3, "elementwise_factor", "A * B", "A / B", "this must be a quotient, a division by `{B}`"),
    (3, "elementwise_factor", "A / B", "A * B", "this must be a product with `{B}`"),
    (3, "elementwise_factor", "A / B", "B / A", "the operands are exchanged"),
    (
        4,
        "elementwise_factor",
        "A / B",
        "A / B**2",
        "the divisor must be squared, one more factor `{B}`",
    ),
    (3, "elementwise_factor", "(A - B)**2", "A - B**2", "only `{B}` must be squared"),
    (3, "elementwise_factor", "square(A - B)", "A - B**2", "only `{B}` must be squared"),
    (3, "elementwise_factor", "A - B**2", "(A - B)**2", "the whole difference must be squared"),
    (1, "constant_factor", "A // B", "A / B", "// rounds down to whole numbers"),
    (4, "elementwise_factor", "NAME", "1 - NAME", "one minus this variable is meant"),
    (5, "elementwise_factor", "NAME", "NAME**2", "a factor `{NAME}` is missing"),
    (3, "elementwise_factor", "where(A, B, C)", "where(A, C, B)", "the two branches are exchanged"),
    (5, "elementwise_factor", "FUNCTION(A)", "A", "this function must not be applied here"),
    (3, "transposed", "A @ B", "B @ A", f"the operands must be exchanged{PRODUCT}"),
    (3, "transposed", "A @ B", "A.T @ B", f"the first operand must be transposed{PRODUCT}"),
    (3, "transposed", "A @ B", "A @ B.T", f"the second operand must be transposed{PRODUCT}"),
    (3, "transposed", "A @ B", "(A @ B).T", "the result must be transposed"),
    (3, "transposed", "A.T", "A", "transposed once too often"),
    (5, "transposed", "SQUARE", "SQUARE.T", "transposed"),
    (
        6,
        "missing_term",
        "SQUARE",
        "(SQUARE + SQUARE.T) / 2",
        "`{SQUARE}` is treated as symmetric: a term with its transpose is missing (it "
        "is used twice, in two different ways)",
    ),
    (
        3,
        "transposed",
        "outer(A, B)",
        "outer(B, A)",
        "the operands are exchanged, so the result is transposed",
    ),
    (3, "transposed", "solve(A, B)", "solve(A.T, B)", "the matrix must be transposed"),
    (3, "transposed", "inv(A)", "inv(A.T)", "the matrix must be transposed"),
    (
        3,
        "transposed",
        "solve_triangular(A, B)",
        "solve_triangular(A, B, trans=1)",
        "the matrix must be transposed",
    ),
    (
        4,
        "transposed",
        "COMPLEX",
        "np.conj(COMPLEX)",
        "the complex conjugate is missing (without it the kernel runs in reversed order)",
    ),
    (1, "constant_factor", "sum(A)", "mean(A)", "a sum instead of a mean"),
    (1, "mean", "mean(A)", "sum(A)", "a mean instead of a sum"),
    (
        1,
        "summed",
        "sum(A)",
        "sum(A, axis=AXIS)",
        "summed over the wrong axes instead of axis {AXIS}",
    ),
    (
        1,
        "summed",
        "mean(A)",
        "mean(A, axis=AXIS)",
        "averaged over the wrong axes instead of axis {AXIS}",
    ),
    (
        1,
        "summed",
        "cumsum(A)",
        "cumsum(A, axis=AXIS)",
        "summed over the wrong axis instead of axis {AXIS}",
    ),
    (
        2,
        "summed",
        "cumsum(A)",
        "np.flip(cumsum(np.flip(A)))",
        "the sum must run from the end to the beginning (reversed)",
    ),
    (
        3,
        "summed",
        "FUNCTION(A)",
        "FUNCTION(A, axis=AXIS)",
        "along the wrong axis instead of axis {AXIS}",
    ),
    *(
        (
            LATE,
            "constant_factor",
            "A * B",
            f"{number} * (A * B)",
            f"a constant factor {number} is missing",
        )
        for number in (2, 0.5, 3)
    ),
    (
        1,
        "missing_term",
        "TARGET = B",
        "TARGET += B",
        "`{TARGET}` is overwritten where contributions must be accumulated (the earlier terms are "
        "missing)",
    ),
    (1, "sign", "A += B", "A -= B", "the sign is wrong"),
    (1, "sign", "A -= B", "A += B", "the sign is wrong"),
    (3, "term", "A += B", "pass", "a term too many, `{B}`"),
    (3, "term", "A -= B", "pass", "a term too many, `{B}`"),
    (0, "few_entries", "A[B] = 0", "pass", "an extra step overwrites values that must stay"),
    *(
        (
            2,
            "few_entries",
            f"A[B] {sign} C",
            "np.add.at(A, B, C)",
            "repeated indices keep the last contribution only: accumulate with np.add.at",
        )
        for sign in ("=", "+=")
    ),
]
TWINS = (
    "sin cos, exp expm1, log log1p, cosh sinh, maximum minimum, max min, floor ceil, rfft irfft, "
    "digamma gammaln"
)
OFTEN = "tril triu, argmax argmin, fft ifft"  # twins that are often confused in gradients
for pairs, rank in ((TWINS, LATE), (OFTEN, 3)):
    RULES += [
        (rank, "elementwise_factor", f"{old}(A)", f"{new}(A)", f"`{new}` is meant, not `{old}`")
        for pair in pairs.split(", ")
        for old, new in (pair.split(), pair.split()[::-1])
    ]
for less, more in ((">", ">="), ("<", "<=")):
    RULES += [
        (5, "few_entries", f"A {a} B", f"A {b} B", "the comparison is wrong")
        for a, b in ((less, more), (more, less))
    ]
PLACEHOLDERS = {"A", "B", "C", "NAME", "SQUARE", "COMPLEX", "WHOLE", "TARGET", "FUNCTION", "AXIS"}
# Whether a placeholder that is a whole pattern matches a place, given the place and its value.
CONDITIONS = {
    "NAME": lambda place, value: isinstance(place.node, ast.Name),
    "SQUARE": lambda place, value: (
        value.ndim >= 2
        and value.shape[-1] == value.shape[-2]
        and not (isinstance(place.parent, ast.BinOp) and isinstance(place.parent.op, ast.MatMult))
    ),
    "COMPLEX": lambda place, value: value.dtype.kind == "c",
    "WHOLE": lambda place, value: (
        not isinstance(place.node, ast.UnaryOp)
        and (
            place.whole
            or (isinstance(place.parent, ast.Call) and name_of(place.parent.func) not in RANKING)
            or (
                isinstance(place.parent, ast.BinOp)
                and isinstance(place.parent.op, ast.Add)
                and place.field == "left"
            )
        )
    ),
}


class Rule(NamedTuple):
    """A row of the table, parsed.

    Attributes
    ----------
    rank : float
        Simpler slips have smaller ranks.
    kind : str
        Kind of the mistake.
    old : ast.AST
        The wrong pattern.
    new : ast.AST
        The right pattern.
    why : str
        The reason, with placeholders in braces.
    gone : set of str
        Placeholders of the wrong pattern that the right one lacks.
    """

    rank: float
    kind: str
    old: ast.AST
    new: ast.AST
    why: str
    gone: set


@functools.cache
def _table():
    """Return the rules by the type of node that they match, None for a single placeholder."""
    table = {}
    for rank, kind, *texts, why in RULES:
        old, new = (ast.parse(text).body[0] for text in texts)
        if isinstance(old, ast.Expr):  # the others are statements
            old = old.value
            new = new.value
        gone = {_placeholder(node) for node in ast.walk(old)} - {
            _placeholder(node) for node in ast.walk(new)
        }
        table.setdefault(None if _placeholder(old) else type(old), []).append(
            Rule(rank, kind, old, new, why, gone)
        )
    return table


def _placeholder(node):
    """Return the name of a placeholder in a pattern, None for other nodes."""
    return node.id if isinstance(node, ast.Name) and node.id in PLACEHOLDERS else None


def by_rule(place, values):
    """Yield the edits that the table has for a place or a slot.

    Parameters
    ----------
    place : Place or Slot
        The expression or statement to change.
    values : dict
        The recorded value of each place, by its number.

    Yields
    ------
    Edit
    """
    node = infix(place.node, values)
    value = value_at(place.node, values)
    table = _table()
    rules = table.get(type(node), [])
    if is_numeric(value) and not isinstance(node, ast.Constant):
        rules = rules + [
            rule
            for rule in table[None]
            if CONDITIONS[_placeholder(rule.old)](place, np.asarray(value))
        ]
    for rule in rules:
        bound = {}
        if _binds(rule.old, node, bound, values) and ("TARGET" not in bound or place.again):
            whole = value_at(bound.get("A", place.node), values)
            for axis in range(np.ndim(whole)) if "{AXIS}" in rule.why else (None,):
                bound["AXIS"] = ast.Constant(axis)
                new = _filled(rule.new, bound, node, values, value)
                if "FUNCTION" not in bound or _may_be_applied(node, new, values):
                    yield _edit(rule, place, new, dict(bound), values)


def _edit(rule, place, new, bound, values):
    """Return the edit of a rule whose placeholders are bound."""

    def words():
        texts = {placeholder: text_of(node) for placeholder, node in bound.items()}
        return f"{rule.why.format_map(texts)}: {belongs(new, place)}"

    kind = rule.kind
    if kind == "term":  # sizes such as N - 1 and K + 1 are integers
        kind = (
            "constant_factor"
            if isinstance(value_at(place.node, values), (int, np.integer))
            else "missing_term"
        )
    elif kind == "factor":
        gone = bound[next(iter(rule.gone & set(bound)))]
        number = isinstance(gone, ast.Constant) or np.size(value_at(gone, values)) == 1
        kind = (
            "constant_factor" if number and not isinstance(gone, ast.Name) else "elementwise_factor"
        )
    return Edit(rule.rank, kind, words, place.node, (in_place(place, new),))


def infix(node, values):
    """Return ``dot(a, b)`` and ``matmul(a, b)`` as ``a @ b``, other expressions unchanged.

    Parameters
    ----------
    node : ast.AST
        An expression or a statement.
    values : dict
        The recorded value of each place, by its number.

    Returns
    -------
    ast.AST
    """
    if isinstance(node, ast.Call) and name_of(node.func) in ("dot", "matmul"):
        arguments = _arguments(node, values)
        if len(arguments) == 2:
            return ast.BinOp(arguments[0], ast.MatMult(), arguments[1])
    return node


def _arguments(call, values):
    """Return the arguments of a call; for an array's method, the array comes first."""
    return [call.func.value, *call.args] if _is_method(call, values) else call.args


def _is_method(call, values):
    """Return whether a call is that of an array's method."""
    return isinstance(call.func, ast.Attribute) and is_numeric(
        value_at(call.func.value, values), "fiubc"
    )


def _binds(pattern, node, bound, values):
    """Return whether a node matches a pattern, and bind the placeholders in ``bound``."""
    if _placeholder(pattern):
        return ast.dump(bound.setdefault(pattern.id, node)) == ast.dump(node)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(
            _binds(old, child, bound, values) for old, child in zip(pattern, node, strict=True)
        )
    if isinstance(pattern, ast.Call):
        if not isinstance(node, ast.Call) or not _binds(pattern.func, node.func, bound, values):
            return False
        given = _arguments(node, values)
        return len(given) >= len(pattern.args) and _binds(
            pattern.args, given[: len(pattern.args)], bound, values
        )
    if isinstance(pattern, ast.Name):
        return pattern.id == name_of(node)
    if not isinstance(pattern, ast.AST):
        return pattern == node
    return type(pattern) is type(node) and all(
        _binds(getattr(pattern, field), getattr(node, field), bound, values)
        for field in pattern._fields
        if field not in ("ctx", "type_comment")
    )


def _filled(pattern, bound, node, values, value):
    """Return a pattern with its placeholders replaced by the nodes that they are bound to.

    A function without a module gets the module of the function that ``node`` calls.
    """

    def fill(node_in_pattern):
        if _placeholder(node_in_pattern):
            return bound[node_in_pattern.id]
        if isinstance(node_in_pattern, list):
            return [fill(item) for item in node_in_pattern]
        if not isinstance(node_in_pattern, ast.AST):
            return node_in_pattern
        new = copy.copy(node_in_pattern)
        for field in node_in_pattern._fields:
            setattr(
                new,
                field,
                fill(getattr(node_in_pattern, field))
                if (type(node_in_pattern), field) != (ast.Call, "func")
                else node_in_pattern.func,
            )
        # .T reverses all axes, and .mT exchanges the last two axes of stacked matrices
        if isinstance(new, ast.Attribute) and new.attr == "T":
            inner = value_at(new.value, values)
            new.attr = "T" if np.ndim(value if inner is None else inner) == 2 else "mT"
        if isinstance(new, ast.Call) and isinstance(new.func, ast.Name):
            _complete(new, bound, node, values)
        return new

    return fill(pattern)


def _complete(new, bound, node, values):
    """Complete a new call with the module and the further arguments of the original call."""
    given = {word.arg for word in new.keywords}
    new.keywords += [word for word in node.keywords if word.arg not in given]
    if "axis" not in given:
        new.args += _arguments(node, values)[len(new.args) :]
    name = new.func.id if new.func.id != "FUNCTION" else name_of(node.func)
    module = node.func
    if _is_method(node, values):
        new.func = ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
    else:
        new.func = (
            ast.Attribute(module.value, name, ast.Load())
            if isinstance(module, ast.Attribute)
            else ast.Name(name, ast.Load())
        )


def _may_be_applied(node, new, values):
    """Return whether a function may run along another axis, or may be left out.

    The rules of named functions cover sums and means.
    """
    if isinstance(new, ast.Call):
        return name_of(node.func) not in ("sum", "mean", "cumsum") and any(
            word.arg == "axis" for word in node.keywords
        )
    alone = len(_arguments(node, values)) == 1 and not node.keywords
    return alone and np.shape(value_at(node, values)) == np.shape(value_at(new, values))
