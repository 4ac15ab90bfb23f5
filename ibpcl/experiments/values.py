"""Values of configuration keys: from TOML, Python or the text of a command line to the type of the
key.

The type is the key's annotation: ``bool``, ``int``, ``float``, ``str``, ``tuple[X, ...]`` of one of
these, and ``X | None``.  TOML has no null, so a key that is not set is written as ``"none"``.
"""

import json
import os
from numbers import Integral
from types import NoneType, UnionType
from typing import Union, get_args, get_origin

import numpy as np

from ibpcl.errors import UserError

NONE = "none"
WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a table",
    NoneType: "no value",
}
PLURALS = {bool: "values true or false", int: "whole numbers", float: "numbers", str: "texts"}
TRUTH = {"true": True, "false": False}


def describe(kind):
    """Return in words what a key of this type takes.

    >>> describe(tuple[int, ...]), describe(int | None), describe(tuple[tuple[int, ...], ...])
    ('a list of whole numbers', 'a whole number or none', 'a list of lists of whole numbers')
    """
    kind, optional = _split(kind)
    words = f"a list of {_plural(_element(kind))}" if _is_list(kind) else WORDS[kind]
    return f"{words} or {NONE}" if optional else words


def _plural(kind):
    return f"lists of {_plural(_element(kind))}" if _is_list(kind) else PLURALS[kind]


def convert(key, value, kind):
    """Return a value of TOML or Python as the type of its key, or raise a UserError that names the
    key.

    A whole number may stand for a number, a single element for a list of one, a path for a text,
    and NumPy's numbers and arrays for Python's.

    >>> convert("hidden", [100, 50], tuple[int, ...]), convert("alpha", 30, float)
    ((100, 50), 30.0)
    """
    bare, optional = _split(kind)
    value = unwrapped(value)
    if optional and (value is None or value == NONE):
        return None
    try:
        return _as(value, bare)
    except OverflowError as error:
        raise UserError(f"{key} is too large: a number of {len(str(abs(value)))} digits") from error
    except TypeError as error:
        what = WORDS.get(type(value), type(value).__name__)
        came = " ".join(toml(value).split())  # an array is written in several lines
        raise UserError(f"{key} must be {describe(kind)}, got {came} ({what})") from error


def unwrapped(value):
    """Return Python's numbers and lists for NumPy's, and text for a path; anything else as it
    is.
    """
    if isinstance(value, np.ma.MaskedArray):
        return value  # its masked elements have no value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [unwrapped(element) for element in value]
    if isinstance(value, os.PathLike) and not isinstance(value, str):
        return os.fsdecode(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return value


def parse(key, text, kind):
    """Return the text of a command line as the type of its key, or raise a UserError that names the
    key.

    Lists are written ``100,50`` or ``[100, 50]``, lists of lists ``[[0, 1], [2, 3]]``, truth
    ``true`` or ``false``, no value ``none``.

    >>> parse("hidden", "100,50", tuple[int, ...]), parse("train_limit", "none", int | None)
    ((100, 50), None)
    """
    bare, optional = _split(kind)
    text = text.strip()
    if optional and text.lower() == NONE:
        return None
    try:
        if not _is_list(bare):
            return _read(text, bare)
        if _is_list(_element(bare)):
            return _as(json.loads(text.replace("(", "[").replace(")", "]")), bare)
        inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "()") else text
        return tuple(_read(part.strip(), _element(bare)) for part in inside.rstrip(" ,").split(","))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{key} must be {describe(kind)}, got {text!r}") from error


def plain(value):
    """Return a value with lists in the place of tuples, as TOML has them."""
    return [plain(element) for element in value] if isinstance(value, list | tuple) else value


def toml(value):
    """Return a value as it would stand in TOML or after ``key=``, for people to read.

    >>> toml((100, 50)), toml(True), toml(None), toml("relu")
    ('[100, 50]', 'true', 'none', "'relu'")
    """
    if value is None:
        return NONE
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _split(kind):
    """Return the type without None, and whether None is allowed."""
    if get_origin(kind) not in (UnionType, Union):
        return kind, False
    (bare,) = [option for option in get_args(kind) if option is not NoneType]
    return bare, True


def _is_list(kind):
    return get_origin(kind) is tuple


def _element(kind):
    return get_args(kind)[0]


def _as(value, kind):
    """Return a value as a type, or raise TypeError; a bool is an int to Python, but not to a
    reader.
    """
    if _is_list(kind):
        elements = value if isinstance(value, list | tuple) else [value]
        return tuple(_as(element, _element(kind)) for element in elements)
    if isinstance(value, bool) != (kind is bool) or not isinstance(
        value, int | float if kind is float else kind
    ):
        raise TypeError
    return kind(value)


def _read(text, kind):
    return TRUTH[text.lower()] if kind is bool else kind(text)
