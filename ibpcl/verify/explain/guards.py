"""Guards and limits in the source of a pair, and the pair without them.

A guard makes a computation safe or cheap: an epsilon that is added inside a logarithm, a root or a
divisor, a bound of ``np.maximum`` or ``np.clip``, a cast to float32, a result that is rounded.
Guards are found in the source of the forward and of the gradient function, and both can be compiled
without some of them.  If a gradient is right then, these guards explain its difference;
:mod:`ibpcl.verify.explain.reasons` says what follows from this.

A limit, such as clipping, is part of training and not of the derivative: a gradient that is limited
on purpose is not linear in ``dout``.  A limit that does not act at the inputs changes no number
there, and is a note.  A limit that acts makes the gradient wrong, and is the reason.
"""

import ast
import contextlib
import copy
import inspect
from itertools import product
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.location import Location
from ibpcl.codeview.patterns import arguments_of
from ibpcl.codeview.rewrite import in_place
from ibpcl.codeview.syntax import (
    Code,
    Recording,
    executed_by,
    name_of,
    text_of,
    unwrapped,
)
from ibpcl.verify.derivative.contract import nonlinear_inputs
from ibpcl.verify.reports.kinds import Finding

LARGEST = 1e-3  # largest epsilon in a bound or a condition
LARGEST_ADDED = 0.1  # the same for one that is added
# Factors that remove guards.  The second is used if the function fails with the first.
SCALES = (0.0, 1e-30)
BOUNDS = ("maximum", "minimum", "fmax", "fmin", "max", "min", "clip", "where")
DIVIDING = (
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "power",
    "divide",
    "true_divide",
    "reciprocal",
    "norm",
    "cholesky",
    "inv",
    "solve",
    "slogdet",
)
_DOUBLE = ast.Name("float", ast.Load())
DECIMALS = 3  # rounding to fewer decimals makes a step function, which is not a guard


class Guard(NamedTuple):
    """A guard in the source.

    Attributes
    ----------
    kind : {"guard", "cast"}
        "cast" for a guard that rounds numbers.
    name : str
        The guard as the user wrote it, such as "1e-8", "EPS" or "float32".
    line : Location
        Its place in the source.
    put : callable
        ``put(scale)`` returns its replacement: (parent, field, index, new node).
    value : float
        Its number; 0 for a cast, and the distance from 1 for a bound such as ``1 - 1e-8``.
    without : str
        The logarithm, root or quotient around the guard, without the guard; empty elsewhere.
    side : int
        0 in the forward, 1 in the gradient function.
    """

    kind: str
    name: str
    line: Location
    put: object
    value: float = 0.0
    without: str = ""
    side: int = 0

    @property
    def place(self):
        """The position of the line, such as "line 12"."""
        return self.line.position


def guards_of(code, recording, casts=None):
    """Return the guards in the source of a function.

    Parameters
    ----------
    code : Code
        Source of the function.
    recording : Recording
        The values of its places.
    casts : set of str, optional
        For a gradient function, the names of the casts of its forward.  Other casts are no guards
        in a gradient function: they lose digits that its forward has.

    Returns
    -------
    list of Guard
    """
    guards = [
        guard
        for number, place in enumerate(code.places)
        for guard in [_epsilon(code, place, recording.values.get(number)) or _rounding(code, place)]
        if guard
    ]
    known = {**code.function.__globals__, **code.scope}
    for tree in code.trees.values():
        guards += _casts(code, tree, {**known, **recording.scopes.get(tree.name, {})})
    if casts is None:
        return guards
    return [
        guard._replace(side=1) for guard in guards if guard.kind == "guard" or guard.name in casts
    ]


def _epsilon(code, place, value):
    """Return the guard at a place with a tiny number, added or as a bound; None elsewhere."""
    node = place.node
    if not isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    value = node.value if isinstance(node, ast.Constant) else value
    if not isinstance(value, (float, int, np.floating)) or isinstance(value, bool):
        return None
    bound = _is_bound(place)
    added = not bound and _is_added(code, place)
    if 0 < 1 - value <= LARGEST and bound:
        size = 1 - value
    elif 0 < value <= (LARGEST_ADDED if added else LARGEST) and not _is_step(code, value):
        size = value
    else:
        return None

    def scaled(scale):
        if size == value:
            new = ast.BinOp(node, ast.Mult(), ast.Constant(scale))
        else:
            new = ast.Constant(1 - float(size) * scale)
        new.text = text_of(node)  # messages show the number as the user wrote it
        return in_place(place, new)

    if not bound and not added:
        return None
    without = _without(code, place) if added else ""
    return Guard("guard", text_of(node), code.location(node), scaled, size, without)


def _is_bound(place):
    """Return whether a number is a bound of ``np.maximum``, ``np.clip`` and the like."""
    parent = place.parent
    return (
        isinstance(parent, ast.Compare)
        or (isinstance(parent, ast.keyword) and parent.arg in ("a_min", "a_max", "min", "max"))
        or (
            isinstance(parent, ast.Call)
            and place.field == "args"
            and name_of(parent.func) in BOUNDS
        )
    )


