"""One published method a file, all with the face of :class:`ibpcl.continual.learner.Learner`.

A method's module offers ``Settings``, a frozen dataclass whose fields are declared by :func:`option`, a learner that is
made by ``Learner(settings, seed, backend_name)``, and, if it has any, ``PRESETS``: settings with a name.  A method that
learns images without labels, too, has ``ImageSettings``, the same learner on an autoencoder (``ImageEWC`` for ``EWC``),
and ``IMAGE_PRESETS``.  A module is imported when its method is asked for.
"""

import difflib
import math
import operator
import sys
from dataclasses import Field, dataclass, field, fields
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from types import MappingProxyType, UnionType
from typing import NamedTuple, get_args, get_origin

import numpy as np

# The module of each method, and the class of its learner.
METHODS = {
    "npbcl": "NPBCL",
    "naive": "Naive",
    "independent": "Independent",
    "joint": "Joint",
    "rehearsal": "Rehearsal",
    "ewc": "EWC",
    "imm": "IMM",
    "vcl": "VCL",
    "den": "DEN",
    "rcl": "RCL",
    "si": "SI",
    "laplace": "Laplace",
    "hat": "HAT",
    "ibp_vcl": "IBPVCL",
}


class About(NamedTuple):
    """Where a method was published, and what it can do.

    ``paper`` is empty where there is none.  ``can``: task (a head for each task), domain (one head for all), grow (add
    units), regression, images (without labels: a generative model).
    """

    paper: str
    can: tuple[str, ...]


ABOUT = {
    "npbcl": About("Kumar et al. (2021)", ("task", "domain", "grow", "regression", "images")),
    "naive": About("", ("task", "domain", "images")),
    "independent": About("", ("task",)),
    "joint": About("Caruana (1997)", ("task", "domain")),
    "rehearsal": About("Robins (1995)", ("task", "domain")),
    "ewc": About("Kirkpatrick et al. (2017)", ("task", "domain", "images")),
    "imm": About("Lee et al. (2017)", ("task", "domain", "images")),
    "vcl": About("Nguyen et al. (2018)", ("task", "domain", "images")),
    "den": About("Yoon et al. (2018)", ("task", "grow")),
    "rcl": About("Xu and Zhu (2018)", ("task", "grow")),
    "si": About("Zenke et al. (2017)", ("task", "domain", "images")),
    "laplace": About("Ritter et al. (2018)", ("task", "domain", "images")),
    "hat": About("Serra et al. (2018)", ("task",)),
    "ibp_vcl": About("Kessler et al. (2021)", ("task", "domain")),
}


# Methods on images, which have settings of their own; a command line leaves "vae_" out.
GENERATIVE = tuple(f"vae_{name}" for name, about in ABOUT.items() if "images" in about.can)
# The name of each method by the class of its learner.
OF_LEARNER = {learner: name for name, learner in METHODS.items()}
OF_LEARNER |= {f"Image{METHODS[name.removeprefix('vae_')]}": name for name in GENERATIVE}


class Method(NamedTuple):
    """A method: its name, its settings' class, its learner's class, what it is in one line, and its named settings."""

    name: str
    settings: type
    learner: type
    summary: str
    presets: dict


def method(name):
    """Return a method by name; ``package.module:Class`` is one of the user's own, see :mod:`ibpcl.methods.own`.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> method("npbcl").learner.__name__
    'NPBCL'
    """
    if ":" in name:
        return import_module("ibpcl.methods.own").own_method(name)
    if name not in (*METHODS, *GENERATIVE):
        raise ValueError(f"methods.method: name must be one of {', '.join((*METHODS, *GENERATIVE))}, got {name!r}")
    of, bare = ("Image" if name in GENERATIVE else ""), name.removeprefix("vae_")
    module = import_module(f"ibpcl.methods.{'npbcl_images' if name == 'vae_npbcl' else bare}")
    return Method(name, getattr(module, f"{of}Settings"), getattr(module, of + METHODS[bare]),
                  (module.__doc__ or name).strip().splitlines()[0], presets_of(module, bool(of)))


def presets_of(module, images=False):
    """Return the settings of a method's module that have a name: what each changes in the defaults."""
    return getattr(module, "IMAGE_" * images + "PRESETS", {"default": {}})


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


@dataclass(frozen=True)
class Training(Presets):
    """The settings that every method has; methods change defaults and sentences, and keep the bounds."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer.", at_least=1)
    epochs: int = option(5, "Epochs per task.", at_least=0)
    batch: int = option(256, "Examples in a minibatch.", at_least=1)


@dataclass(frozen=True)
class OneRate(Training):
    """The settings of methods that train all parameters at one rate."""

    rate: float = option(0.001, "Adam's learning rate.", at_least=0)
