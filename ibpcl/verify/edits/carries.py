"""Edits of loops over steps, such as a carry that is not updated, and of where a derivative is
taken.
"""

import ast
import copy
from itertools import product

import numpy as np

from ibpcl.verify.diagnosis.source import items_of
from ibpcl.verify.edits.edit import Edit, in_place, is_numeric, value_at

MOST_CARRIES = 3
MOST_SOURCES = 8
MOST_ARGUMENTS = 12


def of_carries(loop, parent_tree, scope):
    """Yield a loop that hands its carries on to the next step, where it does not.

    A carry is an array that is made before the loop and read in it, but never given a new value
    there.
    """
    body = ast.Module(loop.body, [])
    stored = {
        node.id
        for node in ast.walk(body)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    based = {
        id(node.value)
        for node in ast.walk(body)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    read = [
        node.id
        for node in ast.walk(body)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in based
    ]
    before = {
        node.id
        for node in ast.walk(parent_tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno < loop.lineno
    }
    carries = [
        name
        for name in dict.fromkeys(read)
        if name in before
        and name not in stored
        and is_numeric(scope.get(name))
        and np.ndim(scope[name])
    ]
    options = []
    for name in carries[:MOST_CARRIES]:
        found = [
            text
            for text, value in _made_in(stored, scope)
            if np.shape(value) == np.shape(scope[name])
        ]
        found.sort(key=lambda text: (_bare(text) != _bare(name), len(text)))
        if found:
            options.append([(name, text) for text in found[:MOST_SOURCES]])
    singles = [[pair] for pairs in options for pair in pairs]
    together = [list(pairs) for pairs in product(*options)] if len(options) > 1 else []
    for pairs in singles + together:
        yield _handed_on(loop, pairs)


def _made_in(stored, scope):
    """Yield (text, value): arrays that a loop makes, and the items of containers that it makes."""
    for name in sorted(stored):
        value = scope.get(name)
        if is_numeric(value):
            yield name, value
        elif isinstance(value, (tuple, list, dict)):
            yield from ((text, item) for text, item in items_of(name, value) if is_numeric(item))


def _bare(text):
    """Return the letters of a name or key without what marks a gradient: ``g["da"]`` and ``da`` are
    alike.
    """
    inner = text.split("[")[-1].strip("]'\"")
    return inner.lower().replace("_", "").replace("prev", "").replace("next", "")


def _handed_on(loop, pairs):
    last = loop.body[-1]
    assignments = [ast.parse(f"{name} = {text}").body[0] for name, text in pairs]
    new = ast.copy_location(ast.If(ast.Constant(True), [last, *assignments], []), last)
    shown = " and ".join(f"`{name} = {text}`" for name, text in pairs)
    names = " and ".join(f"`{name}`" for name, _ in pairs)
    return Edit(
        0.6 + 0.2 * len(pairs),
        "missing_term",
        lambda: (
            "a term is missing: the loop never gives a new "
            f"value to {names}, which must be carried from step to step; at its end belongs {shown}"
        ),
        loop,
        ((loop, "body", len(loop.body) - 1, new),),
    )


def of_single_steps(loop):
    """Yield a loop over all steps where it runs over one, ``for t in [T - 1]``."""
    order = loop.iter
    if isinstance(order, (ast.List, ast.Tuple)) and len(order.elts) == 1:
        new = ast.parse(f"reversed(range({ast.unparse(order.elts[0])} + 1))", mode="eval").body
        yield Edit(
            1,
            "missing_term",
            lambda: (
                "terms are missing: the loop goes back through one step only, "
                f"`{ast.unparse(new)}` belongs where `{ast.unparse(order)}` stands"
            ),
            loop,
            ((loop, "iter", None, ast.copy_location(new, order)),),
        )


def of_arguments(place, values, scope, found):
    """Yield what belongs where a derivative is taken at an activated value.

    It is the value before the activation, ``F(z)`` for ``F(a)``, or the derivative in terms of the
    activated one, ``a * (1 - a)`` or ``1 - a**2``.  ``found`` are the places of the function.
    """
    node = place.node
    if len(node.args) != 1 or node.keywords:
        return
    argument = node.args[0]
    value = np.asarray(value_at(node.args[0], values))
    if (
        not is_numeric(value_at(node.args[0], values))
        or value.ndim == 0
        or np.shape(value_at(node, values)) != value.shape
    ):
        return
    text = ast.unparse(argument)
    low = np.min(value, initial=0.0)
    high = np.max(value, initial=0.0)
    inside = text if isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript)) else f"({text})"
    ways = [f"{inside} * (1 - {inside})"] if low >= 0 and high <= 1 else []
    ways += [f"1 - {inside}**2"] if low >= -1 and high <= 1 else []
    for way in ways:
        new = ast.parse(way, mode="eval").body
        yield Edit(4, "elementwise_factor", _activated(node, new), node, (in_place(place, new),))
    others = dict.fromkeys(
        other.text
        for other in found
        if isinstance(other.node, (ast.Subscript, ast.Attribute))
        and other.text != text
        and np.shape(value_at(other.node, values)) == value.shape
        and is_numeric(value_at(other.node, values))
    )
    for other in list(others)[:MOST_ARGUMENTS]:
        new = ast.Call(node.func, [ast.parse(other, mode="eval").body], [])
        yield Edit(4.2, "elementwise_factor", _activated(node, new), node, (in_place(place, new),))


def _activated(old, new):
    return lambda: (
        "the derivative is taken at another value, such as the activated one: "
        f"`{ast.unparse(new)}` belongs where `{ast.unparse(old)}` stands"
    )


def of_derivative_at_dout(place, values, scope, entries, dout):
    """Yield ``dout * F(x)`` where ``F(dout)`` stands: a derivative that is taken at the incoming
    gradient.
    """
    uses = [node for node in ast.walk(place.node) if isinstance(node, ast.Name) and node.id == dout]
    shape = np.shape(scope.get(dout))
    if not uses or np.shape(value_at(place.node, values)) != shape:
        return
    known = {name: value for name, value in scope.items() if name != dout and is_numeric(value)}
    known.update(entries)
    for name, value in list(known.items())[:MOST_ARGUMENTS]:
        if np.shape(value) == shape and np.ndim(value):
            inner = _renamed(place.node, dout, name)
            new = ast.BinOp(ast.Name(dout, ast.Load()), ast.Mult(), inner)
            yield Edit(
                1.5,
                "not_linear",
                _at_dout(place.node, new, name),
                place.node,
                (in_place(place, new),),
            )


def _at_dout(old, new, name):
    return lambda: (
        f"the derivative is taken at dout, not at `{name}`, and nothing multiplies it: "
        f"`{ast.unparse(new)}` belongs where `{ast.unparse(old)}` stands"
    )


def _renamed(node, old, new):
    """Return a copy of an expression with another expression in the place of a name."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, name):
            return ast.parse(new, mode="eval").body if name.id == old else name

    return Renaming().visit(copy.deepcopy(node))
