"""Errors for code whose form is not recognized: one line, with the expected form and an example."""

import traceback
from pathlib import Path

from ibpcl.codeview.location import NOWHERE, Span, located
from ibpcl.errors import UserError

OURS = Path(__file__).parents[2]


class FormError(UserError, TypeError):
    """Code that the checker cannot call.

    Parameters
    ----------
    reason : str
        Why, in one sentence without a full stop.
    usage : str
        The expected form and a call that works, or the line to write.
    in_gradient : bool
        Whether the forward could be called and the gradient could not.
    """

    def __init__(self, reason, usage="", in_gradient=False):
        super().__init__(f"check: {reason}; {usage}" if usage else f"check: {reason}")
        self.reason = reason
        self.usage = usage
        self.in_gradient = in_gradient


def raised(error, what):
    """Return in one line which exception a user's function raised, and where.

    Parameters
    ----------
    error : BaseException
        The exception.
    what : str
        Name of the function.

    Returns
    -------
    str
        Part of a sentence.

    Examples
    --------
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     raised(error, "f")
    'f raises ZeroDivisionError: division by zero'
    """
    words = " ".join(str(error).split())
    name = type(error).__name__
    place = place_of(error)
    return f"{what} raises {name}{': ' + words if words else ''}{f' ({place})' if place else ''}"


def place_of(error):
    """Return the innermost line of the user's code that an exception passed through.

    Parameters
    ----------
    error : BaseException
        The exception.

    Returns
    -------
    Location
        As a text, ``line 12 of mine.py: x = y @ z``; false if there is no such line.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not Path(frame.filename).is_relative_to(OURS)
        and not frame.filename.startswith("<")
        and "site-packages" not in frame.filename
        and f"{Path(frame.filename).parent.name}" != "importlib"
    ]
    if not frames:
        return NOWHERE
    last = frames[-1]
    return located(last.filename, Span(last.lineno, last.lineno), function=last.name, foreign=True)


def passes_users_code(error):
    """Return whether an exception passed through a function of the user.

    Parameters
    ----------
    error : BaseException
        The exception.

    Returns
    -------
    bool
        False if only this package and libraries were on the way, as for a wrong call of a built-in.
    """
    from ibpcl.verify.adapters.loading import is_library  # imports this module

    frames = traceback.extract_tb(error.__traceback__)
    return any(not is_library(frame.filename) for frame in frames)
