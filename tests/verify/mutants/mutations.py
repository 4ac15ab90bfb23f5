"""Plant mistakes: every way in which one place of a gradient function can be spoiled, made from its
syntax tree.

A mutation changes one node of the source of an ``f_vjp``, or of a private function of the same
module that it calls. The kinds are the slips of people who derive by hand:

============  ===================================================================================
kind          what is changed
============  ===================================================================================
``sign``      ``a + b`` and ``a - b`` exchanged, a minus lost, a minus before a value or a result
``factor``    ``a * b`` without one of them, ``a / b`` without b, or with 1 in the place of a
``term``      ``a + b`` or ``a - b`` without one of them, ``x += y`` left out
``axis``      another axis of a sum, of a cumulative sum or of a flip; all axes; one of several
``sum``       a sum left out, or a mean in its place
``operands``  ``a - b``, ``a / b``, ``a @ b``, two arguments, or two results the other way round
``cache``     a cached value replaced by another one of the same shape, in one place or in all
``slice``     an index or the end of a slice one off
``constant``  a number one larger, or halved; a named constant one larger
============  ===================================================================================
"""

import ast
import copy
import inspect
import textwrap
from typing import NamedTuple

from mutants.changes import Walk, changes, text

KINDS = ("sign", "factor", "term", "axis", "sum", "operands", "cache", "slice", "constant")


class Mutation(NamedTuple):
    """One change of one node.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    words : str
        What was changed, for a person.
    function : str
        Name of the function that the change is in.
    source : str
        The whole function, changed.
    lines : tuple of int
        Lines of the change in ``source``.
    part : str
        The expression that was dropped or exchanged, or in whose place another stands.
    path, whole : int
        Positions of ``part``, and of the whole expression that was changed, in the walk over the
        tree of the unchanged function, to evaluate them; -1 if there is none.
    role : str
        What the changed expression is within its formula: ``factor``, ``term`` or ``whole``;
        several in a row if it is changed in several places.
    exponent : bool
        Whether it stands inside an exponential, where a term is a factor of the result.
    operator : str
        Of exchanged operands: ``-``, ``/``, ``@``, ``**``, ``call`` or ``results``; of a replaced
        value the name that took its place; of an axis the function that it is an argument of; else
        empty.
    rest : int
        Position of what is left of a sum that is a factor; -1 if there is none.
    """

    kind: str
    words: str
    function: str
    source: str
    lines: tuple
    part: str
    path: int
    whole: int
    role: str
    exponent: bool
    operator: str
    rest: int


def parse(function):
    """Return the syntax tree of a function without its docstring, and without the defaults of its
    signature.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    body = tree.body[0].body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
    return tree


def sources(f_vjp):
    """Return the function and the private functions of its module that it calls: name ->
    function.
    """
    found = {f_vjp.__name__: f_vjp}
    for name in f_vjp.__code__.co_names:
        value = f_vjp.__globals__.get(name)
        if (
            inspect.isfunction(value)
            and name.startswith("_")
            and value.__module__ == f_vjp.__module__
        ):
            found[name] = value
    return found


def mutations(function, same_shape):
    """Make every mutation of one function.

    Parameters
    ----------
    function : callable
        Pure Python; its source must be at hand.
    same_shape : dict of str to list of str
        For each cached name the other cached names of its shape.

    Returns
    -------
    list of Mutation
        No two with the same source, none with the source unchanged.

    Examples
    --------
    >>> from ibpcl.primitives import activations
    >>> [mutation.words for mutation in mutations(activations.relu_vjp, {})]
    ['`dh * cache` negated', '`dh * cache` without `cache`', '`dh * cache` without `dh`']
    """
    tree = parse(function)
    walk = Walk(tree)
    found = []
    known = {ast.unparse(tree)}
    for change in changes(walk, same_shape):
        source, lines = apply(tree, change)
        if source in known:
            continue
        known.add(source)
        part = change.part
        role, exponent = walk.role(part if part is not None else walk.nodes[change.at])
        if change.uses:
            role = " ".join(sorted({walk.role(use)[0] for use in change.uses}))
        rest = (
            walk.position[id(change.rest)]
            if change.rest is not None and walk.role(walk.nodes[change.at])[0] == "factor"
            else -1
        )
        found.append(
            Mutation(
                change.kind,
                change.words,
                function.__name__,
                source,
                lines,
                text(part) if part is not None else "",
                walk.position.get(id(part), -1),
                change.at,
                role,
                exponent,
                change.operator,
                rest,
            )
        )
    return sorted(found, key=lambda mutation: KINDS.index(mutation.kind))


def apply(tree, change):
    """Return the source with one node changed, and the lines of the change."""
    changed = copy.deepcopy(tree)
    original = Walk(tree)
    walk = Walk(changed)
    node = walk.nodes[change.at]
    touched = [walk.statement(walk.nodes[original.position[id(use)]]) for use in change.uses] or [
        walk.statement(node)
    ]
    new = change.replace(node) if change.replace is not None else ast.Pass()
    if new is not node:
        parent = walk.parents[id(node)]
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, new)
            elif isinstance(value, list):
                setattr(parent, field, [new if item is node else item for item in value])
    statements = [item for item in ast.walk(changed) if isinstance(item, ast.stmt)]
    source = ast.unparse(ast.fix_missing_locations(changed))
    again = [item for item in ast.walk(ast.parse(source)) if isinstance(item, ast.stmt)]
    lines = {
        again[n].lineno for n, item in enumerate(statements) if any(item is one for one in touched)
    }
    return source, tuple(sorted(lines))
