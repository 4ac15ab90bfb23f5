"""Conversion of texts from hand-ins to safe ones, before they are written or printed."""

import re
from dataclasses import fields, is_dataclass, replace

from ibpcl.classroom.intake.reading.texts import clean

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable_result(result):
    """Return a result in which every text is printable and each sentence is one line.

    Parameters
    ----------
    result : ibpcl.classroom.judging.verdict.Result
        The result.

    Returns
    -------
    ibpcl.classroom.judging.verdict.Result
    """
    result = printable(result)
    verdicts = [replace(each, words=_lines(each.words)) for each in result.verdicts]
    return replace(
        result,
        reason=" ".join(result.reason.split()),
        flags=_lines(result.flags),
        notes=_lines(result.notes),
        verdicts=verdicts,
    )


def printable(value):
    """Return a value in which every text can be written and printed.

    Parameters
    ----------
    value : str, list, tuple, dict or dataclass
        May contain these and numbers.

    Returns
    -------
    object
        A value of the same structure.

    Examples
    --------
    >>> printable(["a\\x1b[2Jb", 1.0]) == ["a\\ufffd[2Jb", 1.0]
    True
    """
    if isinstance(value, str):
        return CONTROLS.sub("\ufffd", clean(value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(printable, value))
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    if is_dataclass(value):
        return replace(
            value, **{each.name: printable(getattr(value, each.name)) for each in fields(value)}
        )
    return value


def _lines(texts):
    return [" ".join(text.split()) for text in texts]
