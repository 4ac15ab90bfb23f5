"""Scale of inputs: bytes 0..255 or numbers 0..1, and always as in training.

Everything is decided by the values, because the same pixels come as ``uint8`` from one library and
as ``int64`` or ``float64`` from another.
"""

import numpy as np

from ibpcl.data.dataset import DataError

BYTE = 255
BRIGHT = 127  # whole numbers up to 255 are pixels if one of them exceeds this
# numbers above this are not outliers of the scale 0..1, but on another scale
BEYOND = 16


def scaled(x):
    """Return training inputs with pixels 0..255 divided by 255, and other inputs unchanged.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Real numbers.  Bytes are pixels.  Other whole numbers are pixels if they lie in 0..255 and
        one exceeds 127.

    Returns
    -------
    x : ndarray, shape (N, D)
        Pixels as float32 in 0..1, or the argument itself.

    Examples
    --------
    >>> scaled(np.array([[0, 51, 255]])), scaled(np.array([[0, 51, 300]]))
    (array([[0. , 0.2, 1. ]], dtype=float32), array([[  0,  51, 300]]))
    """
    low, high = _range(x)
    pixels = high > 1 if x.dtype == np.uint8 else low >= 0 and BRIGHT < high <= BYTE and _whole(x)
    return _divided(x) if pixels else x


def in_unit_range(x):
    """Return whether all inputs lie in 0..1, as scaled pixels do.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Real numbers.

    Returns
    -------
    in_range : bool
        True for empty inputs, too.
    """
    low, high = _range(x)
    return bool(low >= 0 and high <= 1)


def as_trained(x, unit, what):
    """Return inputs on the scale of the training inputs of a model.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Real numbers.
    unit : bool
        Whether the model was trained on inputs in 0..1.
    what : str
        Name of the inputs, for error messages.

    Returns
    -------
    x : ndarray, shape (N, D)
        Pixels 0..255 divided by 255 if ``unit`` is True, else the argument itself.

    Raises
    ------
    DataError
        If the model was trained on 0..1 and the inputs are neither on this scale nor pixels.

    Examples
    --------
    >>> as_trained(np.array([[0.0, 255.0]]), True, "x"), as_trained(np.array([[0.0, 255.0]]), False,
    ...     "x")
    (array([[0., 1.]], dtype=float32), array([[  0., 255.]]))
    """
    low, high = _range(x)
    if not unit or high <= 1:
        return x
    integers = x.dtype.kind in "iu"
    if low >= 0 and high <= BYTE and (integers or (high > BEYOND and _whole(x))):
        return _divided(x)
    if integers or high > BEYOND:
        raise DataError(
            f"{what} must be on the scale of the training inputs, 0..1, or pixels 0..255, got "
            f"numbers from {low:g} to {high:g}"
        )
    return x


def _range(x):
    """Return the smallest and the largest input, or 0 and 0 if there are none."""
    return (x.min(), x.max()) if x.size else (0, 0)


def _whole(x):
    return x.dtype.kind in "iub" or bool((x == np.rint(x)).all())


def _divided(x):
    return x.astype(np.float32) / np.float32(BYTE)
