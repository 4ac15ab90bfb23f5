"""One published method a file, all with the face of :class:`ibpcl.continual.learner.Learner`.

A method's module offers ``Settings``, a frozen dataclass whose fields are declared by :func:`option`, a learner that is
made by ``Learner(settings, seed, backend_name)``, and, if it has any, ``PRESETS``: settings with a name.  A module is
imported when its method is asked for.
"""

from dataclasses import field
from importlib import import_module
from typing import NamedTuple

# The module of each method, and the class of its learner.
METHODS = {"npbcl": "NPBCL"}


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
    if name not in METHODS:
        raise ValueError(f"methods.method: name must be one of {', '.join(METHODS)}, got {name!r}")
    module = import_module(f"ibpcl.methods.{name}")
    return Method(name, module.Settings, getattr(module, METHODS[name]), module.__doc__.strip().splitlines()[0],
                  getattr(module, "PRESETS", {"default": {}}))


def option(default, doc):
    """Declare a field of a dataclass of settings: its default, and one sentence of documentation."""
    return field(default=default, metadata={"doc": doc})
