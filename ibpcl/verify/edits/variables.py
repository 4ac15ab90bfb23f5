"""Edits of names: another variable in one use or in all, two variables exchanged, one transposed throughout."""

import ast
import copy
from itertools import combinations

import numpy as np

from ibpcl.verify.edits.edit import (
    Edit,
    around,
    in_place,
    is_numeric,
    is_sum,
    put_all,
    replaced,
    text,
    transposed,
    value_at,
)

MOST_USES = 6           # of a variable, of which some may stand for another one


def of_variables(function, code, values, scope):
    """Yield another variable of the same shape in the place of one: in one of its uses, then in all.

    Parameters
    ----------
    function : str
    code : Code
    values : dict of int to object
        First recorded value of each place.
    scope : dict
        The variables that the function had when it returned.

    Yields
    ------
    Edit
    """
    names, parts = {}, {}
    for place in code.places:
        if place.function == function and place.inside == "formula" and is_numeric(
                value_at(place.node, values), "fiubc"):
            if isinstance(place.node, ast.Name):
                names.setdefault(place.node.id, []).append(place)
            elif isinstance(place.node, (ast.Subscript, ast.Attribute)):
                parts.setdefault(place.text, []).append(place)
    arrays = {name: value for name, value in scope.items() if is_numeric(value, "fiubc")}
    first = {text: value_at(places[0].node, values) for text, places in parts.items()}
    yield from _other_entries([place for places in parts.values() for place in places], scope)
    for together in (parts, *_by_statement(parts)):
        yield from _exchanged(together, first)
    for together in (names, *_by_statement(names)):
        yield from _exchanged(together, arrays)
        for name, places in together.items():
            if name in arrays and len(places) > 1:
                yield from _in_every_use(name, places, arrays[name])
    for name, places in names.items():
        if name not in arrays:
            continue
        for other, value in arrays.items():
            rank = _rank(arrays[name], value)
            if other == name or rank is None:
                continue
            for place in places:
                yield _renamed(name, other, [place], rank, arrays)
            if len(places) > 1 and rank == 4:
                yield _renamed(name, other, places, 5, arrays)
                for several in _subsets(places):
                    yield _renamed(name, other, several, 6, arrays)


def _by_statement(uses):
    """Return the same for each statement by itself."""
    found = {}
    for name, places in uses.items():
        for place in places:
            found.setdefault(place.statement, {}).setdefault(name, []).append(place)
    return found.values()


def _other_entries(places, scope):
    """Yield other entries of the same shape of a dict, or attributes of an object, in which the cache is kept."""
    for place in places:
        node = place.node
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) \
                and isinstance(node.slice, ast.Constant):
            holder, key = scope.get(node.value.id), node.slice.value
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            holder, key = getattr(scope.get(node.value.id), "__dict__", None), node.attr
        else:
            continue
        entries = {name: value for name, value in holder.items() if is_numeric(value, "fiubc")} \
            if isinstance(holder, dict) else {}
        for other, value in entries.items() if key in entries else ():
            if other != key and np.shape(value) == np.shape(entries[key]):
                new = ast.Attribute(node.value, other, ast.Load()) if isinstance(node, ast.Attribute) else \
                    ast.Subscript(node.value, ast.Constant(other), ast.Load())
                yield replaced(4, "elementwise_factor", place, new, "another entry is meant")


def _subsets(places):
    """Yield several of a few uses, though not all: the name stood for two values, and one of them is right."""
    for size in range(len(places) - 1, 1, -1) if len(places) <= MOST_USES else ():
        yield from combinations(places, size)


def _exchanged(uses, arrays):
    """Yield two of one shape exchanged in all their uses: gates, halves, coefficients, first and second weights."""
    for a, b in combinations([name for name in uses if name in arrays], 2):
        if np.shape(arrays[a]) == np.shape(arrays[b]) and a not in b and b not in a:
            puts = tuple(in_place(place, copy.copy(uses[other][0].node))
                         for name, other in ((a, b), (b, a)) for place in uses[name])
            yield Edit(5.5, "swapped", lambda a=a, b=b: f"`{a}` and `{b}` are exchanged (swapped, in the wrong order)",
                       uses[a][0].node, puts)


def _in_every_use(name, places, value):
    """Yield a variable transposed, and one minus it, wherever it stands."""
    if np.ndim(value) == 2:
        yield put_all(5, "transposed", places, transposed,
                      lambda: f"`{name}` must be transposed wherever it stands: `{name}.T`")
    yield put_all(6, "elementwise_factor", places, lambda node: ast.BinOp(ast.Constant(1), ast.Sub(), node),
                  lambda: f"`{name}` and `1 - {name}` are exchanged")


def _rank(value, other):
    """Return how simple it is to confuse two variables: 4 if of one shape, 5 if one broadcasts, else None."""
    if np.asarray(value).dtype.kind != np.asarray(other).dtype.kind:
        return None
    shapes = np.shape(value), np.shape(other)
    if shapes[0] == shapes[1]:
        return 4
    try:
        return 5 if () not in shapes and np.broadcast_shapes(*shapes) in shapes else None
    except ValueError:
        return None


def _renamed(name, other, places, rank, arrays):
    terms = all(is_sum(place.parent) for place in places)
    where = " and ".join(dict.fromkeys(text(around(place)) for place in places))
    kind = "constant_factor" if _proportional(arrays[name], arrays[other]) else \
        "missing_term" if terms else "elementwise_factor"
    return put_all(rank, kind, places, lambda node: ast.Name(other, ast.Load()),
                   lambda: f"`{name}` stands where `{other}` belongs, in `{where}`")


def _proportional(a, b):
    """Return whether two arrays differ by a constant factor."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.size > 1 and bool(np.any(a) and np.any(b)) and np.allclose(
        b * np.vdot(a, a), a * np.vdot(a, b), rtol=1e-9, atol=0)
