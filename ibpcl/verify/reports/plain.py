"""Reports and NumPy values as plain values that JSON can store, and back."""

import math
from dataclasses import fields, is_dataclass

import numpy as np


def plain(value):
    """Convert NumPy values, named tuples and data classes to types that JSON can store.

    Parameters
    ----------
    value : object
        A number, an array, a string, or nested dicts, lists, tuples and data classes of them.

    Returns
    -------
    plain : object
        The same with lists for arrays and tuples, dicts for named tuples and data classes, None for
        named tuples that are false, and strings for the keys of dicts.  Numbers that are not finite
        become the strings "nan", "inf" and "-inf".

    Examples
    --------
    >>> plain({"a": np.float64(2.0), "b": (np.inf,)})
    {'a': 2.0, 'b': ['inf']}
    """
    if hasattr(value, "_asdict"):
        return plain(value._asdict()) if value else None
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value) if item.repr}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def restored(value):
    """Convert the result of :func:`plain` back to Python numbers and tuples.

    Parameters
    ----------
    value : object
        Nested dicts and lists, such as ``json.loads`` returns.

    Returns
    -------
    restored : object
        The same with tuples for lists, and numbers for the strings "nan", "inf" and "-inf".

    Examples
    --------
    >>> restored({"a": ["nan", 1, "x"]})
    {'a': (nan, 1, 'x')}
    """
    if isinstance(value, dict):
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(map(restored, value))
    return float(value) if value in ("nan", "inf", "-inf") else value


def typed(kind, entries, nested):
    """Return a named tuple or a data class from the result of :func:`plain`.

    Parameters
    ----------
    kind : type
        The class.
    entries : dict
        Its fields as plain values; None stands for the default, and further entries are ignored.
    nested : dict of str to type
        The class of each field whose value is a dict, or a list of dicts.

    Returns
    -------
    object
        An object of the class.

    Raises
    ------
    KeyError
        If a field is missing.
    """
    defaults = getattr(kind, "_field_defaults", None)
    if is_dataclass(kind):
        defaults = {item.name: item.default for item in fields(kind)}
    names = getattr(kind, "_fields", None) or [item.name for item in fields(kind) if item.repr]

    def read(name, value):
        if value is None:
            return defaults[name]
        if isinstance(value, list):
            return kind.__annotations__[name](read(name, item) for item in value)
        if isinstance(value, dict) and name in nested:
            return typed(nested[name], value, nested)
        return restored(value)

    return kind(**{name: read(name, entries[name]) for name in names})
