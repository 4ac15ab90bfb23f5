"""Expressions of a function put beside others of it, as the factor or the term that a place in a loop lacks."""

import ast

import numpy as np

from ibpcl.verify.edits.edit import LATE, around, is_numeric, replaced

LONGEST = 40            # characters of an expression that is put beside another one


def grafts_of(code, values, counts):
    """Yield expressions of the same function as further factors or terms beside one that runs in a loop.

    Parameters
    ----------
    code : Code
    values : dict of int to object
        First recorded value of each place.
    counts : dict of int to int
        How often each place was run.

    Yields
    ------
    Edit
    """
    for name in code.trees:
        places = [place for place in code.places if place.function == name and place.inside == "formula"
                  and is_numeric(values.get(place.node.place))]
        sources = {}
        for place in places:
            if is_pure(place.node) and len(place.text) < LONGEST:
                sources.setdefault(place.text, np.shape(values[place.node.place]))
        for target in places:
            shape, looped = np.shape(values[target.node.place]), counts.get(target.node.place, 0) > 1
            factor = isinstance(target.parent, ast.BinOp) and isinstance(target.parent.op, (ast.Mult, ast.Div))
            if factor or not (looped or shape):             # a factor of a factor is one of the whole product
                continue
            for constant in (2, 0.5, 3) if looped else ():
                yield replaced(LATE, "constant_factor", target,
                               ast.BinOp(ast.Constant(constant), ast.Mult(), target.node),
                               f"a constant factor {constant} is missing", around(target))
            for text, other in sources.items():
                try:
                    joined = np.broadcast_shapes(shape, other)
                except ValueError:
                    continue
                plain = text.isidentifier() and joined == shape      # inside an exponential nothing else finds it
                if text != target.text and (plain or (joined == shape) == looped):
                    yield from _beside(target, text, term=joined == shape and target.whole)


def _beside(target, text, term):
    """Yield a place times and divided by an expression, and with it as a further term."""
    graft = ast.parse(text, mode="eval").body
    late = LATE if text.isidentifier() else LATE + 0.5
    ways = [(ast.Mult(), late, "elementwise_factor", f"an elementwise factor `{text}` is missing"),
            (ast.Div(), late + 0.25, "elementwise_factor", f"a division by `{text}` is missing")]
    ways += [(operator, LATE + 1, "missing_term", "a term is missing") for operator in (ast.Add(), ast.Sub()) if term]
    for operator, rank, kind, why in ways:
        yield replaced(rank, kind, target, ast.BinOp(target.node, operator, graft), why, around(target))


def is_pure(node):
    """Return whether an expression can be evaluated again without side effects."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            root = part.func
            while isinstance(root, ast.Attribute):
                root = root.value
            if not (isinstance(root, ast.Name) and root.id in ("np", "numpy")) or ".random" in ast.unparse(part.func):
                return False
        elif isinstance(part, (ast.NamedExpr, ast.Lambda, ast.Await, ast.Yield, ast.ListComp, ast.GeneratorExp)):
            return False
    return True
