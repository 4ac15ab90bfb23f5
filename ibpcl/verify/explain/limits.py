"""Limits of a gradient, such as clipping, which are part of training and not of the derivative.

A gradient that is limited on purpose is not linear in ``dout``.  A limit that does not act at the
inputs changes no number there, and is a note.  A limit that acts makes the gradient wrong, and is
the reason beside the verdict.
"""

import ast
from itertools import product

from ibpcl.codeview.rewrite import in_place, put
from ibpcl.codeview.syntax import Code, changed, name_of
from ibpcl.verify.derivative.contract import nonlinear_inputs
from ibpcl.verify.reports.kinds import Finding

CALLS = ("clip", "minimum", "maximum", "min", "max")
MOST_SHOWN = 2  # lines in a note


def without_limits(problem, w):
    """Return a pair without the limits of its gradient.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.

    Returns
    -------
    problem : Problem
        The same problem if its gradient is linear in ``dout``, or is not linear without limits
        either.
    limit : Finding or None
        A note that names the limits; None if the problem is the same.
    """
    bent = nonlinear_inputs(problem, w)
    if not bent:
        return problem, None
    try:
        code = Code(problem.f_vjp)
    except (ValueError, SyntaxError):
        return problem, None
    for choice in _choices(_limits(code)):

        def change(code, choice=choice):
            limits = _limits(code)
            for number, alternative in choice:
                put(*limits[number][1][alternative])

        try:
            again = problem.with_gradient(changed(problem.f_vjp, frozenset(), change))
            if nonlinear_inputs(again, w):
                continue
        except Exception:  # a modified function may raise anything
            continue
        places = [code.line(_limits(code)[number][0]) for number, _ in choice]
        lines = list(dict.fromkeys(map(str, places)))
        shown = "; ".join(lines[:MOST_SHOWN])
        more = f" and {len(lines) - MOST_SHOWN} more" if len(lines) > MOST_SHOWN else ""
        return again, Finding(
            "not_linear",
            f"the gradient is limited: {shown}{more}",
            where=places[0],
            inputs=tuple(bent),
        )
    return problem, None


def _choices(limits):
    """Yield the limits to remove, as pairs of a limit's number and an alternative's number."""
    sizes = [len(alternatives) for _, alternatives in limits]
    for number, size in enumerate(sizes):
        for alternative in range(size):
            yield [(number, alternative)]
    if len(limits) > 1:
        for alternative in range(max(sizes)):
            yield [(number, min(alternative, size - 1)) for number, size in enumerate(sizes)]


def _limits(code):
    """Return (node, alternative replacements) for each limit in the source of a function."""
    found = []
    for place in code.places:
        node = place.node
        alternatives = []
        if isinstance(node, ast.Call) and name_of(node.func) in CALLS:
            alternatives = _limited(node)
        elif isinstance(node, ast.IfExp):
            alternatives = _without_rescaling(node)
        if alternatives and not isinstance(place.parent, ast.Expr):
            found.append((node, [in_place(place, new) for new in alternatives]))
    for tree in code.trees.values():
        for parent, field in product(ast.walk(tree), ("body", "orelse")):
            statements = getattr(parent, field, None)
            for index, statement in enumerate(statements if isinstance(statements, list) else ()):
                if _is_call(statement) or _rescales(statement):
                    empty = ast.copy_location(ast.Pass(), statement)
                    found.append((statement, [(parent, field, index, empty)]))
    return found


def _limited(node):
    """Return the values that a call may limit, the likeliest first."""
    of_module = isinstance(node.func, ast.Name) or (
        isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy", "math")
    )
    if not of_module:  # dW.clip(-5, 5)
        return [node.func.value]
    return node.args[:2] if len(node.args) > 1 else []


def _without_rescaling(node):
    """Return the plain branch of a conditional expression whose other branch is a product."""
    return [
        kept
        for kept, other in ((node.orelse, node.body), (node.body, node.orelse))
        if isinstance(kept, (ast.Name, ast.Attribute, ast.Constant)) and _is_product(other)
    ]


def _is_product(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div))


def _is_call(statement):
    """Return whether a statement is a call such as ``np.clip(dW, -5, 5, out=dW)``."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and name_of(statement.value.func) in CALLS
    )


def _rescales(statement):
    """Return whether a statement is a condition under which gradients are only multiplied."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and any(isinstance(node, ast.Compare) for node in ast.walk(statement.test))
        and all(map(_multiplies, statement.body))
    )


def _multiplies(statement):
    if isinstance(statement, ast.For):
        return not statement.orelse and all(map(_multiplies, statement.body))
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, (ast.Mult, ast.Div))
    return isinstance(statement, ast.Assign) and _is_product(statement.value)
