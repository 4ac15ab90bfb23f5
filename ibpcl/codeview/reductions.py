"""Edits of sums, means and the like: another axis, and axes that are kept or not."""

import ast

from ibpcl.codeview.rewrite import Edit, in_place, replaced
from ibpcl.codeview.syntax import name_of, text_of

NAMES = ("sum", "mean", "max", "min", "var", "std", "prod", "logsumexp", "norm")
AXES = (0, 1, -1, -2, 2)


class Reduction:
    """A call that may run over another axis.

    Parameters
    ----------
    call : ast.Call
        The call.

    Attributes
    ----------
    by_word : bool
        Whether the axis is given by its name, or not at all.
    axis : int, ast.expr or None
        The axis; None if it is not given.
    kept : bool
        Whether ``keepdims`` is given.
    """

    def __init__(self, call):
        self.call = call
        first = 0 if is_method(call) else 1
        by_place = name_of(call.func) in NAMES[:-1] and len(call.args) > first
        self.by_word = not by_place
        self.before = call.args[:first] if by_place else call.args
        given = [word.value for word in call.keywords if word.arg == "axis"]
        given += [call.args[first]] if by_place else []
        self.axis = _number(given[0]) if given else None
        self.kept = any(word.arg == "keepdims" for word in call.keywords)

    def over(self, axis, keep):
        """Return the call over another axis.

        Parameters
        ----------
        axis : int, ast.expr or None
            The axis.
        keep : bool
            Whether the axis is kept.

        Returns
        -------
        ast.Call
            Written like the original.
        """
        given = [] if axis is None else [ast.Constant(axis) if isinstance(axis, int) else axis]
        words = [ast.keyword("axis", node) for node in given] if self.by_word else []
        words += [word for word in self.call.keywords if word.arg not in ("axis", "keepdims")]
        words += [ast.keyword("keepdims", ast.Constant(True))] if keep else []
        return ast.Call(self.call.func, [*self.before, *([] if self.by_word else given)], words)


def _number(node):
    """Return the value of an integer constant, other nodes unchanged."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return node
    return value if isinstance(value, int) else node


def is_method(call):
    """Return whether a call looks like that of an array's method, not of a module's function.

    Parameters
    ----------
    call : ast.Call
        The call.

    Returns
    -------
    bool
    """
    return isinstance(call.func, ast.Attribute) and not (
        isinstance(call.func.value, ast.Name) and call.func.value.id in ("np", "numpy", "scipy")
    )


def of_reduction(place):
    """Yield a sum, mean or the like over other axes, with its axes kept or removed.

    Parameters
    ----------
    place : Place
        The place of a call.

    Yields
    ------
    Edit
    """
    name = name_of(place.node.func)
    if name not in NAMES:
        return
    now = Reduction(place.node)
    for axis in dict.fromkeys((now.axis, *AXES, None)):
        for keep in (now.kept, not now.kept):
            if (axis, keep) == (now.axis, now.kept):
                continue
            why = f"`{name}` runs over the wrong axes"
            if axis == now.axis:
                why = f"the axis must {'' if keep else 'not '}be kept (keepdims)"
            rank = 0.8 if axis == now.axis else 0.9 + 0.3 * (keep != now.kept)
            yield replaced(rank, "summed", place, now.over(axis, keep), why)


def of_axes(places):
    """Yield another axis for all calls with one axis in a function or in one statement.

    A function with the wrong axis throughout has the formula of another layer.

    Parameters
    ----------
    places : list of Place
        The places of the function.

    Yields
    ------
    Edit
    """
    calls = {}
    for place in places:
        if isinstance(place.node, ast.Call):
            axis = Reduction(place.node).axis
            if isinstance(axis, int):
                calls.setdefault(axis, {}).setdefault(place.statement, []).append(place)
    for axis, statements in calls.items():
        groups = [group for group in statements.values() if len(group) > 1]
        if len(statements) > 1:
            groups.append([place for group in statements.values() for place in group])
        for group in groups:
            for other in (0, -1, 1, 2):
                if other != axis:
                    for keep in (False, True):
                        yield _other_axis(group, axis, other, keep)


def _other_axis(group, axis, other, keep):
    """Return the edit that gives each call of a group another axis, kept on request."""
    made = [Reduction(place.node) for place in group]
    new = [one.over(other, keep or one.kept) for one in made]
    first = group[0]

    def words():
        return (
            f"`{text_of(first.node)}` and {len(group) - 1} more run over axis {axis} instead of "
            f"axis {other}: the formula of another layer, such as layer norm for batch norm: "
            f"`{text_of(first.node)}` should be `{text_of(new[0])}`"
        )

    puts = tuple(in_place(place, node) for place, node in zip(group, new, strict=True))
    return Edit(4 + 0.5 * keep, "summed", words, first.node, puts)
