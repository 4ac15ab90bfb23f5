"""Edits of loops over steps, and of the point where a derivative is taken."""

import ast
import copy
from itertools import product

import numpy as np

from ibpcl.codeview.rewrite import Edit, in_place
from ibpcl.codeview.syntax import is_numeric, items_of, text_of, value_at

MOST_CARRIES = 3  # largest number of arrays in a loop that get a new value
MOST_SOURCES = 8  # largest number of new values that are tried for each of them
MOST_ARGUMENTS = 12  # largest number of other arguments that are tried in a call


def of_carries(loop, parent_tree, scope):
    """Yield a loop that passes arrays on to its next step, for each array that is not passed on.

    Such an array is made before the loop and read in it, but never gets a new value there.

    Parameters
    ----------
    loop : ast.For
        The loop.
    parent_tree : ast.FunctionDef
        The function around it.
    scope : dict
        Local variables of the function when it returned.

    Yields
    ------
    Edit
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
        sources = [
            text
            for text, value in _made_in(stored, scope)
            if np.shape(value) == np.shape(scope[name])
        ]
        sources.sort(key=lambda text: (_bare(text) != _bare(name), len(text)))
        if sources:
            options.append([(name, text) for text in sources[:MOST_SOURCES]])
    singles = [[pair] for pairs in options for pair in pairs]
    together = [list(pairs) for pairs in product(*options)] if len(options) > 1 else []
    for pairs in singles + together:
        yield _handed_on(loop, pairs)


def _made_in(stored, scope):
    """Yield (text, value) for the arrays that a loop makes, and for the items of its containers."""
    for name in sorted(stored):
        value = scope.get(name)
        if is_numeric(value):
            yield name, value
        elif isinstance(value, (tuple, list, dict)):
            yield from ((text, item) for text, item in items_of(name, value) if is_numeric(item))


def _bare(text):
    """Return a name or key without its marks: ``g["da_next"]`` and ``da`` are alike."""
    inner = text.split("[")[-1].strip("]'\"")
    return inner.lower().replace("_", "").replace("prev", "").replace("next", "")


def _handed_on(loop, pairs):
    """Return the edit that assigns new values to arrays at the end of each step."""
    last = loop.body[-1]
    assignments = [ast.parse(f"{name} = {text}").body[0] for name, text in pairs]
    new = ast.copy_location(ast.If(ast.Constant(True), [last, *assignments], []), last)
    shown = " and ".join(f"`{name} = {text}`" for name, text in pairs)
    names = " and ".join(f"`{name}`" for name, _ in pairs)
    return Edit(
        0.6 + 0.2 * len(pairs),
        "missing_term",
        lambda: (
            f"a term is missing: the loop never gives a new value to {names}, which must be "
            f"carried from step to step; add {shown} at the end of the loop"
        ),
        loop,
        ((loop, "body", len(loop.body) - 1, new),),
    )


def of_single_steps(loop):
    """Yield a loop over all steps for a loop over a single step, as in ``for t in [T - 1]``.

    Parameters
    ----------
    loop : ast.For
        The loop.

    Yields
    ------
    Edit
    """
    order = loop.iter
    if isinstance(order, (ast.List, ast.Tuple)) and len(order.elts) == 1:
        new = ast.parse(f"reversed(range({text_of(order.elts[0])} + 1))", mode="eval").body
        yield Edit(
            1,
            "missing_term",
            lambda: (
                "terms are missing: the loop goes back through one step only, "
                f"`{text_of(order)}` should be `{text_of(new)}`"
            ),
            loop,
            ((loop, "iter", None, ast.copy_location(new, order)),),
        )


def of_arguments(place, values, scope, places):
    """Yield other arguments of a derivative that is taken at an activated value.

    The right value is the one before the activation, ``F(z)`` instead of ``F(a)``.  Or the
    derivative is expressed by the activated value: ``a * (1 - a)`` or ``1 - a**2``.

    Parameters
    ----------
    place : Place
        A call.
    values : dict
        The recorded value of each place, by its number.
    scope : dict
        Local variables of the function.  They are not used.
    places : list of Place
        The places of the function.

    Yields
    ------
    Edit
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
    text = text_of(argument)
    lowest = np.min(value, initial=0.0)
    highest = np.max(value, initial=0.0)
    inside = text if isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript)) else f"({text})"
    forms = [f"{inside} * (1 - {inside})"] if lowest >= 0 and highest <= 1 else []
    forms += [f"1 - {inside}**2"] if lowest >= -1 and highest <= 1 else []
    for form in forms:
        new = ast.parse(form, mode="eval").body
        yield Edit(4, "elementwise_factor", _activated(node, new), node, (in_place(place, new),))
    others = dict.fromkeys(
        other.text
        for other in places
        if isinstance(other.node, (ast.Subscript, ast.Attribute))
        and other.text != text
        and np.shape(value_at(other.node, values)) == value.shape
        and is_numeric(value_at(other.node, values))
    )
    for other in list(others)[:MOST_ARGUMENTS]:
        new = ast.Call(node.func, [ast.parse(other, mode="eval").body], [])
        yield Edit(4.2, "elementwise_factor", _activated(node, new), node, (in_place(place, new),))


