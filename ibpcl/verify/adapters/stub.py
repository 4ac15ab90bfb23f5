"""The lines that a user pastes where inputs cannot be guessed, filled in as far as names allow."""

import inspect

import numpy as np

from ibpcl.verify.adapters import construction
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.refusals import FormError


def to_paste(target, missing, unknown, error):
    """Return the error for inputs that cannot be guessed, with lines to fill in.

    Parameters
    ----------
    target : Target
        The target.
    missing : sequence of str
        Names of the inputs that are not given.
    unknown : Unknown
        What is known of them.
    error : FormError or None
        Why the first guess does not run.

    Returns
    -------
    FormError
        Below its first line stand an object of a class and a ``check_inputs``.
    """
    why = f" ({error.reason})" if error is not None else ""
    arguments = construction.required(target.forward)
    arrays = construction.arrays(target.forward, missing)
    first = next(unknown._replace(names=[*missing, *arrays]).guesses(), {})
    first |= {name: 4 for name in missing if words.is_size(name)}
    entries = [
        f'        "{name}": {_text(first.get(name), name in unknown.documented)}'
        for name in dict.fromkeys([*missing, *arrays])
    ]
    lines = [
        "paste this into the file and fill it in:",
        *_object(target.forward, [name for name in arguments if name not in arrays], first),
        "def check_inputs():",
        "    rng = np.random.default_rng(0)",
        "    return {",
        *entries,
        "    }",
    ]
    listed = ", ".join(dict.fromkeys([*missing, *arguments]))
    reason = f"no value for {listed}, and no guess runs {target.name}{why}"
    return FormError(reason, "\n".join(lines))


def _text(value, is_sure):
    """Return the source of a value of ``check_inputs``."""
    if isinstance(value, np.ndarray):
        call = "rng.integers(0, 3, " if value.dtype.kind == "i" else "rng.normal("
        return f"{call}size={value.shape})," + ("" if is_sure else "  # the shape is a guess")
    is_plain = isinstance(value, (int, float, str, bool))
    return f"{value!r},  # a guess" if is_plain else "...,  # a guess"


def _object(kind, arguments, first):
    """Return the line that makes an object of a class; none if there is no need."""
    if not inspect.isclass(kind):
        return []
    shape = np.shape(construction.first_array(first))
    values = {name: construction.values_for(kind, name, shape) for name in arguments}
    filled = ", ".join(f"{name}={found[0] if found else '...'}" for name, found in values.items())
    return [f"layer = {kind.__name__}({filled})"] if values else []