def _around(code, place):
    """Return the expressions around a place and the statement, the innermost first."""
    tree = code.trees[place.function]
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    nodes = [place.node]
    while not isinstance(nodes[-1], ast.stmt):
        nodes.append(above[nodes[-1]])
    return nodes


def _sharp_around(nodes):
    """Return the innermost logarithm, root or quotient of some nodes; None without one."""
    pairs = zip(nodes[1:], nodes, strict=False)
    return next((outer for outer, inner in pairs if _is_sharp(outer, inner)), None)


def _without(code, place):
    """Return the logarithm, root or quotient around an added number, without the number."""
    sharp = _sharp_around(_around(code, place)[1:])
    if sharp is None:
        return ""
    added = place.parent if isinstance(place.parent.op, ast.Mult) else place.node
    return text_of(_Dropping(added.place).visit(copy.deepcopy(sharp)))


class _Dropping(ast.NodeTransformer):
    """Leave one term out of a sum; it is given by the number of its place."""

    def __init__(self, number):
        self.number = number

    def visit_BinOp(self, node):
        """Return the other term of the sum with the term."""
        if getattr(node.right, "place", None) == self.number:
            return node.left
        if getattr(node.left, "place", None) == self.number:
            minus = isinstance(node.op, ast.Sub)
            return ast.UnaryOp(ast.USub(), node.right) if minus else node.right
        return self.generic_visit(node)


def _is_added(code, place):
    """Return whether a number is added inside a log, a root or a divisor, or to a diagonal."""
    parent = place.parent
    if not isinstance(parent, ast.BinOp):
        return False
    other = parent.right if parent.left is place.node else parent.left
    if isinstance(parent.op, ast.Mult):  # a jitter, 1e-6 * np.eye(n)
        return isinstance(other, ast.Call) and name_of(other.func) in ("eye", "identity")
    if not isinstance(parent.op, (ast.Add, ast.Sub)):
        return False
    nodes = _around(code, place)
    # a bound, as in clip(p, eps, 1 - eps), but not a factor 1 + size
    if isinstance(other, ast.Constant):
        return isinstance(nodes[2], ast.Call) and name_of(nodes[2].func) in BOUNDS
    statement = nodes[-1]
    if _sharp_around(nodes[1:]) is not None or isinstance(statement, ast.Return):
        return True
    targets = getattr(statement, "targets", ())
    names = {name_of(part) for target in targets for part in ast.walk(target)} - {""}
    return any(
        _is_sharp(outer, inner)
        for outer in ast.walk(code.trees[place.function])
        for inner in ast.iter_child_nodes(outer)
        if names & set(map(name_of, ast.walk(inner)))
    )


def _is_sharp(node, child):
    """Return whether a node is a logarithm, a root or a power of ``child``, or is divided by it."""
    if isinstance(node, ast.Call):
        return name_of(node.func) in DIVIDING and child is not node.func
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Div) and child is node.value
    return isinstance(node, ast.BinOp) and (
        (isinstance(node.op, ast.Div) and child is node.right)
        or (isinstance(node.op, ast.Pow) and child is node.left)
    )


def _is_step(code, value):
    """Return whether the source also divides by a number, as by the step of a difference."""
    divisors = [
        list(ast.walk(node.right))
        for tree in code.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    ]
    return any(
        getattr(part, "value", None) in (value, 2 * value)
        for parts in divisors
        if not any(isinstance(part, ast.Add) for part in parts)
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, float)
    )


def _rounding(code, place):
    """Return the guard of a call that rounds to some decimals, None for other places."""
    node = place.node
    if not isinstance(node, ast.Call) or name_of(node.func) not in ("round", "around", "round_"):
        return None
    inner, *values = arguments_of(node, {}) or [None]
    values += [word.value for word in node.keywords if word.arg in ("decimals", "ndigits")]
    decimals = [v.value for v in values if isinstance(v, ast.Constant)]
    if inner is None or not any(isinstance(n, int) and n >= DECIMALS for n in decimals):
        return None
    return Guard("cast", "the rounding", code.location(node), lambda scale: in_place(place, inner))


def _casts(code, tree, known):
    """Return the casts to small types in a tree, where ``known`` holds the values of names."""
    guards = []
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                is_dtype = isinstance(parent, ast.keyword) and parent.arg == "dtype"
                small = _small_type(child, known, is_dtype)
                if small is None:
                    continue
                new = ast.Constant("float64") if isinstance(child, ast.Constant) else _DOUBLE
                item = parent, field, index, ast.copy_location(copy.copy(new), child)
                guards.append(
                    Guard("cast", small, code.location(child), lambda scale, item=item: item)
                )
    return guards