def _activated(old, new):
    """Return the description of a derivative that is taken at another value."""
    return lambda: (
        "the derivative is taken at another value, such as the activated one: "
        f"`{text_of(old)}` should be `{text_of(new)}`"
    )


def of_derivative_at_dout(place, values, scope, entries, dout):
    """Yield ``dout * F(x)`` instead of ``F(dout)``: a derivative taken at the incoming gradient.

    Parameters
    ----------
    place : Place
        An expression that contains the incoming gradient.
    values : dict
        The recorded value of each place, by its number.
    scope : dict
        Local variables of the function when it returned.
    entries : dict
        Arrays in containers and objects among them, by their source texts.
    dout : str
        Name of the incoming gradient.

    Yields
    ------
    Edit
    """
    shape = np.shape(scope.get(dout))
    if not _uses(dout, place.node) or np.shape(value_at(place.node, values)) != shape:
        return
    arrays = {name: value for name, value in scope.items() if name != dout and is_numeric(value)}
    arrays.update(entries)
    for name, value in list(arrays.items())[:MOST_ARGUMENTS]:
        if np.shape(value) == shape and np.ndim(value):
            if _is_factor(dout, place.node):
                new = ast.BinOp(place.node, ast.Mult(), ast.parse(name, mode="eval").body)
                words = _without_factor(place.node, name)
                yield Edit(1.5, "elementwise_factor", words, place.node, (in_place(place, new),))
                continue
            inner = _renamed(place.node, dout, name)
            new = ast.BinOp(ast.Name(dout, ast.Load()), ast.Mult(), inner)
            yield Edit(
                1.5,
                "not_linear",
                _at_dout(place.node, new, name),
                place.node,
                (in_place(place, new),),
            )


def _is_factor(name, node):
    """Return whether an expression is a product, one factor of which is a variable.

    Then ``name * F(other)`` is ``F(name) * other``: only a factor is missing.
    """
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_factor(name, node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        inside = [_uses(name, side) for side in (node.left, node.right)]
        if isinstance(node.op, ast.Mult) and inside == [False, True]:
            return _is_factor(name, node.right)
        return inside == [True, False] and _is_factor(name, node.left)
    return isinstance(node, ast.Name) and node.id == name


def _uses(name, node):
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _without_factor(old, name):
    """Return the description of a product without one of its factors."""
    return lambda: f"an elementwise factor is missing: `{name}` beside `{text_of(old)}`"


def _at_dout(old, new, name):
    """Return the description of a derivative that is taken at the incoming gradient."""
    return lambda: (
        f"the derivative is taken at dout, not at `{name}`, and nothing multiplies it: "
        f"`{text_of(old)}` should be `{text_of(new)}`"
    )


def _renamed(node, old, new):
    """Return a copy of an expression with a name replaced by another expression."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, name):
            return ast.parse(new, mode="eval").body if name.id == old else name

    return Renaming().visit(copy.deepcopy(node))
