"""One published method a file, all with the face of :class:`ibpcl.continual.learner.Learner`.

A method's module offers ``Settings``, a frozen dataclass whose fields are declared by :func:`option`, a learner that is
made by ``Learner(settings, seed, backend_name)``, and, if it has any, ``PRESETS``: settings with a name.  A module is
imported when its method is asked for.
"""

import difflib
import math
import sys
from dataclasses import field, fields
from importlib import import_module
from numbers import Integral, Real
from types import NoneType, UnionType
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
# The same for learners of generative models, whose tasks have no labels; a command line leaves "vae_" out.
GENERATIVE = {
    "vae_npbcl": "VAENPBCL",
    "vae_naive": "VAENaive",
    "vae_ewc": "VAEEWC",
    "vae_vcl": "VAEVCL",
}


class About(NamedTuple):
    """Where a method was published, and what it can do.

    ``paper`` is empty where there is none.  ``can``: task (a head for each task), domain (one head for all), grow (add
    units), regression.
    """

    paper: str
    can: tuple[str, ...]


ABOUT = {
    "npbcl": About("Kumar et al. (2021)", ("task", "domain", "grow", "regression")),
    "naive": About("", ("task", "domain")),
    "independent": About("", ("task",)),
    "joint": About("Caruana (1997)", ("task", "domain")),
    "rehearsal": About("Robins (1995)", ("task", "domain")),
    "ewc": About("Kirkpatrick et al. (2017)", ("task", "domain")),
    "imm": About("Lee et al. (2017)", ("task", "domain")),
    "vcl": About("Nguyen et al. (2018)", ("task", "domain")),
    "den": About("Yoon et al. (2018)", ("task", "grow")),
    "rcl": About("Xu and Zhu (2018)", ("task", "grow")),
    "si": About("Zenke et al. (2017)", ("task", "domain")),
    "laplace": About("Ritter et al. (2018)", ("task", "domain")),
    "hat": About("Serra et al. (2018)", ("task",)),
    "ibp_vcl": About("Kessler et al. (2021)", ("task", "domain")),
}


class Method(NamedTuple):
    """A method: its name, its settings' class, its learner's class, what it is in one line, and its named settings."""

    name: str
    settings: type
    learner: type
    summary: str
    presets: dict


def method(name):
    """Return a method by name.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> method("npbcl").learner.__name__
    'NPBCL'
    """
    known = METHODS | GENERATIVE
    if name not in known:
        raise ValueError(f"methods.method: name must be one of {', '.join(known)}, got {name!r}")
    module = import_module(f"ibpcl.methods.{name}")
    return Method(name, module.Settings, getattr(module, known[name]), (module.__doc__ or name).strip().splitlines()[0],
                  getattr(module, "PRESETS", {"default": {}}))


def check_settings(method, settings, choices, at_least, above_zero):
    """Refuse settings out of their range; ``method`` is named in the error.

    Parameters
    ----------
    method : str
        Whose settings they are.
    settings : dataclass
        With ``hidden``, the widths of layers, besides the settings that are named below.
    choices : dict of str to collection of str
        Settings that are one of some words.
    at_least : dict of str to int
        Settings that are finite and have a least value.
    above_zero : iterable of str
        Settings that are finite and above zero.

    Raises
    ------
    ValueError
        Naming the setting, what is allowed and what came.
    """
    if not settings.hidden or min(settings.hidden) < 1:
        raise ValueError(f"{method}: hidden must name at least one layer, each of at least 1 unit, "
                         f"got {settings.hidden}")
    for name, allowed in choices.items():
        if getattr(settings, name) not in allowed:
            raise ValueError(f"{method}: {name} must be one of {', '.join(allowed)}, got {getattr(settings, name)!r}")
    for name, least in at_least.items():
        if not least <= getattr(settings, name) < math.inf:
            raise ValueError(f"{method}: {name} must be finite and at least {least}, got {getattr(settings, name)}")
    for name in above_zero:
        if not 0 < getattr(settings, name) < math.inf:
            raise ValueError(f"{method}: {name} must be finite and above 0, got {getattr(settings, name)}")


def option(default, doc):
    """Declare a field of a dataclass of settings: its default, and one sentence of documentation."""
    return field(default=default, metadata={"doc": doc})


class _Checked(type):
    """Makes settings only of keys that there are, and of values of the right type."""

    def __call__(cls, *values, **named):
        given = {**dict(zip((one.name for one in fields(cls)), values, strict=False)), **named}
        known = {one.name: one.type for one in fields(cls)}
        method = cls.__module__.rsplit(".", 1)[-1].removesuffix("_settings")
        for name, value in given.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                raise TypeError(f"{method}: there is no setting {name!r}"
                                + (f"; did you mean {close[0]!r}?" if close else f" among {', '.join(known)}"))
            given[name] = _as(value, known[name], f"{method}: {name}")
        return super().__call__(**given)


class Presets(metaclass=_Checked):
    """A base of settings: they are checked as they are made, and some have a name.

    >>> from ibpcl.methods.npbcl import Settings
    >>> Settings.preset("paper").samples
    10
    >>> Settings(epoch=5)
    Traceback (most recent call last):
    ...
    TypeError: npbcl: there is no setting 'epoch'; did you mean 'epochs'?
    """

    @classmethod
    def preset(cls, name):
        """Return the settings of a name, a key of the module's ``PRESETS``; "default" for a method without any."""
        presets = getattr(sys.modules[cls.__module__], "PRESETS", {"default": {}})
        if name not in presets:
            raise ValueError(f"{cls.__module__}: preset must be one of {', '.join(presets)}, got {name!r}")
        return cls(**presets[name])


def _as(value, kind, what):
    """Return a value as its type; whole numbers may stand for numbers, and lists for tuples.

    >>> _as([50], tuple[int, ...], "hidden")
    (50,)
    """
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if value is None and NoneType in kinds:
        return None
    bare = kinds[0]
    if get_origin(bare) is tuple:
        element = get_args(bare)[0]
        if not isinstance(value, (list, tuple, np.ndarray)):
            raise TypeError(f"{what} must be a tuple of {element.__name__}, such as ({value},), got {value!r}")
        return tuple(_as(one, element, what) for one in value)
    allowed = {bool: (bool, np.bool_), int: Integral, float: Real, str: str}[bare]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bare is not bool):
        raise TypeError(f"{what} must be {bare.__name__}, got {value!r}")
    return bare(value)
