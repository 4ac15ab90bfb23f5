"""Details of the source that change numbers a little, and a pair without some of them.

A guard makes a computation safe or cheap: an epsilon that is added inside a logarithm, a root or a
divisor, or a bound of ``np.maximum`` or ``np.clip``.  A cast stores numbers in a small type, or
rounds them.  A constant is a number with several digits.

All of them are found in the source of a pair, and the pair can be compiled again with others in
their place.  If the gradient then fits, they explain its difference:
:mod:`ibpcl.verify.explain.reasons` says what follows from this.
"""

import ast
import contextlib
import copy
import inspect
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.location import Location
from ibpcl.codeview.patterns import arguments_of
from ibpcl.codeview.rewrite import in_place
from ibpcl.codeview.syntax import Recording, children_of, name_of, read, text_of

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
SHORTEST = 3  # smallest number of significant digits of a rounded constant


class Detail(NamedTuple):
    """A part of the source that may be replaced without another derivation.

    Attributes
    ----------
    kind : {"guard", "cast", "constant"}
        What it is.
    name : str
        The part as the user wrote it, such as "1e-8", "EPS" or "float32".
    where : Location
        Its place in the source.
    put : callable
        ``put(number)`` returns its replacement: (parent, field, index, new node).  The number is
        the factor of a guard, or the new value of a constant; a cast has one replacement.
    value : float
        Its number; 0 for a cast, and the distance from 1 for a bound such as
        ``1 - 1e-8``.
    side : int
        0 in the forward, 1 in the gradient function.
    """

    kind: str
    name: str
    where: Location
    put: object
    value: float = 0.0
    side: int = 0


class Details:
    """The source of a pair, its details, and the pair with others in their place.

    Parameters
    ----------
    problem : Problem
        The pair.
    w : ndarray, shape (M,)
        A cotangent of all outputs.

    Attributes
    ----------
    codes : list of Code or None
        Source of the forward and of the gradient function; None if it cannot be read.
    """

    def __init__(self, problem, w):
        self.problem = problem
        self.w = w
        self.runs = (
            lambda f: problem.with_forward(f).call(),
            lambda f_vjp: problem.with_gradient(f_vjp).gradients(w),
        )
        self.codes = [
            read(function, run)
            for function, run in zip((problem.f, problem.f_vjp), self.runs, strict=True)
        ]

    def guards(self):
        """Return the guards and casts of the forward, then those of the gradient function.

        Casts that the forward does not have are none in the gradient function: they lose digits.

        Returns
        -------
        list of Detail
        """
        found = []
        for side, code in enumerate(self.codes):
            casts = {detail.name for detail in found if detail.kind == "cast"}
            with contextlib.suppress(Exception):  # no source, or it does not run again
                recording = Recording(code, self.runs[side])
                found += [
                    detail._replace(side=side)
                    for detail in guards_of(code, recording)
                    if side == 0 or detail.kind == "guard" or detail.name in casts
                ]
        return found

    def constants(self):
        """Return the constants with several digits, those of the gradient function first.

        Returns
        -------
        list of Detail
        """
        return [
            Detail(
                "constant",
                place.text,
                code.location(place.node),
                _constant_at(place),
                place.node.value,
                side=side,
            )
            for side, code in reversed(list(enumerate(self.codes)))
            for place in (code.places if code is not None else ())
            if isinstance(place.node, ast.Constant)
            and isinstance(place.node.value, float)
            and place.inside == "formula"
            and digits(place.node.value) >= SHORTEST
        ]

    def changed(self, numbers):
        """Return the pair with other numbers in place of some details.

        Parameters
        ----------
        numbers : dict of Detail to float
            The number for each of them.

        Returns
        -------
        Problem
        """
        functions = [self.problem.f, self.problem.f_vjp]
        for side in {detail.side for detail in numbers}:
            puts = [detail.put(n) for detail, n in numbers.items() if detail.side == side]
            functions[side] = self.codes[side].version(puts)
        return self.problem.with_forward(functions[0]).with_gradient(functions[1])

    def without(self, chosen):
        """Return the pair without some of its details.

        Parameters
        ----------
        chosen : sequence of Detail
            Guards and casts.

        Returns
        -------
        Problem or None
            None if the pair fails without them, or gives numbers that are not finite.
        """
        for scale in SCALES:
            pair = self.changed(dict.fromkeys(chosen, scale))
            try:
                with np.errstate(all="ignore"):
                    numbers = [pair.vector(), *pair.gradients(self.w)]
                if all(_is_finite(array) for array in numbers if array is not None):
                    return pair
            except Exception:  # a changed function may do anything at all
                continue
        return None

    def explaining(self, choices, fits, always=()):
        """Return the first details without which a condition holds.

        Parameters
        ----------
        choices : iterable of list of Detail
            The details to leave out, the smallest sets first.
        fits : callable
            ``fits(pair)`` returns whether the gradient of the changed pair fits.
        always : sequence of Detail
            Details that are left out with each choice.

        Returns
        -------
        tuple or None
            (pair, details).
        """
        for chosen in choices:
            try:
                pair = self.without([*always, *chosen])
                if pair is not None and fits(pair):
                    return pair, chosen
            except Exception:  # a changed function may raise anything
                continue
        return None


