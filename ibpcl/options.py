"""Settings: dataclasses whose fields are declared with one sentence and what is allowed, checked as
they are made.

A field is declared by :func:`option`; a class of settings is a frozen dataclass with the base
:class:`Checked`.
"""

import difflib
import math
import operator
from dataclasses import Field, field, fields
from functools import partial
from numbers import Integral, Real
from types import MappingProxyType, UnionType
from typing import get_args, get_origin

import numpy as np

# The bounds that an option may set: how a number is compared with each, and how it is said.
BOUNDS = {
    "at_least": (operator.ge, "at least"),
    "above": (operator.gt, "above"),
    "at_most": (operator.le, "at most"),
    "below": (operator.lt, "below"),
}


class OrOwn(tuple):
    """Choices beside which one may name something of one's own, ``package.module:Name``.

    >>> "flat" in OrOwn(("flat",)), "mine:Prior" in OrOwn(("flat",)), "mine" in OrOwn(("flat",))
    (True, True, False)
    """

    def __contains__(self, value):
        return super().__contains__(value) or ":" in str(value)


def option(default, doc=None, *, at_least=None, above=None, at_most=None, below=None, choices=None):
    """Declare a field of a dataclass of settings: its default, one sentence of documentation, and
    what is allowed.

    Where a subclass of :class:`Checked` declares a field again, the sentence and the bounds that it
    does not give are those of the base; a bare value, ``epochs: int = 10``, changes the default
    alone.

    Parameters
    ----------
    default : object
    doc : str, optional
    at_least, above, at_most, below : float, optional
        Bounds of a number, or of each element of a tuple.  Numbers are finite, except that
        ``at_most=inf`` allows infinity; tuples have at least one element.
    choices : collection, optional
        The values that are allowed.
    """
    given = {
        "doc": doc,
        "at_least": at_least,
        "above": above,
        "at_most": at_most,
        "below": below,
        "choices": choices,
    }
    return field(
        default=default,
        metadata={name: value for name, value in given.items() if value is not None},
    )


def allowed(spec):
    """Return in words which values a field takes, besides their type; empty if all.

    >>> from ibpcl.methods.ewc import Settings
    >>> [allowed(one) for one in fields(Settings) if one.name in ("hidden", "decay", "variant")]
    ['non-empty, all at least 1', 'one of separate, online', 'in 0 .. 1']
    """
    rules = spec.metadata
    kind = _bare(spec.type)
    if "choices" in rules:
        return ("one of " if len(rules["choices"]) > 1 else "") + ", ".join(
            map(str, rules["choices"])
        )
    if rules.keys() >= {"at_least", "at_most"}:
        return f"in {rules['at_least']} .. {rules['at_most']}"
    words = " and ".join(
        f"{said} {rules[name]}" for name, (_, said) in BOUNDS.items() if name in rules
    )
    if kind is float and not rules.keys() & {"at_most", "below"}:
        words = f"finite and {words}" if words else "finite"
    if get_origin(kind) is tuple:
        return f"non-empty, all {words}" if words else "non-empty"
    return words


def refusal(spec, value):
    """Return what is wrong with a value of a field, "must be ..., got ..."; empty if it is allowed.

    >>> from ibpcl.methods.ewc import Settings
    >>> refusal(Settings.__dataclass_fields__["batch"], 0)
    'must be at least 1, got 0'
    """
    elements = value if isinstance(value, tuple) else () if value is None else (value,)
    if value != () and all(_allows(spec.metadata, element) for element in elements):
        return ""
    return f"must be {allowed(spec)}, got {value!r}"


def _allows(rules, value):
    if "choices" in rules:
        return value in rules["choices"]
    if not isinstance(value, Real):
        return True
    within = all(
        compare(value, rules[name]) for name, (compare, _) in BOUNDS.items() if name in rules
    )
    return within and (abs(value) < math.inf or value == rules.get("at_most"))


class Checked:
    """A base of dataclasses of options: every value is checked as an object is made.

    A subclass is decorated with ``@dataclass(frozen=True, init=False)``.  The settings of a method
    also have

    Attributes
    ----------
    method : str
        The method's name, for messages, files and the command line.
    presets : dict of str to dict
        Settings with a name: what each changes in the defaults.

    Raises
    ------
    TypeError
        For a value without a name, a name that is not an option, or a value of another type.
    ValueError
        For a value that is not allowed.

    Examples
    --------
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

    method = ""
    presets = MappingProxyType({"default": {}})

    def __init_subclass__(cls):
        """Take what a field that is declared again does not give from the base's."""
        for base in cls.__mro__[1:]:
            for name, spec in vars(base).get("__dataclass_fields__", {}).items():
                if name in vars(cls):
                    again = vars(cls)[name]
                    again = again if isinstance(again, Field) else option(again)
                    again.metadata = MappingProxyType({**spec.metadata, **again.metadata})
                    setattr(cls, name, again)

    def __init__(self, *values, **given):
        """Set the options to what is given by name, all others to their defaults."""
        _refuse_names(type(self), values, given)
        for spec in fields(self):
            object.__setattr__(self, spec.name, given.get(spec.name, spec.default))
        self.__post_init__()

    def __post_init__(self):
        """Check the values; a subclass with an ``__init__`` of its own, which ``dataclass`` writes,
        calls this, too.
        """
        for spec in fields(self):
            value = _as(getattr(self, spec.name), spec.type, f"{called(type(self))}: {spec.name}")
            if wrong := refusal(spec, value):
                raise ValueError(f"{called(type(self))}: {spec.name} {wrong}")
            object.__setattr__(self, spec.name, value)

    def __reduce__(self):
        """Pickle and copy as a call, so that what comes back was checked."""
        return partial(type(self), **vars(self)), ()

    @classmethod
    def preset(cls, name):
        """Return the settings of a name, a key of ``presets``."""
        if name not in cls.presets:
            raise ValueError(
                f"{called(cls)}: preset must be one of {', '.join(cls.presets)}, got {name!r}"
            )
        return cls(**cls.presets[name])


def called(settings):
    """Return the method's name of a class of settings, its module's if it has none; for messages.

    >>> from ibpcl.methods.ewc import ImageSettings
    >>> called(ImageSettings)
    'vae_ewc'
    """
    return getattr(settings, "method", "") or settings.__module__.rpartition(".")[2]


def presets_of(settings):
    """Return the named settings of a class of settings, which may be any dataclass: what each
    changes.
    """
    return getattr(settings, "presets", Checked.presets)


def _refuse_names(settings, values, given):
    known = [spec.name for spec in fields(settings)]
    if values:
        raise TypeError(
            f"{called(settings)}: settings are given by name, such as {known[0]}=..., got "
            f"{values[0]!r} without one"
        )
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            raise TypeError(
                f"{called(settings)}: there is no setting {name!r}"
                + (f"; did you mean {close[0]!r}?" if close else f" among {', '.join(known)}")
            )


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
            raise TypeError(
                f"{what} must be a tuple of {element.__name__}, such as ({value},), got {value!r}"
            )
        return tuple(_as(spec, element, what) for spec in value)
    allowed = {bool: (bool, np.bool_), int: Integral, float: Real, str: str}[bare]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bare is not bool):
        raise TypeError(f"{what} must be {bare.__name__}, got {value!r}")
    try:
        return bare(value)
    except OverflowError as error:
        raise ValueError(
            f"{what} must be finite, got a whole number too large for {bare.__name__}"
        ) from error
