"""Edits of variables: another one in one use or in all uses, one transposed in all uses."""

import ast

import numpy as np

from ibpcl.codeview.patterns import is_term
from ibpcl.codeview.rewrite import Edit, around, in_place
from ibpcl.codeview.syntax import is_numeric, items_of, parsed, text_of, value_at


def of_names(places, known, suspects):
    """Yield replacements of an array by another one in one of its uses, or in all of them.

    Parameters
    ----------
    places : list of Place
        The places of a function.
    known : Known
        Values in one run.
    suspects : Suspects
        Restricts replacements in a single use.

    Yields
    ------
    Edit
    """
    entries = dict(
        item
        for name, holder in known.scope.items()
        if not isinstance(holder, (tuple, list))
        for item in items_of(name, holder)
    )
    for types, readable in (((ast.Name,), known.scope), ((ast.Subscript, ast.Attribute), entries)):
        uses = {}
        for place in places:
            value = value_at(place.node, known.values)
            if (
                place.inside == "formula"
                and isinstance(place.node, types)
                and is_numeric(value, "fiubc")
            ):
                uses.setdefault(place.text, []).append(place)
        arrays = {text: value_at(group[0].node, known.values) for text, group in uses.items()}
        arrays.update((text, v) for text, v in readable.items() if is_numeric(v, "fiubc"))
        for together in (uses, *_by_statement(uses)):
            for name, group in together.items():
                if len(group) > 1:
                    yield from _in_every_use(name, group, arrays[name])
        for name, group in uses.items():
            single = [(place,) for place in group if suspects.suspect(place.node)]
            for other, value in arrays.items():
                rank = None if other == name else _rank(arrays[name], value)
                if rank == 5 and readable is entries:
                    continue
                all_uses = [group] if rank == 4 and readable is known.scope and group[1:] else []
                for chosen in [*single, *all_uses] if rank else ():
                    yield _renamed(name, other, chosen, rank + (len(chosen) > 1), arrays)


def _by_statement(uses):
    """Return the uses of each statement by itself."""
    uses_of = {}
    for name, places in uses.items():
        for place in places:
            uses_of.setdefault(place.statement, {}).setdefault(name, []).append(place)
    return uses_of.values()


def _in_every_use(name, places, value):
    """Yield a variable transposed, and one minus the variable, in all of its uses."""
    forms = [(6, "elementwise_factor", "1 - {0}", f"`{name}` and `1 - {name}` are exchanged")]
    if np.ndim(value) == 2:
        words = f"`{name}` must be transposed wherever it stands: `{name}.T`"
        forms.append((5, "transposed", "{0}.T", words))
    for rank, kind, text, words in forms:
        puts = tuple(in_place(place, parsed(text.format(name))) for place in places)
        yield Edit(rank, kind, lambda words=words: words, places[0].node, puts)


def _rank(value, other):
    """Return how easily two variables are confused.

    The rank is 4 if they have one shape, 5 if one broadcasts to the other, and None otherwise.
    """
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
    """Return the edit that replaces a variable by another in some places."""

    def words():
        where = " and ".join(dict.fromkeys(text_of(around(place)) for place in places))
        return f"`{name}` should be `{other}` in `{where}`"

    kind = "elementwise_factor"
    if _proportional(arrays[name], arrays[other]):
        kind = "constant_factor"
    elif all(map(is_term, places)):
        kind = "missing_term"
    puts = tuple(in_place(place, parsed(other)) for place in places)
    return Edit(rank, kind, words, places[0].node, puts)


def _proportional(a, b):
    """Return whether two arrays differ by a constant factor."""
    a = np.asarray(a)
    b = np.asarray(b)
    return (
        a.shape == b.shape
        and a.size > 1
        and bool(np.any(a) and np.any(b))
        and np.allclose(b * np.vdot(a, a), a * np.vdot(a, b), rtol=1e-9, atol=0)
    )
