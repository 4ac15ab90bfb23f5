"""Settings: frozen dataclasses whose fields have a documented range and are checked on creation.

Each field is declared by :func:`option`.  A class of settings is a frozen dataclass with the base
class :class:`Checked`.
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

# The bounds of an option: how a number is compared with each of them, and its wording.
BOUNDS = {
    "at_least": (operator.ge, "at least"),
    "above": (operator.gt, "above"),
    "at_most": (operator.le, "at most"),
    "below": (operator.lt, "below"),
}


class OrOwn(tuple):
    """Choices that also include custom classes, given as ``package.module:Name``.

    Parameters
    ----------
    iterable : iterable of str
        The named choices.

    Examples
    --------
    >>> "flat" in OrOwn(("flat",)), "mine:Prior" in OrOwn(("flat",)), "mine" in OrOwn(("flat",))
    (True, True, False)
    """

    def __contains__(self, value):
        return super().__contains__(value) or ":" in str(value)


def option(default, doc=None, *, at_least=None, above=None, at_most=None, below=None, choices=None):
    """Declare a field of a settings class: its default, its documentation and its allowed values.

    A subclass of :class:`Checked` may declare a field again.  Then the documentation and the bounds
    that are not given are those of the base class; a bare value, ``epochs: int = 10``, changes only
    the default.

    Parameters
    ----------
    default : object
        Default value.
    doc : str, optional
        One sentence of documentation.
    at_least, above, at_most, below : float, optional
        Bounds of a number, or of each element of a tuple.  Numbers must be finite, except that
        ``at_most=inf`` allows infinity.  Tuples must have at least one element.
    choices : collection, optional
        The allowed values.

    Returns
    -------
    field : dataclasses.Field
        The field.
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
    """Describe in words which values a field allows, besides their type.

    Parameters
    ----------
    spec : dataclasses.Field
        A field declared by :func:`option`.

    Returns
    -------
    description : str
        The rule; empty if all values of the type are allowed.

    Examples
    --------
    >>> from ibpcl.methods.ewc import Settings
    >>> [allowed(one) for one in fields(Settings) if one.name in ("hidden", "decay", "variant")]
    ['non-empty, all at least 1', 'one of separate, online', 'in 0 .. 1']
    """
    rules = spec.metadata
    kind = _bare(spec.type)
    if "choices" in rules:
        return ("one of " if len(rules["choices"]) > 1 else "") + ", ".join(
            str(choice) or "empty" for choice in rules["choices"]
        )
    if rules.keys() >= {"at_least", "at_most"}:
        return f"in {rules['at_least']} .. {rules['at_most']}"
    rule = " and ".join(
        f"{wording} {rules[name]}" for name, (_, wording) in BOUNDS.items() if name in rules
    )
    if kind is float and not rules.keys() & {"at_most", "below"}:
        rule = f"finite and {rule}" if rule else "finite"
    if get_origin(kind) is tuple:
        return f"non-empty, all {rule}" if rule else "non-empty"
    return rule


def refusal(spec, value):
    """Describe what is wrong with a value of a field.

    Parameters
    ----------
    spec : dataclasses.Field
        A field declared by :func:`option`.
    value : object
        A value of the right type.

    Returns
    -------
    message : str
        "must be ..., got ..."; empty if the value is allowed.

    Examples
    --------
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
    """Base class of settings: every value is checked when an object is created.

    A subclass is decorated with ``@dataclass(frozen=True, init=False)``.

    Parameters
    ----------
    *values
        Not allowed: values must be given by name.
    **given
        Values of the fields by name; all others have their defaults.

    Attributes
    ----------
    method : str
        Class attribute: name of the method, for messages, files and the command line.
    presets : dict of str to dict
        Class attribute: named settings, each with the values that differ from the defaults.

    Raises
    ------
    TypeError
        If a value is given without a name, the name is unknown, or the value has the wrong type.
    ValueError
        If the value is not allowed.

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
        """Complete fields that are declared again with the metadata of the base class."""
        for base in cls.__mro__[1:]:
            for name, spec in vars(base).get("__dataclass_fields__", {}).items():
                if name in vars(cls):
                    again = vars(cls)[name]
                    again = again if isinstance(again, Field) else option(again)
                    again.metadata = MappingProxyType({**spec.metadata, **again.metadata})
                    setattr(cls, name, again)

    def __init__(self, *values, **given):
        """Set the options that are given by name, and all others to their defaults."""
        _refuse_names(type(self), values, given)
        for spec in fields(self):
            object.__setattr__(self, spec.name, given.get(spec.name, spec.default))
        self.__post_init__()

    def __post_init__(self):
        """Check all values.

        It is also called by the ``__init__`` that ``dataclass`` generates for a subclass.
        """
        for spec in fields(self):
            value = _as(getattr(self, spec.name), spec.type, f"{called(type(self))}: {spec.name}")
            if wrong := refusal(spec, value):
                raise ValueError(f"{called(type(self))}: {spec.name} {wrong}")
            object.__setattr__(self, spec.name, value)

    def __reduce__(self):
        """Pickle and copy as a call, so that the values are checked again."""
        return partial(type(self), **vars(self)), ()

    @classmethod
    def preset(cls, name):
        """Return named settings.

        Parameters
        ----------
        name : str
            A key of ``presets``.

        Returns
        -------
        settings : Checked
            An instance of the class.

        Raises
        ------
        ValueError
            If the name is unknown.
        """
        if name not in cls.presets:
            raise ValueError(
                f"{called(cls)}: preset must be one of {', '.join(cls.presets)}, got {name!r}"
            )
        return cls(**cls.presets[name])


def called(settings):
    """Return the name of a method from its class of settings, for messages.

    Parameters
    ----------
    settings : type
        A class of settings.

    Returns
    -------
    name : str
        Its attribute ``method``, or the name of its module if that is empty.

    Examples
    --------
    >>> from ibpcl.methods.ewc import ImageSettings
    >>> called(ImageSettings)
    'vae_ewc'
    """
    return getattr(settings, "method", "") or settings.__module__.rpartition(".")[2]


def presets_of(settings):
    """Return the named settings of a class of settings.

    Parameters
    ----------
    settings : type
        Any dataclass.

    Returns
    -------
    presets : mapping of str to dict
        The values that differ from the defaults, by name; only "default" if the class has none.
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
    """Return a type without the alternative None."""
    return get_args(kind)[0] if isinstance(kind, UnionType) else kind


def _as(value, kind, what):
    """Return a value as its type; integers are accepted as floats, and lists as tuples.

    >>> _as([50], tuple[int, ...], "hidden"), _as("joint", bool | str, "shared_mask")
    ((50,), 'joint')
    """
    if kind == bool | str:
        kind = str if isinstance(value, str) else bool
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