def _small_type(node, known, is_dtype):
    """Return the name of the float type that an expression is, if it is smaller than float64.

    A type is a name or attribute with such a value, or a text such as "float32".  A text with one
    letter counts as the argument ``dtype`` only.
    """
    if isinstance(node, ast.Constant):
        value = node.value if isinstance(node.value, str) else None
        if value is None or (len(value) < 2 and not is_dtype):
            return None
    elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
        value = _value(node, known)
        if not isinstance(value, (type, np.dtype)):
            return None
    else:
        return None
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError, SyntaxError):  # no type
        return None
    return dtype.name if dtype.kind == "f" and dtype.itemsize < 8 else None


def _value(node, known):
    """Return the value of a name or attribute, None if it is not known."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    # without running properties
    is_attribute = isinstance(node, ast.Attribute)
    return (
        inspect.getattr_static(_value(node.value, known), node.attr, None) if is_attribute else None
    )


class Guards:
    """The guards of a pair.

    Parameters
    ----------
    problem : Problem
        The pair.
    w : ndarray, shape (M,)
        A cotangent of all outputs.

    Attributes
    ----------
    found : list of Guard
        The guards of the forward, followed by those of the gradient function.
    casts : list of int
        The numbers of the guards that round.
    """

    def __init__(self, problem, w):
        self.found = []
        self.codes = [None, None]
        casts = None
        for side, (function, run) in enumerate(
            (
                (problem.f, lambda f: problem.with_forward(f).call()),
                (problem.f_vjp, lambda g: problem.with_gradient(g).gradients(w)),
            )
        ):
            guards = []
            with contextlib.suppress(Exception):  # no source, or it does not run again
                executed = executed_by(lambda run=run, function=function: run(function))
                code = self.codes[side] = Code(unwrapped(function), executed)
                guards = guards_of(code, Recording(code, run), casts)
            casts = {guard.name for guard in guards if guard.kind == "cast"}
            self.found += guards
        self.casts = [n for n, guard in enumerate(self.found) if guard.kind == "cast"]
        self.original = problem
        self.w = w

    def choices(self):
        """Return the sets of guards that may explain a difference, the smallest first.

        Returns
        -------
        list of list of int
            Numbers of guards: each alone, those of equal names together, and all.
        """
        groups = self._groups()
        others = [n for group in groups for n in group]
        choices = [[n] for n in others] + groups + [others]
        return [list(choice) for choice in dict.fromkeys(map(tuple, choices)) if choice]

    def _groups(self):
        """Return the numbers of the guards that are no casts, those of equal names together."""
        groups = {}
        for n, guard in enumerate(self.found):
            if guard.kind == "guard":
                groups.setdefault(guard.name, []).append(n)
        return list(groups.values())

    def one_sided(self, claims, rtol):
        """Return the guards that only one of the two functions takes into account.

        Without such a guard, either the derivatives of the forward change or the gradient, but not
        both.  A gradient that uses a guarded value of the cache changes with the forward.

        Parameters
        ----------
        claims : callable
            ``claims(problem)`` returns derivatives of the forward and the same numbers as the
            gradient has them.
        rtol : float
            Largest relative change of a number that does not depend on a guard.

        Returns
        -------
        list of int
            Numbers of guards.
        """
        plain = claims(self.original)
        one_sided = []
        for group in self._groups():
            pair = self.without(group)
            if pair is not None:
                forward, gradient = (
                    not np.allclose(a, b, rtol=rtol, atol=0)
                    for a, b in zip(plain, claims(pair), strict=True)
                )
                one_sided += group if forward != gradient else []
        return one_sided

    def without(self, chosen):
        """Return the pair without some of its guards.

        Parameters
        ----------
        chosen : sequence of int
            Numbers of guards.

        Returns
        -------
        Problem or None
            None if the pair fails without them, or gives numbers that are not finite.
        """
        return next(
            (
                problem
                for scale in SCALES
                for problem in [self._scaled(chosen, scale)]
                if problem is not None
            ),
            None,
        )

    def _scaled(self, chosen, scale):
        """Return the pair with some guards scaled; None if it fails then."""
        functions = [self.original.f, self.original.f_vjp]
        for side in (0, 1):
            puts = [self.found[n].put(scale) for n in chosen if self.found[n].side == side]
            if puts:
                functions[side] = self.codes[side].version(puts)
        problem = self.original.with_forward(functions[0]).with_gradient(functions[1])
        try:
            with np.errstate(all="ignore"):
                vector = problem.vector()
                gradients = problem.gradients(self.w)
        except Exception:  # a changed function may do anything at all
            return None
        finite = all(
            np.all(np.isfinite(np.asarray(g, dtype=float))) for g in gradients if g is not None
        )
        return problem if np.all(np.isfinite(vector)) and finite else None


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
    limits = _limits(code)
    for choice in _choices(limits):
        puts = [limits[number][1][alternative] for number, alternative in choice]
        try:
            again = problem.with_gradient(code.version(puts))
            if nonlinear_inputs(again, w):
                continue
        except Exception:  # a modified function may raise anything
            continue
        places = [code.location(limits[number][0]) for number, _ in choice]
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
    given = arguments_of(node, {})
    return given[:2] if len(given) == len(node.args) > 1 else given[: len(given) - len(node.args)]


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
