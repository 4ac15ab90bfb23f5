"""Values as JSON knows them, and back."""

import math

import numpy as np


def plain(value):
    """Turn NumPy values into what JSON knows; what is not finite becomes a string.

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
    """Undo :func:`plain`: tuples, and what is not finite.

    >>> restored({"a": ["nan", 1, "x"]})
    {'a': (nan, 1, 'x')}
    """
    if isinstance(value, dict):
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(map(restored, value))
    return float(value) if value in ("nan", "inf", "-inf") else value
