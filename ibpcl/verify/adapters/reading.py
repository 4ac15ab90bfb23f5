"""Which returned gradient belongs to which input, decided by names and positions.

``f_vjp(dout, cache)`` returns gradients of ``sum(dout * out)``.  Functions without ``dout`` return
derivatives: of a loss, of every entry separately, or a Jacobian.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters import vocabulary as words

# Names of the argument to which an unnamed gradient most likely belongs.
UNKNOWNS = ("x", "w", "theta", "params", "weights", "z")


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


def is_moved(leaf):
    """Return whether a leaf is a floating-point array or number, so that it can be differentiated.

    Parameters
    ----------
    leaf : Leaf
        An argument, or an item of one.

    Returns
    -------
    bool
        True also for lists of floats, nested to any depth.
    """
    return leaves.is_array(leaf.value) or (isinstance(leaf.value, list) and _is_floats(leaf.value))


def _is_floats(value):
    return bool(value) and all(
        isinstance(item, float) or (isinstance(item, list) and _is_floats(item)) for item in value
    )


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
        Names in the source, from :func:`ibpcl.verify.adapters.signatures.returned_names`.

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
                if not label and path and isinstance(path[-1], str):  # a list in a dict
                    label = str(path[-1])
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


class Assignment(NamedTuple):
    """Which entry of a result is the gradient of which leaf.

    Attributes
    ----------
    paths : dict of str to tuple
        Path in the result for each leaf with a gradient.
    extra : list of Entry
        Entries that belong to no leaf.
    positions : dict of str to tuple or None
        The paths in the order of the inputs, if the names say that the order is another one.
    """

    paths: dict
    extra: list
    positions: dict | None = None


def assigned(result, names, found_leaves, every=None):
    """Return which entry of a result is the gradient of which leaf.

    Names decide first: the keys of a dict, and names in the ``return`` statement.  A tuple with as
    many items as there are inputs is in the order of the inputs, unless its names say otherwise.
    Fewer items without names belong to the inputs that are usually learned; a single one belongs to
    the only input of its shape if there is just one.

    Parameters
    ----------
    result : object
        The result of a gradient function.
    names : str, list or None
        Names in the source, from :func:`ibpcl.verify.adapters.signatures.returned_names`.
    found_leaves : sequence of Leaf
        Arrays that may have a gradient.
    every : sequence of Leaf, optional
        All inputs, also those without a gradient, such as labels.

    Returns
    -------
    Assignment
        The paths, and the entries that belong to no leaf.
    """
    entries = unpacked(entries_of(result, names), found_leaves)
    known = {leaf.name for leaf in found_leaves}
    integers = [leaf for leaf in every or () if leaf.name not in known and not is_moved(leaf)]
    entries = [
        entry
        for entry in entries
        if any(_named_for(entry, leaf) for leaf in found_leaves)
        or not any(_named_for(entry, leaf) for leaf in integers)
    ]
    named = _by_names(entries, found_leaves)
    by_position = _positions(result, entries, found_leaves, every or found_leaves)
    if by_position is not None and not _contradicts(named, by_position, entries):
        return Assignment(by_position, _of_others(entries, by_position, every or found_leaves))
    used = set(named.values())
    left = [entry for entry in entries if entry.path not in used and not _is_inner(entry, used)]
    waiting = [leaf for leaf in found_leaves if leaf.name not in named]
    paths = {**named, **_in_order(left, waiting, bool(named))}
    used = set(paths.values())
    return Assignment(
        {leaf.name: paths[leaf.name] for leaf in found_leaves if leaf.name in paths},
        [entry for entry in left if entry.path not in used],
        by_position,
    )


def _positions(result, entries, found_leaves, every):
    """Return the paths of a tuple with one item for each input, or each floating-point input."""
    if any(map(_keyed, entries)):
        return None
    if len(entries) == len(found_leaves) > 0:
        return _paired(found_leaves, entries)
    if not isinstance(result, (tuple, list)) or len(result) != len(every) or _is_plain_list(result):
        return None
    flat = {entry.path for entry in entries if len(entry.path) == 1}
    wanted = {leaf.name for leaf in found_leaves}
    places = {leaf.name: (n,) for n, leaf in enumerate(every) if leaf.name in wanted}
    return {name: path for name, path in places.items() if path in flat}


def _of_others(entries, paths, every):
    """Return the entries that stand at the position of an input that has no gradient.

    The gradient of a label may be returned; it is not judged.
    """
    others = [n for n, leaf in enumerate(every) if leaf.name not in paths and not is_fixed(leaf)]
    return [entry for entry in entries if entry.path in [(n,) for n in others]]


def _by_names(entries, found_leaves):
    """Return the paths of entries whose names mark them as the gradient of one leaf each."""
    chosen = {}
    used = set()
    for leaf in found_leaves:
        fitting = [entry for entry in entries if entry.path not in used and _named_for(entry, leaf)]
        sized = [entry for entry in fitting if np.size(entry.value) == np.size(leaf.value)]
        best = max(sized or fitting, key=lambda entry: _closeness(entry, leaf), default=None)
        if best is not None:
            chosen[leaf.name] = best.path
            used.add(best.path)
    return chosen


def _contradicts(named, by_position, entries):
    """Return whether the names of entries say that they stand in another order."""
    names = [entry.name for entry in entries if entry.name]
    return len(names) == len(set(names)) and any(
        by_position.get(name) != path for name, path in named.items()
    )


def _is_inner(entry, used):
    """Return whether an entry of a dict is the gradient of a layer inside, such as "dA1"."""
    return bool(used) and _keyed(entry) and words.looks_like_gradient(entry.name)


def _in_order(entries, waiting, beside_named):
    """Return the paths of entries without a telling name, for the leaves that have none."""
    learned = [leaf for leaf in waiting if not is_fixed(leaf)] or list(waiting)
    entries = [entry for entry in entries if not _keyed(entry)]
    gradients = [entry for entry in entries if words.looks_like_gradient(entry.name)]
    if gradients and all(entry.name for entry in entries):  # as in `return grad, error`
        entries = gradients
    if beside_named:  # others may be values, as in `return loss, dw`
        unnamed = [one for one in entries if not one.name or words.looks_like_gradient(one.name)]
        return _by_shapes(unnamed, learned)
    if len(entries) == len(learned):
        return _paired(learned, entries)
    has_label = any(words.may_be_label(leaf.keys[0]) for leaf in waiting)
    weights = [leaf for leaf in learned if not words.is_data(leaf.keys[0])]
    if has_label and 1 < len(entries) == len(weights):
        return _paired(weights, entries)
    if len(entries) == 1 and learned:
        return {_likeliest(entries[0], learned, has_label).name: entries[0].path}
    return _by_shapes(entries, learned) or _by_shapes(entries, waiting)


def _likeliest(entry, learned, has_label):
    """Return the leaf to which a single gradient without a name belongs.

    It has the same shape if possible; then the prediction of a loss comes first, and labels last.
    """
    shape = np.shape(entry.value)
    same = [leaf for leaf in learned if np.shape(leaf.value) == shape]
    same = same or [leaf for leaf in learned if np.size(leaf.value) == np.size(entry.value)]
    return min(
        same or learned,
        key=lambda leaf: (
            not (has_label and words.is_prediction(leaf.keys[0])),
            words.may_be_label(leaf.keys[0]),
            words.plain(leaf.keys[0]) not in UNKNOWNS,
        ),
    )


def _paired(found_leaves, entries):
    """Return the paths of entries in the order of as many leaves."""
    return {leaf.name: entry.path for leaf, entry in zip(found_leaves, entries, strict=True)}


def _by_shapes(entries, learned):
    """Return the paths of entries that stand in the order of the inputs, with some left out."""
    chosen = {}
    waiting = list(learned)
    for entry in entries:
        shape = np.shape(entry.value)
        fitting = [n for n, leaf in enumerate(waiting) if np.shape(leaf.value) == shape]
        if not fitting:
            return {}
        chosen[waiting[fitting[0]].name] = entry.path
        waiting = waiting[fitting[0] + 1 :]
    return chosen


def is_fixed(leaf):
    """Return whether an input usually needs no gradient: a label, noise, a mask or a setting.

    Parameters
    ----------
    leaf : Leaf
        The input.

    Returns
    -------
    bool
        True also for single numbers whose names are those of settings, such as ``momentum``.

    Examples
    --------
    >>> [is_fixed(Leaf(name, (name,), np.ones(3))) for name in ("y_true", "mask", "x", "eps")]
    [True, True, False, True]
    """
    name = leaf.keys[0]
    if not isinstance(name, str):
        return False
    is_number = np.ndim(leaf.value) == 0
    return words.is_label(name) or words.is_noise(name) or (is_number and words.is_setting(name))


def unjudged(found, moved, takes_cotangent):
    """Return sentences about gradients that cannot be judged.

    Parameters
    ----------
    found : Assignment
        Which result is the gradient of which input.
    moved : sequence of Leaf
        The floating-point inputs.
    takes_cotangent : bool
        Whether the gradient function takes a cotangent.  Then it must return the gradient of every
        floating-point array; the derivative of a loss may leave data out.

    Returns
    -------
    list of str
        One sentence for each returned array without an input, and each input without a gradient.
    """
    sentences = [
        f"the returned array {entry.name or list(entry.path)} of shape {np.shape(entry.value)} "
        "fits no input"
        for entry in found.extra
        if not entry.name or words.looks_like_gradient(entry.name)
    ]
    missing = [
        leaf.name
        for leaf in moved
        if leaf.name not in found.paths
        and not is_fixed(leaf)
        and (np.ndim(leaf.value) or words.is_vector(leaf.keys[-1]))
    ]
    if missing and takes_cotangent:
        sentences.append(
            f"no gradient is returned for {', '.join(missing)}: return it, or name the others by "
            "wrt (--wrt)"
        )
    return sentences


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
