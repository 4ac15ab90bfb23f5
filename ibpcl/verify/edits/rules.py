"""The slips of one expression or one statement as a table: what stands there, what belongs there,
and why.

Capital letters stand for expressions: A, B and C for any, N for a name, S for an array whose last
two axes are of equal size, Z for a complex one, W for all that is assigned, returned or handed to a
function, T for what had a value before it is assigned to.  F is any function, X each axis of the
first argument in turn.  Functions match by their names, as methods or in any module; further
arguments are kept.
"""

import ast
import copy
import functools
from typing import NamedTuple

import numpy as np

from ibpcl.verify.edits.edit import Edit, belongs, in_place, is_numeric, name_of, value_at

LATE = 7  # edits of this rank and above are tried after everything else
RANKING = ("argmax", "argmin", "argsort", "max", "min", "sort")  # their sign is another function
PRODUCT = " in a matrix product (a transpose is missing or too many)"
# rank, kind, what stands there, what belongs there, why; {A} is the text of what A stands for
RULES = [
    (0, "sign", "-A", "A", "the sign is wrong"),
    (0.5, "sign", "W", "-W", "the sign is wrong"),
    (1, "sign", "A + B", "A - B", "the sign is wrong: this must be a difference"),
    (1, "sign", "A - B", "A + B", "the sign is wrong: this must be a sum"),
    (2, "sign", "A - B", "B - A", "the operands are exchanged, so the sign is wrong"),
    (3, "term", "A + B", "A", "a term too many, `{B}`"),
    (3, "term", "A + B", "B", "a term too many, `{A}`"),
    (3, "term", "A - B", "A", "a term too many, `{B}`"),
    (3, "term", "A - B", "-B", "a term too many, `{A}`"),
    (4, "missing_term", "N", "N - 1", "a term is missing"),
    (4, "missing_term", "N", "N + 1", "a term is missing"),
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
    (1, "constant_factor", "A // B", "A / B", "// rounds to whole numbers"),
    (4, "elementwise_factor", "N", "1 - N", "one minus it is meant"),
    (5, "elementwise_factor", "N", "N**2", "a factor `{N}` is missing"),
    (3, "elementwise_factor", "where(A, B, C)", "where(A, C, B)", "the two branches are exchanged"),
    (5, "elementwise_factor", "F(A)", "A", "this function must not be applied here"),
    (3, "transposed", "A @ B", "B @ A", f"the operands must be exchanged{PRODUCT}"),
    (3, "transposed", "A @ B", "A.T @ B", f"the first operand must be transposed{PRODUCT}"),
    (3, "transposed", "A @ B", "A @ B.T", f"the second operand must be transposed{PRODUCT}"),
    (3, "transposed", "A @ B", "(A @ B).T", "the result must be transposed"),
    (3, "transposed", "A.T", "A", "transposed once too often"),
    (5, "transposed", "S", "S.T", "transposed"),
    (
        6,
        "missing_term",
        "S",
        "(S + S.T) / 2",
        "`{S}` is treated as symmetric: a term with its transpose is missing (it "
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
        "Z",
        "np.conj(Z)",
        "the complex conjugate is missing (without it the kernel runs in reversed order)",
    ),
    (1, "constant_factor", "sum(A)", "mean(A)", "a sum where a mean belongs"),
    (1, "mean", "mean(A)", "sum(A)", "a mean where a sum belongs"),
    (1, "summed", "sum(A)", "sum(A, axis=X)", "summed over the wrong axes, axis {X} belongs there"),
    (
        1,
        "summed",
        "mean(A)",
        "mean(A, axis=X)",
        "averaged over the wrong axes, axis {X} belongs there",
    ),
    (
        1,
        "summed",
        "cumsum(A)",
        "cumsum(A, axis=X)",
        "summed over the wrong axis, axis {X} belongs there",
    ),
    (
        2,
        "summed",
        "cumsum(A)",
        "np.flip(cumsum(np.flip(A)))",
        "the sum must run from the end to the beginning (reversed)",
    ),
    (3, "summed", "F(A)", "F(A, axis=X)", "along the wrong axis, axis {X} belongs there"),
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
        "T = B",
        "T += B",
        "`{T}` is overwritten where contributions must be accumulated (a term of "
        "each earlier one is missing)",
    ),
    (1, "sign", "A += B", "A -= B", "the sign is wrong"),
    (1, "sign", "A -= B", "A += B", "the sign is wrong"),
    (3, "term", "A += B", "pass", "a term too many, `{B}`"),
    (3, "term", "A -= B", "pass", "a term too many, `{B}`"),
    (0, "few_entries", "A[B] = 0", "pass", "a step too many overwrites what must stay"),
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
OFTEN = "tril triu, argmax argmin, fft ifft"  # twins that are confused in gradients
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
LETTERS = {  # what a letter alone stands for, by the place and its value
    "N": lambda place, value: isinstance(place.node, ast.Name),
    "S": lambda place, value: (
        value.ndim >= 2
        and value.shape[-1] == value.shape[-2]
        and not (isinstance(place.parent, ast.BinOp) and isinstance(place.parent.op, ast.MatMult))
    ),
    "Z": lambda place, value: value.dtype.kind == "c",
    "W": lambda place, value: (
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
    """A row of the table, parsed; ``gone`` are the letters that what belongs there has no
    longer.
    """

    rank: float
    kind: str
    old: ast.AST
    new: ast.AST
    why: str
    gone: set


@functools.cache
def _table():
    """Return the rules by the type of node that they are about; those of a letter alone under
    None.
    """
    table = {}
    for rank, kind, *texts, why in RULES:
        old, new = (ast.parse(text).body[0] for text in texts)
        if isinstance(old, ast.Expr):  # the others are statements
            old = old.value
            new = new.value
        gone = {_letter(node) for node in ast.walk(old)} - {_letter(node) for node in ast.walk(new)}
        table.setdefault(None if _letter(old) else type(old), []).append(
            Rule(rank, kind, old, new, why, gone)
        )
    return table


def _letter(node):
    return node.id if isinstance(node, ast.Name) and len(node.id) == 1 else None


def by_rule(place, values):
    """Yield the edits that the table has for a place or a slot; ``values`` are those recorded."""
    node = _infix(place.node, values)
    value = value_at(place.node, values)
    table = _table()
    rules = table.get(type(node), [])
    if is_numeric(value) and not isinstance(node, ast.Constant):
        rules = rules + [
            rule for rule in table[None] if LETTERS[_letter(rule.old)](place, np.asarray(value))
        ]
    for rule in rules:
        found = {}
        if _binds(rule.old, node, found, values) and ("T" not in found or place.again):
            whole = value_at(found.get("A", place.node), values)
            for axis in range(np.ndim(whole)) if "{X}" in rule.why else (None,):
                found["X"] = ast.Constant(axis)
                new = _filled(rule.new, found, node, values, value)
                if "F" not in found or _may_be_applied(node, new, values):
                    yield _edit(rule, place, new, dict(found), values)


def _edit(rule, place, new, found, values):
    def words():
        texts = {letter: ast.unparse(node) for letter, node in found.items()}
        return f"{rule.why.format_map(texts)}: {belongs(new, place)}"

    kind = rule.kind
    if kind == "term":  # N - 1, K + 1
        kind = (
            "constant_factor"
            if isinstance(value_at(place.node, values), (int, np.integer))
            else "missing_term"
        )
    elif kind == "factor":
        gone = found[next(iter(rule.gone & set(found)))]
        number = isinstance(gone, ast.Constant) or np.size(value_at(gone, values)) == 1
        kind = (
            "constant_factor" if number and not isinstance(gone, ast.Name) else "elementwise_factor"
        )
    return Edit(rule.rank, kind, words, place.node, (in_place(place, new),))


def _infix(node, values):
    """Return ``dot(a, b)`` and ``matmul(a, b)`` as ``a @ b``, any other expression as it is."""
    if isinstance(node, ast.Call) and name_of(node.func) in ("dot", "matmul"):
        arguments = _arguments(node, values)
        if len(arguments) == 2:
            return ast.BinOp(arguments[0], ast.MatMult(), arguments[1])
    return node


def _arguments(call, values):
    """Return the arguments of a call; those of an array's method begin with the array."""
    return [call.func.value, *call.args] if _is_method(call, values) else call.args


def _is_method(call, values):
    return isinstance(call.func, ast.Attribute) and is_numeric(
        value_at(call.func.value, values), "fiubc"
    )


def _binds(pattern, node, found, values):
    """Return whether a tree has the form of a pattern; ``found`` gets what stands for its
    letters.
    """
    if _letter(pattern):
        return ast.dump(found.setdefault(pattern.id, node)) == ast.dump(node)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(
            _binds(old, part, found, values) for old, part in zip(pattern, node, strict=True)
        )
    if isinstance(pattern, ast.Call):
        if not isinstance(node, ast.Call) or not _binds(pattern.func, node.func, found, values):
            return False
        given = _arguments(node, values)
        return len(given) >= len(pattern.args) and _binds(
            pattern.args, given[: len(pattern.args)], found, values
        )
    if isinstance(pattern, ast.Name):
        return pattern.id == name_of(node)
    if not isinstance(pattern, ast.AST):
        return pattern == node
    return type(pattern) is type(node) and all(
        _binds(getattr(pattern, field), getattr(node, field), found, values)
        for field in pattern._fields
        if field not in ("ctx", "type_comment")
    )


def _filled(pattern, found, node, values, value):
    """Return a pattern with what stands for its letters; a function without a module is of the
    module of ``node``'s.
    """

    def fill(part):
        if _letter(part):
            return found[part.id]
        if isinstance(part, list):
            return [fill(item) for item in part]
        if not isinstance(part, ast.AST):
            return part
        new = copy.copy(part)
        for field in part._fields:
            setattr(
                new,
                field,
                fill(getattr(part, field))
                if (type(part), field) != (ast.Call, "func")
                else part.func,
            )
        # of stacked matrices, the last two axes
        if isinstance(new, ast.Attribute) and new.attr == "T":
            inner = value_at(new.value, values)
            new.attr = "T" if np.ndim(value if inner is None else inner) == 2 else "mT"
        if isinstance(new, ast.Call) and isinstance(new.func, ast.Name):
            _complete(new, found, node, values)
        return new

    return fill(pattern)


def _complete(new, found, node, values):
    """Give a call the function that its name means beside another call, and that one's further
    arguments.
    """
    own = {word.arg for word in new.keywords}
    new.keywords += [word for word in node.keywords if word.arg not in own]
    if "axis" not in own:
        new.args += _arguments(node, values)[len(new.args) :]
    name = new.func.id if new.func.id != "F" else name_of(node.func)
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
    """Return whether a function of any name may stand along another axis, or not at all."""
    if isinstance(new, ast.Call):
        return name_of(node.func) not in ("sum", "mean", "cumsum") and any(
            word.arg == "axis" for word in node.keywords
        )
    alone = len(_arguments(node, values)) == 1 and not node.keywords
    return alone and np.shape(value_at(node, values)) == np.shape(value_at(new, values))
