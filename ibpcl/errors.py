"""Errors that are answers: each message is one line for the person at the keyboard, and is printed
as such.
"""

import difflib


class UserError(ValueError):
    """A mistake in a configuration, in the data, or in where results shall go; any other exception
    is the program's.
    """


class TrainingError(ArithmeticError):
    """Training cannot go on with these settings; the message says why and what to change."""


class NonFiniteError(TrainingError):
    """The objective became infinite or not a number; the message says where, and which part."""


def nearest(word, known):
    """Return ``"; did you mean 'x'?"`` for a slip of the keyboard, else nothing.

    >>> nearest("epoch", ["epochs", "seed"])
    "; did you mean 'epochs'?"
    """
    close = difflib.get_close_matches(str(word), known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
