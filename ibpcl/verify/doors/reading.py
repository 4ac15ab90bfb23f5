"""Meaning of the result of a gradient function: the input of each gradient, and the function that
it differentiates.

``f_vjp(dout, cache)`` returns gradients of ``sum(dout * out)``.  Functions without ``dout`` return
derivatives: of a loss, of every entry by itself, or a Jacobian.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import leaves
from ibpcl.verify.doors import vocabulary as words

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
    """An array whose gradient may be there: an argument, an item inside one, or a parameter of an
    object.
    """

    name: str  # as the report shows it
    keys: tuple  # the steps to it: argument first
    value: object  # the array


class Entry(NamedTuple):
    """An array in the result of a gradient function."""

    path: tuple  # where in the result
    name: str  # the key, or what the source calls it; "" if unknown
    value: object


def entries_of(result, names=None):
    """Return the arrays of a result with their paths and names; numbers count as arrays, None is
    left out.

    ``names`` is what :func:`ibpcl.verify.doors.signatures.returned_names` read in the source.
    """
    found = []

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
            found.append(Entry(path, name, value))

    visit(result, (), names if isinstance(names, str) else "", names)
    return found


def _is_plain_list(value):
    """Return whether a list is one array written as a list: ``[0.1, 0.2]``."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, (int, float)) for item in value)
    )


def assigned(entries, found_leaves, ordered=False, beside_others=False):
    """Return which entry is the gradient of which leaf: {leaf name: path}.

    Names decide first; the others are matched in order, by size.  With ``ordered``, and as many
    entries as leaves, the order decides alone.  With ``beside_others``, the function also returns
    values that are not gradients, so that an entry without a gradient's name is left out once names
    have been found.
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
    if (
        not chosen and len(entries) == 1 and found_leaves
    ):  # a wrong shape: still the gradient of the first input
        chosen[waiting[0].name] = entries[0].path
    return {leaf.name: chosen[leaf.name] for leaf in found_leaves if leaf.name in chosen}


def alternatives(entries, found_leaves):
    """Return the other leaves that a single gradient without a name may belong to: those of the
    same shape.
    """
    if (
        len(entries) != 1
        or len(found_leaves) < 2
        or any(_named_for(entries[0], leaf) for leaf in found_leaves)
    ):
        return []
    shape = np.shape(entries[0].value)
    fitting = [leaf for leaf in found_leaves if np.shape(leaf.value) == shape]
    fitting.sort(key=lambda leaf: not words.is_prediction(leaf.keys[0]))
    return [{leaf.name: entries[0].path} for leaf in fitting]


def _keyed(entry):
    return any(isinstance(step, str) for step in entry.path)


def _named_for(entry, leaf):
    """Return whether the name of an entry says that it is a leaf's gradient."""
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
    """Return what the gradients may be gradients of, the likeliest first; see :data:`MODES`.

    ``gradients`` has (leaf, gradient) of each; ``out`` is one array.
    """
    out = np.asarray(out)
    if takes_cotangent:
        return ["vjp"]
    if out.size == 1:
        return ["loss"]
    shapes = [(np.shape(leaf.value), np.shape(gradient)) for leaf, gradient in gradients]
    found = []
    if all(given == wanted == out.shape or (np.size(given) == 0) for wanted, given in shapes):
        found.append("elementwise")
    if all(
        given == out.shape + wanted
        or (out.ndim == 2 and given == (*out.shape, wanted[-1] if wanted else 0))
        for wanted, given in shapes
    ):
        found.append("jacobian")
    if all(
        given == wanted and len(given) > out.ndim and given[: out.ndim] == out.shape
        for wanted, given in shapes
    ):
        found.append("rows")
    if all(given == wanted for wanted, given in shapes):
        found += ["mean", "sum"]
    return found


def pulled(mode, dout, gradient, shape):
    """Return the gradient of ``sum(dout * out)`` made of the result of a function."""
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
    """Return the output whose gradient is meant: its mean or sum, if the gradient is one of
    that.
    """
    return np.mean(out) if mode == "mean" else np.sum(out) if mode == "sum" else out


def at(result, path):
    """Return what is at a path of a result, None if it is missing."""
    try:
        return leaves.get(result, path)
    except (LookupError, TypeError, AttributeError):
        return None
