"""Settings: dataclasses whose fields are declared with one sentence and what is allowed, checked as they are made.

A field is declared by :func:`option`; a class of settings is a frozen dataclass with the base :class:`Presets`.
"""

import difflib
import math
import operator
import sys
from dataclasses import Field, field, fields
from functools import partial
from numbers import Integral, Real
from types import MappingProxyType, UnionType
from typing import get_args, get_origin

import numpy as np

# The bounds that an option may set: how a number is compared with each, and how it is said.
BOUNDS = {"at_least": (operator.ge, "at least"), "above": (operator.gt, "above"),
          "at_most": (operator.le, "at most"), "below": (operator.lt, "below")}


class OrOwn(tuple):
    """Choices beside which one may name something of one's own, ``package.module:Name``.

    >>> "flat" in OrOwn(("flat",)), "mine:Prior" in OrOwn(("flat",)), "mine" in OrOwn(("flat",))
    (True, True, False)
    """

    def __contains__(self, value):
        return super().__contains__(value) or ":" in str(value)


def option(default, doc=None, *, at_least=None, above=None, at_most=None, below=None, choices=None):
    """Declare a field of a dataclass of settings: its default, one sentence of documentation, and what is allowed.

    Where a subclass of :class:`Presets` declares a field again, the sentence and the bounds that it does not give are
    those of the base; a bare value, ``epochs: int = 10``, changes the default alone.

    Parameters
    ----------
    default : object
    doc : str, optional
    at_least, above, at_most, below : float, optional
        Bounds of a number, or of each element of a tuple.  Numbers are finite, except that ``at_most=inf`` allows
        infinity; tuples have at least one element.
    choices : collection, optional
        The values that are allowed.
    """
    given = {"doc": doc, "at_least": at_least, "above": above, "at_most": at_most, "below": below, "choices": choices}
    return field(default=default, metadata={name: value for name, value in given.items() if value is not None})


def allowed(one):
    """Return in words which values a field takes, besides their type; empty if all.

    >>> from ibpcl.methods.ewc import Settings
    >>> [allowed(one) for one in fields(Settings) if one.name in ("hidden", "decay", "variant")]
    ['non-empty, all at least 1', 'one of separate, online', 'in 0 .. 1']
    """
    rules, kind = one.metadata, _bare(one.type)
    if "choices" in rules:
        return ("one of " if len(rules["choices"]) > 1 else "") + ", ".join(map(str, rules["choices"]))
    if rules.keys() >= {"at_least", "at_most"}:
        return f"in {rules['at_least']} .. {rules['at_most']}"
    words = " and ".join(f"{said} {rules[name]}" for name, (_, said) in BOUNDS.items() if name in rules)
    if kind is float and not rules.keys() & {"at_most", "below"}:
        words = f"finite and {words}" if words else "finite"
    if get_origin(kind) is tuple:
        return f"non-empty, all {words}" if words else "non-empty"
    return words


def refusal(one, value):
    """Return what is wrong with a value of a field, "must be ..., got ..."; empty if it is allowed.

    >>> from ibpcl.methods.ewc import Settings
    >>> refusal(Settings.__dataclass_fields__["batch"], 0)
    'must be at least 1, got 0'
    """
    elements = value if isinstance(value, tuple) else () if value is None else (value,)
    if value != () and all(_allows(one.metadata, element) for element in elements):
        return ""
    return f"must be {allowed(one)}, got {value!r}"


def _allows(rules, value):
    if "choices" in rules:
        return value in rules["choices"]
    if not isinstance(value, Real):
        return True
    within = all(compare(value, rules[name]) for name, (compare, _) in BOUNDS.items() if name in rules)
    return within and (abs(value) < math.inf or value == rules.get("at_most"))


class Checked(type):
    """Makes dataclasses of options only of keys that there are, and of values of the right type that are allowed."""

    images = False                                           # whether they are for images without labels

    @property
    def method(cls):
        """The name of the method whose settings they are, for messages: its module's, for images after ``vae_``."""
        return "vae_" * cls.images + cls.__module__.rsplit(".", 1)[-1].removesuffix("_settings")

    def __call__(cls, *values, **given):
        """Make settings; raise TypeError for a key that there is not or another type, ValueError out of range."""
        if values:
            raise TypeError(f"{cls.method}: settings are given by name, such as {fields(cls)[0].name}=..., "
                            f"got {values[0]!r} without one")
        known = cls.__dataclass_fields__
        for name, value in given.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                raise TypeError(f"{cls.method}: there is no setting {name!r}"
                                + (f"; did you mean {close[0]!r}?" if close else f" among {', '.join(known)}"))
            given[name] = _as(value, known[name].type, f"{cls.method}: {name}")
            if wrong := refusal(known[name], given[name]):
                raise ValueError(f"{cls.method}: {name} {wrong}")
        return super().__call__(**given)


class Presets(metaclass=Checked):
    """A base of settings: they are checked as they are made, and some have a name.

    >>> from ibpcl.methods.npbcl import Settings
    >>> Settings.preset("paper").samples
    10
    >>> Settings(epoch=5)
    Traceback (most recent call last):
    ...
    TypeError: npbcl: there is no setting 'epoch'; did you mean 'epochs'?
    >>> Settings(epochs=-1)
    Traceback (most recent call last):
    ...
    ValueError: npbcl: epochs must be at least 0, got -1
    """

    def __init_subclass__(cls):
        """Take what a field that is declared again does not give from the base's."""
        for base in cls.__mro__[1:]:
            for name, one in vars(base).get("__dataclass_fields__", {}).items():
                if name in vars(cls):
                    again = vars(cls)[name]
                    again = again if isinstance(again, Field) else option(again)
                    again.metadata = MappingProxyType({**one.metadata, **again.metadata})
                    setattr(cls, name, again)

    def __reduce__(self):
        """Pickle and copy as a call, so that what comes back was checked."""
        return partial(type(self), **vars(self)), ()

    @classmethod
    def preset(cls, name):
        """Return the settings of a name, a key of the module's ``PRESETS``; "default" for a method without any."""
        presets = presets_of(sys.modules[cls.__module__], cls.images)
        if name not in presets:
            raise ValueError(f"{cls.method}: preset must be one of {', '.join(presets)}, got {name!r}")
        return cls(**presets[name])


def _bare(kind):
    """Return a type without "or None"."""
    return get_args(kind)[0] if isinstance(kind, UnionType) else kind


def _as(value, kind, what):
    """Return a value as its type; whole numbers may stand for numbers, and lists for tuples.

    >>> _as([50], tuple[int, ...], "hidden")
    (50,)
    """
    bare = _bare(kind)
    if value is None and bare is not kind:
        return None
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} must not be a masked array, got {value!r}")
    if get_origin(bare) is tuple:
        element = get_args(bare)[0]
        if not isinstance(value, (list, tuple, np.ndarray)):
            raise TypeError(f"{what} must be a tuple of {element.__name__}, such as ({value},), got {value!r}")
        return tuple(_as(one, element, what) for one in value)
    allowed = {bool: (bool, np.bool_), int: Integral, float: Real, str: str}[bare]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bare is not bool):
        raise TypeError(f"{what} must be {bare.__name__}, got {value!r}")
    try:
        return bare(value)
    except OverflowError as error:
        raise ValueError(f"{what} must be finite, got a whole number too large for {bare.__name__}") from error


def presets_of(module, images=False):
    """Return the settings of a method's module that have a name: what each changes in the defaults."""
    return getattr(module, "IMAGE_" * images + "PRESETS", {"default": {}})