def _is_finite(array):
    return bool(np.all(np.isfinite(np.asarray(array, dtype=float))))


def _constant_at(place):
    """Return a function that replaces the number at a place."""
    return lambda number: in_place(place, ast.Constant(float(number)))


def choices_of(guards):
    """Return the sets of guards that may explain a difference, the smallest first.

    Parameters
    ----------
    guards : sequence of Detail
        The guards.

    Returns
    -------
    list of tuple of Detail
        Each alone, those of equal names together, and all.
    """
    groups = {}
    for guard in guards:
        groups.setdefault(guard.name, []).append(guard)
    ordered = [guard for group in groups.values() for guard in group]
    sets = [*((guard,) for guard in ordered), *map(tuple, groups.values()), tuple(ordered)]
    return list(filter(None, dict.fromkeys(sets)))


def guards_of(code, recording):
    """Return the guards and casts in the source of a function.

    Parameters
    ----------
    code : Code
        Source of the function.
    recording : Recording
        The values of its places.

    Returns
    -------
    list of Detail
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
    return guards


def _epsilon(code, place, value):
    """Return the guard at a place with a tiny number, added or as a bound; None elsewhere."""
    node = place.node
    if not isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    value = node.value if isinstance(node, ast.Constant) else value
    if not isinstance(value, (float, int, np.floating)) or isinstance(value, bool):
        return None
    if not 0 < min(value, 1 - value) <= LARGEST_ADDED:
        return None
    bound = _is_bound(place)
    if not bound and not _is_added(code, place):
        return None
    below_one = bound and 1 - value <= LARGEST
    size = 1 - value if below_one else value
    if size > (LARGEST if bound else LARGEST_ADDED) or (not below_one and _is_step(code, value)):
        return None

    def scaled(scale):
        product = ast.BinOp(node, ast.Mult(), ast.Constant(scale))
        new = ast.Constant(1 - float(size) * scale) if below_one else product
        new.text = text_of(node)  # messages show the number as the user wrote it
        return in_place(place, new)

    return Detail("guard", text_of(node), code.location(node), scaled, size)


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


def _is_added(code, place):
    """Return whether a number is added inside a log, a root or a divisor, to a diagonal or to the
    result.
    """
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
    is_inside = any(_is_sharp(outer, inner) for inner, outer in pairwise(nodes[1:]))
    if is_inside or isinstance(statement, ast.Return):
        return True
    targets = getattr(statement, "targets", ())
    names = {name_of(part) for target in targets for part in ast.walk(target)} - {""}
    tree = code.trees[place.function]
    return not names.isdisjoint(_returned(tree)) or any(
        _is_sharp(outer, inner)
        for outer in ast.walk(tree)
        for inner in ast.iter_child_nodes(outer)
        if names & set(map(name_of, ast.walk(inner)))
    )


def _returned(tree):
    """Yield the names that a function returns, alone or in a tuple."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Return):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            yield from map(name_of, parts)


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
    return Detail("cast", "the rounding", code.location(node), lambda scale: in_place(place, inner))


def _casts(code, tree, known):
    """Return the casts to small types in a tree, where ``known`` holds the values of names."""
    guards = []
    for parent in ast.walk(tree):
        is_dtype = isinstance(parent, ast.keyword) and parent.arg == "dtype"
        for child, field, index in children_of(parent):
            small = _small_type(child, known, is_dtype)
            if small is None:
                continue
            new = ast.Constant("float64") if isinstance(child, ast.Constant) else _DOUBLE
            item = parent, field, index, ast.copy_location(copy.copy(new), child)
            guards.append(Detail("cast", small, code.location(child), lambda _, item=item: item))
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


def digits(value):
    """Return the number of significant digits with which a number is written.

    Parameters
    ----------
    value : float
        A number.

    Returns
    -------
    int

    Examples
    --------
    >>> digits(3.1416), digits(0.5), digits(1e-8)
    (5, 1, 1)
    """
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def last_digit(value):
    """Return the size of one unit in the last digit with which a number is written.

    Parameters
    ----------
    value : float
        A number.

    Returns
    -------
    float

    Examples
    --------
    >>> last_digit(3.1416), last_digit(250.0)
    (0.0001, 10.0)
    """
    return float(Decimal(1).scaleb(Decimal(repr(value)).normalize().as_tuple().exponent))
