"""Meaning of a gradient function's result: which gradient is whose, and of which function.

``f_vjp(dout, cache)`` returns gradients of ``sum(dout * out)``.  Functions without ``dout`` return
derivatives: of a loss, of every entry separately, or a Jacobian.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import leaves
from ibpcl.verify.doors import vocabulary as words

# Names of the argument to which an unnamed gradient most likely belongs.
UNKNOWNS = ("x", "w", "theta", "params", "weights", "z")
# Meanings of a result, with a note for the report.
MODES = {
    "vjp": "",
    "loss": "",
    "elementwise": "the derivative is taken as elementwise: dx = dout * {name}(...)",
    "rows": "the gradient is taken as one row for each output",
    "jacobian": "the result is taken as a Jacobian, outputs by inputs",
    "mean": "the gradient is that of the mean of the outputs",
    "sum": "the gradient is that of the sum of the outputs",
}


class Leaf(NamedTuple):
    """An array that may have a gradient: an argument, an item inside one, or a parameter.

    Attributes
    ----------
    name : str
        Name in the report.
    keys : tuple
        Path to the array; begins with the name of the argument.
    value : object
        The array, or any other value of an argument.
    """

    name: str
    keys: tuple
    value: object


class Entry(NamedTuple):
    """An array in the result of a gradient function.

    Attributes
    ----------
    path : tuple
        Path in the result.
    name : str
        Its key, or its name in the source; empty if unknown.
    value : ndarray or float
        The array.
    """

    path: tuple
    name: str
    value: object


def entries_of(result, names=None):
    """Return the arrays in the result of a gradient function.

    Parameters
    ----------
    result : object
        The result.  Numbers count as arrays; None and strings are left out.
    names : str, list or None
        Names in the source, from :func:`ibpcl.verify.doors.signatures.returned_names`.

    Returns
    -------
    list of Entry
        The arrays with paths and names.
    """
    entries = []

    def visit(value, path, name, given):
        if value is None or isinstance(value, (str, bytes)):
            return
        if isinstance(value, dict):
            for key, item in value.items():
                visit(item, (*path, key), str(key), None)
        elif isinstance(value, (tuple, list)) and not _is_plain_list(value):
            listed = (
                given
                if isinstance(given, list) and len(given) == len(value)
                else [None] * len(value)
            )
            fields = getattr(value, "_fields", None)
            for n, (item, inner) in enumerate(zip(value, listed, strict=True)):
                label = fields[n] if fields else inner if isinstance(inner, str) else ""
                visit(item, (*path, n), label, inner)
        elif (
            isinstance(value, (np.ndarray, np.generic, int, float))
            and not isinstance(value, bool)
            and np.asarray(value).dtype.kind in "fiubc"
        ):
            entries.append(Entry(path, name, value))

    visit(result, (), names if isinstance(names, str) else "", names)
    return entries


def unpacked(entries, found_leaves):
    """Return the entries of a result, where one vector may hold the gradients of several numbers.

    ``np.array([dalpha, dbeta])`` is the gradient of the numbers ``alpha`` and ``beta``.

    Parameters
    ----------
    entries : list of Entry
        Arrays of the result.
    found_leaves : sequence of Leaf
        Arrays and numbers that may have a gradient.

    Returns
    -------
    list of Entry
        One entry for each number if the result is a vector with as many entries as there are
        numbers, and no input has its shape.  Otherwise ``entries``.
    """
    numbers = [leaf for leaf in found_leaves if np.ndim(leaf.value) == 0]
    if len(entries) != 1 or len(numbers) < 2:
        return entries
    entry = entries[0]
    shape = np.shape(entry.value)
    if shape != (len(numbers),) or any(np.shape(leaf.value) == shape for leaf in found_leaves):
        return entries
    return [
        Entry((*entry.path, n), f"d{leaf.keys[-1]}", value)
        for n, (leaf, value) in enumerate(zip(numbers, entry.value, strict=True))
    ]


def _is_plain_list(value):
    """Return whether a list is one array, such as ``[0.1, 0.2]``."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, (int, float)) for item in value)
    )


