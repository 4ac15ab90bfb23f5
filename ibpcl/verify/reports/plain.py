"""Conversion of NumPy values to types that JSON can store, and back."""

import math

import numpy as np


def plain(value):
    """Convert NumPy values to types that JSON can store.

    Parameters
    ----------
    value : object
        A number, an array, a string, or nested dicts, lists and tuples of them.

    Returns
    -------
    plain : object
        The same with lists for arrays and tuples, strings for the keys of dicts, and the strings
        "nan", "inf" and "-inf" for numbers that are not finite.

    Examples
    --------
    >>> plain({"a": np.float64(2.0), "b": (np.inf,)})
    {'a': 2.0, 'b': ['inf']}
    """
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
