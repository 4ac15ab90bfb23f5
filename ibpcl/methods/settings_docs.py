"""Docstrings and signatures of settings, written from the declarations of their fields.

Each field is declared once, with :func:`ibpcl.options.option`.  The decorator :func:`documented`
adds all fields of a class, inherited ones included, to the docstring of the class, so that
``help(Settings)`` is complete and agrees with what the class accepts.
"""

import inspect
import textwrap
from dataclasses import fields
from types import UnionType
from typing import get_args

from ibpcl.options import OrOwn, allowed

RAISES = """
Raises
------
TypeError
    If a value is given without a name, a name is not a setting, or a value has another type.
ValueError
    If a value is outside its bounds.
"""


class SignatureOfFields:
    """Signature of a class of settings: every field is a keyword argument with its default."""

    def __get__(self, instance, owner):
        """Return the signature of a class, subclasses included."""
        return inspect.Signature(
            [
                inspect.Parameter(
                    spec.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=spec.default,
                    annotation=spec.type,
                )
                for spec in fields(owner)
            ]
        )


def documented(settings):
    r"""Add the Parameters and Raises sections of a class of settings to its docstring.

    Parameters
    ----------
    settings : type
        A dataclass whose fields are declared by :func:`ibpcl.options.option`.

    Returns
    -------
    settings : type
        The same class.  ``inspect.signature`` now lists its fields, too.

    Examples
    --------
    >>> from ibpcl.methods.naive import Settings
    >>> "epochs : int, default 5\n    Epochs per task.  Must be at least 0." in Settings.__doc__
    True
    """
    settings.__signature__ = SignatureOfFields()
    if settings.__doc__:  # without docstrings under python -OO
        entries = "".join(_entry(spec) for spec in fields(settings))
        parameters = f"\nParameters\n----------\n{entries}" if entries else ""
        settings.__doc__ = f"{inspect.cleandoc(settings.__doc__)}\n{parameters}{RAISES}"
    return settings


def _entry(spec):
    """Return the entry of one field in the Parameters section."""
    rule = "" if "choices" in spec.metadata else allowed(spec)
    text = spec.metadata["doc"] + (f"  Must be {rule}." if rule else "")
    described = textwrap.fill(
        text, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    return f"{spec.name} : {_kind(spec)}, default {spec.default!r}\n{described}\n"


def _kind(spec):
    """Return the type of a field as numpydoc writes it.

    >>> from ibpcl.methods.ewc import Settings
    >>> [_kind(spec) for spec in fields(Settings) if spec.name in ("hidden", "fisher_examples")]
    ['tuple of int', 'int or None']
    """
    choices = spec.metadata.get("choices")
    if choices:
        names = "{" + ", ".join(map(repr, choices)) + "}"
        return f'{names} or "package.module:Name"' if isinstance(choices, OrOwn) else names
    if isinstance(spec.type, UnionType):
        return f"{get_args(spec.type)[0].__name__} or None"
    return "tuple of int" if spec.type == tuple[int, ...] else spec.type.__name__