def assigned(entries, found_leaves, ordered=False, beside_others=False):
    """Return which entry of a result is the gradient of which leaf.

    Names decide first.  The other entries are matched in order, by shape or size.

    Parameters
    ----------
    entries : sequence of Entry
        Arrays of the result.
    found_leaves : sequence of Leaf
        Arrays that may have a gradient.
    ordered : bool
        Whether the order alone decides if there are as many entries as leaves and no keys.
    beside_others : bool
        Whether the function also returns values that are not gradients.  Then entries without a
        gradient's name are left out as soon as a name has matched.

    Returns
    -------
    dict of str to tuple
        Path in the result for each leaf with a gradient.
    """
    if (
        ordered
        and len(entries) == len(found_leaves)
        and not any(_keyed(entry) for entry in entries)
    ):
        return {leaf.name: entry.path for leaf, entry in zip(found_leaves, entries, strict=True)}
    chosen = {}
    used = set()
    for leaf in found_leaves:
        fitting = [entry for entry in entries if entry.path not in used and _named_for(entry, leaf)]
        sized = [entry for entry in fitting if np.size(entry.value) == np.size(leaf.value)]
        best = max(sized or fitting, key=lambda entry: _closeness(entry, leaf), default=None)
        if best is not None:
            chosen[leaf.name] = best.path
            used.add(best.path)
    left = [
        entry
        for entry in entries
        if entry.path not in used
        # a dict may also hold the gradients of layers inside, such as "dA1"
        and not (used and _keyed(entry) and words.looks_like_gradient(entry.name))
        and (
            not used
            or not beside_others
            or len(entry.path) > 1
            or words.looks_like_gradient(entry.name)
        )
    ]
    waiting = [leaf for leaf in found_leaves if leaf.name not in chosen]
    predicted = any(
        isinstance(leaf.keys[0], str) and words.is_prediction(leaf.keys[0]) for leaf in found_leaves
    )
    waiting.sort(
        key=lambda leaf: (
            words.is_label(leaf.keys[0]) or (predicted and words.plain(leaf.keys[0]) in ("y", "ys"))
        )
    )
    for entry in left:
        index = next(
            (n for n, leaf in enumerate(waiting) if np.shape(leaf.value) == np.shape(entry.value)),
            None,
        )
        if index is None:
            index = next(
                (
                    n
                    for n, leaf in enumerate(waiting)
                    if np.size(leaf.value) == np.size(entry.value)
                ),
                None,
            )
        if index is not None:
            chosen[waiting.pop(index).name] = entry.path
    if not chosen and len(entries) == 1 and found_leaves:
        # its shape is wrong, but it must be the gradient of the first input
        chosen[waiting[0].name] = entries[0].path
    return {leaf.name: chosen[leaf.name] for leaf in found_leaves if leaf.name in chosen}


def alternatives(entries, found_leaves):
    """Return all readings of a single gradient without a name.

    Parameters
    ----------
    entries : sequence of Entry
        Arrays of the result.
    found_leaves : sequence of Leaf
        Arrays that may have a gradient.

    Returns
    -------
    list of dict
        One reading for each leaf of the same shape, as in :func:`assigned`.  Empty if there are
        several entries, one leaf, or a name that decides.
    """
    if (
        len(entries) != 1
        or len(found_leaves) < 2
        or any(_named_for(entries[0], leaf) for leaf in found_leaves)
    ):
        return []
    shape = np.shape(entries[0].value)
    fitting = [leaf for leaf in found_leaves if np.shape(leaf.value) == shape]
    fitting.sort(
        key=lambda leaf: (
            not words.is_prediction(leaf.keys[0]),
            words.is_label(leaf.keys[0]) or words.plain(leaf.keys[0]) in ("y", "ys"),
            words.plain(leaf.keys[0]) not in UNKNOWNS,
        )
    )
    return [{leaf.name: entries[0].path} for leaf in fitting]


