"""Arrays inside nested lists, tuples, dicts and objects: find, name and replace them.

A path is a tuple of steps: an integer or a key for an item, :class:`Attribute` for an attribute.
"""

import copy
import dataclasses
import types

import numpy as np

MOST = 2000  # arrays in one object that are found
DEPTH = 8  # steps of a path
# Types whose attributes are not searched.
_OPAQUE = (
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    type,
    np.random.Generator,
    np.random.RandomState,
)


class Attribute(str):
    """The name of an attribute, as a step of a path."""

    __slots__ = ()


def is_array(value):
    """Return whether a value is a real or complex floating-point array or number.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    bool
        False for integers and lists.
    """
    return (
        isinstance(value, (np.ndarray, np.generic, float, complex))
        and np.asarray(value).dtype.kind in "fc"
    )


def is_container(value):
    """Return whether an input is a nested collection that contains an array or a collection.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    bool
        False for arrays, and for flat lists and tuples of numbers.

    Examples
    --------
    >>> is_container([1.0, 2.0]), is_container([np.ones(2), np.ones(3)]), is_container({"w": 1.0})
    (False, True, True)
    """
    if isinstance(value, dict):
        return any(is_array(item) or is_container(item) for item in value.values())
    if isinstance(value, (tuple, list)):
        return any(
            (isinstance(item, np.ndarray) and item.ndim and is_array(item)) or is_container(item)
            for item in value
        )
    return False


def children(value, inside_objects=True):
    """Return the items of a collection, or the attributes of an object.

    Parameters
    ----------
    value : object
        Any value.
    inside_objects : bool
        Whether to return the attributes of objects.

    Returns
    -------
    list of (object, object)
        Step and item; empty for arrays, numbers, functions and modules.
    """
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    if not inside_objects or isinstance(
        value, (*_OPAQUE, np.ndarray, np.generic, str, bytes, int, float, complex)
    ):
        return []
    held = getattr(value, "__dict__", None)
    names = list(held) if isinstance(held, dict) else []
    for kind in type(value).__mro__:
        slots = getattr(kind, "__slots__", ())
        names += [
            name for name in ((slots,) if isinstance(slots, str) else slots) if hasattr(value, name)
        ]
    return [
        (Attribute(name), getattr(value, name))
        for name in dict.fromkeys(names)
        if not name.startswith("__")
    ]


def arrays_in(value, inside_objects=True):
    """Return all floating-point arrays and numbers inside a value.

    Parameters
    ----------
    value : object
        A collection or an object.
    inside_objects : bool
        Whether to search the attributes of objects.

    Returns
    -------
    dict of tuple to ndarray or float
        At most :data:`MOST` arrays by path.

    Examples
    --------
    >>> arrays_in({"w": [np.ones(2), 3]})
    {('w', 0): array([1., 1.])}
    """
    arrays = {}
    seen = set()
    waiting = [((), value)]
    while waiting and len(arrays) < MOST:
        path, item = waiting.pop(0)
        if is_array(item):
            arrays[path] = item
        elif len(path) < DEPTH and id(item) not in seen:
            seen.add(id(item))
            waiting += [((*path, step), child) for step, child in children(item, inside_objects)]
    return arrays


def text_of(path, root=""):
    """Return a path as source code.

    Parameters
    ----------
    path : tuple
        The path.
    root : str
        Source of the object in which the path begins.

    Returns
    -------
    str
        The source.

    Examples
    --------
    >>> text_of((Attribute("layers"), 0, Attribute("W"))), text_of(("w", 0), "params")
    ('layers[0].W', 'params["w"][0]')
    """
    words = root
    for step in path:
        if isinstance(step, Attribute):
            words += f".{step}" if words else str(step)
        else:
            words += f'["{step}"]' if isinstance(step, str) else f"[{step!r}]"
    return words


def get(value, path):
    """Return the value at a path.

    Parameters
    ----------
    value : object
        A collection or an object.
    path : tuple
        The path.

    Returns
    -------
    object
        The value.

    Raises
    ------
    LookupError, AttributeError
        If there is nothing at the path.
    """
    for step in path:
        value = getattr(value, step) if isinstance(step, Attribute) else value[step]
    return value


def put(value, path, new):
    """Replace the value at a path in place; a tuple along the path is replaced by a new one.

    Parameters
    ----------
    value : object
        A collection or an object.
    path : tuple
        The path.  If it is empty, nothing happens.
    new : object
        The new value.
    """
    if not path:
        return
    holder = get(value, path[:-1])
    step = path[-1]
    if isinstance(step, Attribute):
        setattr(holder, step, new)
    elif isinstance(holder, tuple):
        put(value, path[:-1], replaced(holder, (step,), new))
    else:
        holder[step] = new


def replaced(value, path, new):
    """Return a copy of nested collections with another value at a path.

    Parameters
    ----------
    value : object
        Nested dicts, lists and tuples.
    path : tuple
        The path.
    new : object
        The new value.

    Returns
    -------
    object
        The copy; it shares everything that is not on the path.

    Examples
    --------
    >>> replaced({"w": [1, 2]}, ("w", 0), 5)
    {'w': [5, 2]}
    """
    if not path:
        return new
    step = path[0]
    rest = path[1:]
    if isinstance(value, dict):
        made = copy.copy(value)
        made[step] = replaced(value[step], rest, new)
        return made
    items = list(value)
    items[step] = replaced(items[step], rest, new)
    if isinstance(value, list):
        return items
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def duplicate(value, shared=()):
    """Return a deep copy of an object.

    Parameters
    ----------
    value : object
        The object.
    shared : sequence of object
        Parts that the copy shares with the original.

    Returns
    -------
    object
        The copy.  If a part cannot be copied, only the object's arrays, lists and dicts are copied.
    """
    memo = {id(item): item for item in shared}
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # a lock, a generator, an open file somewhere inside
        return _shallow(value)


def _shallow(value):
    """Return a copy of an object with copies of the arrays and collections in its attributes."""
    made = copy.copy(value)
    for step, item in children(value):
        if isinstance(item, (np.ndarray, list, dict)) and isinstance(step, Attribute):
            try:
                setattr(made, step, copy.copy(item))
            except (AttributeError, dataclasses.FrozenInstanceError):
                continue
    return made


def widened(holder):
    """Return an object whose arrays of single precision are converted to double precision.

    Parameters
    ----------
    holder : object
        The object.

    Returns
    -------
    object
        A copy, in which arrays that were the same object are still the same; the object itself if
        it has no such array.
    """
    small = {
        path: value
        for path, value in arrays_in(holder).items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize < 8
    }
    if not small:
        return holder
    wide = {id(value): value.astype(float) for value in small.values()}
    made = duplicate(holder)
    for path, value in small.items():
        put(made, path, wide[id(value)])
    return made
