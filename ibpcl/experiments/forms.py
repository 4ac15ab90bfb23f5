"""Validation of ``result.json``: the entries that reports and lists read, with their types.

A folder may come from another person, or from a faulty program. Code that displays a checked result
needs no checks of its own.
"""

from numbers import Real

from ibpcl import storage
from ibpcl.errors import UserError

# Upper limit for the number of tasks and the length of texts.
MOST = 100_000


def _number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _number_or_none(value):
    return value is None or _number(value)


def _text(value):
    return isinstance(value, str) and len(value) < MOST


def _numbers(value, count):
    return isinstance(value, list) and len(value) == count and all(map(_number_or_none, value))


def _matrix(value, count):
    return (
        isinstance(value, list)
        and len(value) == count
        and all(_numbers(row, count) for row in value)
    )


def _seconds(value, count):
    return (
        isinstance(value, dict)
        and all(_number(value.get(part)) for part in ("train", "test"))
        and _number_or_none(value.get("total"))
        and _number(value.get("final", 0))
        and all(
            _numbers(value.get(f"{part}_per_task"), count) and None not in value[f"{part}_per_task"]
            for part in ("train", "test")
        )
    )


def _shape(value):
    return value is None or (
        isinstance(value, list)
        and len(value) == 2
        and all(type(side) is int and side > 0 for side in value)
    )


def _versions(value):
    return isinstance(value, dict) and all(item is None or _text(item) for item in value.values())


def _density(value, count):
    return value is None or (
        isinstance(value, list)
        and len(value) == count
        and all(isinstance(row, list) and all(map(_number, row)) for row in value)
    )


def check_form(result, measure, path):
    """Refuse a result with missing entries or entries of the wrong type.

    Parameters
    ----------
    result : dict
        The content of ``result.json``.
    measure : str
        The measure of the run, as :func:`ibpcl.experiments.config.measure_of` returns it.
    path : path-like
        The file, for the message.

    Raises
    ------
    ValueError
        If an entry has the wrong type. The message names the entry.
    UserError
        If an entry is missing, because another version wrote the file.
    """
    tasks = result.get("tasks")
    if not isinstance(tasks, list) or not 0 < len(tasks) < MOST or not all(map(_text, tasks)):
        raise storage.damaged("runs", path, "tasks must be a list of strings")
    count = len(tasks)
    name = "log_likelihood" if measure == "log-likelihood" else "accuracy"
    sound = {
        f"average_{name}": _number_or_none,
        f"{name}_matrix": lambda value: _matrix(value, count),
        "backward_transfer": _number_or_none,
        f"{name}_drop": lambda value: _numbers(value, count),
        "seconds": lambda value: _seconds(value, count),
        "peak_memory_mb": _number_or_none,
        "compile_seconds": _number,
        "backend": _text,
        "versions": _versions,
        "image_shape": _shape,
        "share_used": lambda value: value is None or _numbers(value, count),
        "mask_density": lambda value: _density(value, count),
        "elbo_weights": lambda value: isinstance(value, dict),
    }
    for key, check in sound.items():
        if key not in result:
            # The file is not damaged, and the user can repair it.
            raise UserError(f"{path} has no {key}; another version of ibpcl wrote it: run it again")
        if not check(result[key]):
            raise storage.damaged("runs", path, f"{key} has the wrong type or shape")
