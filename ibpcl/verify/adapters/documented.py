"""Shapes of arguments according to a docstring, such as ``x: (N, D)``."""

import inspect
import re

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.signatures import parameters_of

# Sizes for the usual symbols of dimensions; different ones where two are likely to be mixed up.
SIZES = {
    "n": 3,
    "b": 3,
    "batch": 3,
    "batchsize": 3,
    "m": 5,
    "d": 4,
    "din": 4,
    "dout": 5,
    "h": 6,
    "t": 3,
    "c": 4,
    "k": 5,
    "v": 7,
    "f": 2,
    "hh": 3,
    "ww": 3,
    "w": 6,
    "o": 5,
    "s": 3,
    "l": 3,
    "p": 4,
    "q": 5,
    "hidden": 6,
}
LARGEST = 64  # sizes above this are slow to check
IMAGE_SIZES = {"n": 2, "c": 3, "h": 4, "w": 4, "f": 2, "hh": 3, "ww": 3}


def documented_shapes(function, holder=None):
    """Return the shapes of arguments that a docstring gives.

    Parameters
    ----------
    function : callable
        The function.
    holder : type, optional
        Its class, whose docstring is read too.

    Returns
    -------
    dict of str to tuple of int
        A shape for each documented argument; equal symbols have equal sizes.

    Examples
    --------
    >>> def affine(x, w):
    ...     '''Input: x (N, D); w: array of shape (D, M).'''
    >>> documented_shapes(affine)
    {'x': (3, 4), 'w': (4, 5)}
    """
    text = "\n".join(inspect.getdoc(one) or "" for one in (function, holder) if one is not None)
    names = parameters_of(function).every
    symbols = _global_sizes(function)
    shapes = {}
    image = bool(re.search(r"\(\s*N\s*,\s*C\s*,\s*H\s*,\s*W\s*\)", text))
    for name in names:
        match = re.search(
            rf"(?<![\w]){re.escape(name)}\b\s*(?:\([\w. ]*(?:array|tensor)\w*\)\s*)?[:\-(]?"
            r"[^\n()]*?(?:\n[^\n()]*?)?\(([^()\n]*)\)",
            text,
            re.IGNORECASE,
        )
        if match is None or is_documented_number(name, text) or _reaches_another(match, names):
            continue
        sizes = _sizes(match.group(1), symbols, image)
        if sizes is not None:
            shapes[name] = sizes
    return shapes


def _global_sizes(function):
    """Return the whole numbers among the global variables of a function, such as a hidden size."""
    return {
        name: value
        for name, value in getattr(function, "__globals__", {}).items()
        if type(value) is int and 0 < value <= LARGEST
    }


def _reaches_another(match, names):
    """Return whether a match includes a second line that describes another argument."""
    _, _, after = match.group(0).partition("\n")
    return any(re.match(rf"\W*(?:param\s+)?{re.escape(name)}\s*[:(]", after) for name in names)


def is_documented_number(name, text):
    """Return whether a docstring calls an argument a number, as in ``alpha : float``.

    Parameters
    ----------
    name : str
        Name of the argument.
    text : str
        The docstring.

    Returns
    -------
    bool
        True if the word after the name is "float", "scalar" or "number".

    Examples
    --------
    >>> [is_documented_number(name, "beta: float, noise; x: array") for name in ("beta", "x")]
    [True, False]
    """
    return bool(
        re.search(
            rf"(?<!\w){re.escape(name)}\s*(?::|-|\()\s*(?:a\s+|the\s+)?"
            r"(?:positive\s+|real\s+)?(?:float|scalar|number)\b(?!\s*array)",
            text,
            re.IGNORECASE,
        )
    )


def _sizes(text, symbols, image):
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if any("..." in part for part in parts):
        parts = [parts[0], "D"]
    if (
        not parts
        or not all(re.fullmatch(r"[A-Za-z_]\w*|\d+", part) for part in parts)
        or len(parts) > 5
    ):
        return None
    if len(parts) == 1 and not re.fullmatch(r"[A-Z]\w?|\d+|n|m|k|d", parts[0]):
        return None
    known = {**SIZES, **(IMAGE_SIZES if image else {})}
    sizes = []
    for part in parts:
        first_of_image = len(parts) > 3 and not sizes
        default = (
            2
            if first_of_image
            else known.get(words.plain(part), _size_of(part, len(parts), len(symbols)))
        )
        sizes.append(int(part) if part.isdecimal() else symbols.setdefault(part, default))
    return tuple(sizes) if all(0 < size <= LARGEST for size in sizes) else None


def _size_of(symbol, axes, known):
    """Return a size for an unknown symbol: small for images, else different from its neighbours."""
    if axes < 4:
        return 3 + known % 4
    return 3 if "ch" in symbol.lower() or symbol.lower().startswith("n_c") else 4
