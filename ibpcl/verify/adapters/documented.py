"""Shapes of arguments according to a docstring, such as ``x: (N, D)``."""

import inspect
import re

from ibpcl.verify.adapters import vocabulary as words

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
# The same beside three other symbols, as in (N, C, H, W) and (F, C, HH, WW).
IMAGE_SIZES = {"n": 2, "c": 3, "h": 4, "w": 4, "f": 2, "hh": 3, "ww": 3}
LARGEST = 64  # sizes above this are slow to check


def documented_shapes(sources, names):
    """Return the shapes of arguments that docstrings give.

    Parameters
    ----------
    sources : sequence of function or type
        A function, its gradient function and its class, whose docstrings are read.
    names : sequence of str
        Names of the arguments.

    Returns
    -------
    dict of str to tuple of int
        A shape for each documented argument; equal symbols have equal sizes.

    Examples
    --------
    >>> def affine(x, w):
    ...     '''Input: x (N, D); w: array of shape (D, M).'''
    >>> documented_shapes([affine], ["x", "w"])
    {'x': (3, 4), 'w': (4, 5)}
    """
    text = "\n".join(inspect.getdoc(source) or "" for source in sources)
    symbols = _global_sizes(sources[0])
    shapes = {}
    for name in names:
        match = re.search(
            rf"(?<![\w]){re.escape(name)}\b\s*(?:\([\w. ]*(?:array|tensor)\w*\)\s*)?[:\-(]?"
            r"[^\n()]*?(?:\n[^\n()]*?)?\(([^()\n]*)\)",
            text,
            re.IGNORECASE,
        )
        if match is None or _reaches_another(match, names):
            continue
        sizes = _sizes(match.group(1), symbols)
        if sizes is not None:
            shapes[name] = sizes
    return shapes


def documented_integers(sources, names):
    """Return the arguments that are a single integer according to a docstring.

    Parameters
    ----------
    sources : sequence of function or type
        As for :func:`documented_shapes`.
    names : sequence of str
        Names of the arguments.

    Returns
    -------
    list of str
        The names that are followed by the word "integer" or "int".

    Examples
    --------
    >>> def loss(scores, k, sizes):
    ...     '''scores: (N,) array; k: integer, the class; sizes: integers'''
    >>> documented_integers([loss], ["scores", "k", "sizes"])
    ['k']
    """
    text = "\n".join(inspect.getdoc(source) or "" for source in sources)
    return [
        name
        for name in names
        if re.search(rf"\b{re.escape(name)}\s*(?:--?|:|\()\s*(?:an? )?(?:integer|int)\b", text)
    ]


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


def _sizes(text, symbols):
    """Return the shape that a text in parentheses means; None if it means something else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    are_sizes = all(re.fullmatch(r"[A-Za-z_]\w*|\d+", part) for part in parts)
    if not 0 < len(parts) < 6 or not are_sizes:
        return None
    if len(parts) == 1 and not re.fullmatch(r"[A-Z]\w?|\d+|n|m|k|d", parts[0]):
        return None
    known = IMAGE_SIZES if len(parts) > 3 else SIZES
    sizes = []
    for part in parts:
        usual = known.get(words.plain(part), 3 + len(symbols) % 4)
        sizes.append(int(part) if part.isdecimal() else symbols.setdefault(part, usual))
    return tuple(sizes) if all(0 < size <= LARGEST for size in sizes) else None
