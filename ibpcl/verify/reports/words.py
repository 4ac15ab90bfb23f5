"""Constants, positions, axes, counts and notes in words."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

# Irrational numbers of which constants in formulas are simple multiples.
UNITS = {
    "pi": np.pi,
    "sqrt(2 pi)": np.sqrt(2 * np.pi),
    "log 2": np.log(2),
    "sqrt 2": np.sqrt(2),
}


def constant_name(factor):
    """Return a short name of a constant, such as " (= 1/6)" or " (= 2 * pi)".

    Parameters
    ----------
    factor : float
        The constant, not zero.

    Returns
    -------
    name : str
        Begins with a space. Empty if the constant is not a simple fraction or a simple multiple of
        pi, sqrt(2 pi), log 2, sqrt 2 or e.

    Examples
    --------
    >>> constant_name(1 / 6), constant_name(2 * np.pi), constant_name(0.123456)
    (' (= 1/6)', ' (= 2 * pi)', '')
    """
    for name, value in {**UNITS, "e": np.e}.items():
        for power, text in ((1, name), (-1, f"1/{name}")):
            ratio = Fraction(factor / value**power).limit_denominator(12)
            if (
                ratio != 0
                and abs(float(ratio) * value**power / factor - 1) < 1e-7
                and abs(ratio) <= 12
            ):
                return f" (= {text})" if ratio == 1 else f" (= {ratio} * {text})"
    ratio = Fraction(factor).limit_denominator(1000)
    if (
        ratio != 0
        and abs(float(ratio) / factor - 1) < 1e-7
        and ratio.denominator > 1
        and abs(ratio.numerator) <= 1000
    ):
        return f" (= {ratio})"
    return ""


def place(flat, shape):
    """Return a flat position as a tuple of indices.

    Parameters
    ----------
    flat : int
        Position in the flattened array.
    shape : tuple of int
        Shape of the array.

    Returns
    -------
    tuple of int
        One index for each axis.
    """
    return tuple(int(n) for n in np.unravel_index(flat, shape)) if shape else ()


def axis_words(axes):
    """Return axes in words: "axis 0" or "axes 0 and 2".

    Parameters
    ----------
    axes : sequence of int
        At least one axis.

    Returns
    -------
    str
        The axes in words.
    """
    return (
        f"axis {axes[0]}" if len(axes) == 1 else "axes " + " and ".join(str(axis) for axis in axes)
    )


def count(number):
    """Return a number of entries in words: "1 entry" or "3 entries".

    Parameters
    ----------
    number : int
        The number of entries.

    Returns
    -------
    str
        The number in words.
    """
    return f"{number} {'entry' if number == 1 else 'entries'}"


class Note(NamedTuple):
    """A remark for the report.

    Attributes
    ----------
    words : str
        The sentence, without the input at its end.
    input : str
        Name of the input at the end of the sentence; empty if there is none.
    """

    words: str
    input: str = ""


def sentences(notes):
    """Return notes as sentences; those that differ by their inputs alone become one.

    Parameters
    ----------
    notes : iterable of Note
        The notes.

    Returns
    -------
    list of str
        The sentences.

    Examples
    --------
    >>> sentences([Note("not smooth in ", "x"), Note("slow"), Note("not smooth in ", "w")])
    ['not smooth in x, w', 'slow']
    """
    inputs = {}
    for note in notes:
        inputs.setdefault(note.words, {})[note.input] = None
    return [words + ", ".join(names) for words, names in inputs.items()]