def _keyed(entry):
    return any(isinstance(step, str) for step in entry.path)


def _named_for(entry, leaf):
    """Return whether the name of an entry marks it as the gradient of a leaf."""
    key = next((step for step in reversed(leaf.keys) if isinstance(step, str)), "")
    if entry.name and (
        words.is_gradient_of(entry.name, key) or (_keyed(entry) and words.same(entry.name, key))
    ):
        numbers = [step for step in leaf.keys if isinstance(step, int)]
        return (
            not numbers
            or numbers == [step for step in entry.path if isinstance(step, int)][-len(numbers) :]
        )
    return False


def _closeness(entry, leaf):
    exact = any(
        rest == words.plain(leaf.keys[-1])
        for rest in [*words.gradient_bases(entry.name), words.plain(entry.name)]
    )
    return exact + sum(a == b for a, b in zip(entry.path[::-1], leaf.keys[::-1], strict=False))


def modes_of(out, gradients, takes_cotangent):
    """Return the functions that the gradients may differentiate, the likeliest first.

    Parameters
    ----------
    out : ndarray or float
        The output.
    gradients : sequence of (Leaf, ndarray)
        Each leaf with its gradient.
    takes_cotangent : bool
        Whether the gradient function takes a cotangent.

    Returns
    -------
    list of str
        Keys of :data:`MODES`.
    """
    out = np.asarray(out)
    if takes_cotangent:
        return ["vjp"]
    if out.size == 1:
        return ["loss"]
    shapes = [(np.shape(leaf.value), np.shape(gradient)) for leaf, gradient in gradients]
    modes = []
    if all(given == wanted == out.shape or (np.size(given) == 0) for wanted, given in shapes):
        modes.append("elementwise")
    if all(
        given == out.shape + wanted
        or (out.ndim == 2 and given == (*out.shape, wanted[-1] if wanted else 0))
        for wanted, given in shapes
    ):
        modes.append("jacobian")
    if all(
        given == wanted and len(given) > out.ndim and given[: out.ndim] == out.shape
        for wanted, given in shapes
    ):
        modes.append("rows")
    if all(given == wanted for wanted, given in shapes):
        modes += ["mean", "sum"]
    return modes


def pulled(mode, dout, gradient, shape):
    """Return the gradient of ``sum(dout * out)``, computed from a result of another meaning.

    Parameters
    ----------
    mode : str
        Key of :data:`MODES`.
    dout : ndarray or float
        The cotangent.
    gradient : ndarray
        The result.
    shape : tuple of int
        Shape of the input.

    Returns
    -------
    ndarray
        The gradient.
    """
    if mode == "vjp":
        return gradient
    gradient = np.asarray(gradient)
    dout = np.asarray(dout)
    if mode in ("loss", "mean", "sum"):
        return gradient * dout.reshape(())
    if mode == "elementwise":
        return dout * gradient
    if mode == "rows":
        return dout.reshape(dout.shape + (1,) * (gradient.ndim - dout.ndim)) * gradient
    if gradient.shape == dout.shape + tuple(shape):
        return np.tensordot(dout, gradient, dout.ndim)
    return np.einsum("nc,ncd->nd", dout, gradient)  # one Jacobian for each example


def reduced(mode, out):
    """Return the output that a gradient differentiates.

    Parameters
    ----------
    mode : str
        Key of :data:`MODES`.
    out : ndarray or float
        The output of the forward.

    Returns
    -------
    ndarray or float
        Its mean or sum for these modes, else the output itself.
    """
    return np.mean(out) if mode == "mean" else np.sum(out) if mode == "sum" else out


def at(result, path):
    """Return the value at a path of a result.

    Parameters
    ----------
    result : object
        The result.
    path : tuple
        The path.

    Returns
    -------
    object
        None if there is nothing at the path.
    """
    try:
        return leaves.get(result, path)
    except (LookupError, TypeError, AttributeError):
        return None
