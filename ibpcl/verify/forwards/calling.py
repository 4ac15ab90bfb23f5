"""Call functions of a user: with arrays where they take them, else number by number."""

import contextlib
import contextvars
import inspect
import time
import warnings

import numpy as np

from ibpcl.verify.witnesses.clock import TimeUp

ITEM_SECONDS = 12.0  # for the check of one function, of which a search for a name may take
SEARCH_SECONDS = 5.0
_deadline = contextvars.ContextVar("deadline", default=None)


@contextlib.contextmanager
def within(seconds):
    """Let calls of a user's functions raise :class:`TimeUp` after some seconds of the processor.

    They are those of this process alone, so that a busy machine changes no verdict.  An earlier end
    that is set already stays.
    """
    now = time.process_time()
    before = _deadline.get()
    end = now + seconds if before is None else min(before[0], now + seconds)
    token = _deadline.set((end, seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


class CallError(ValueError):
    """A function raises or returns no number; the message is for the person at the keyboard."""


def names_of(function):
    """Return the names of a function's parameters that a call must or may give."""
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise CallError(f"its arguments are not known: {error}") from error
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def quiet(function, /, *arguments, **options):
    """Call a function without NumPy's warnings; an error becomes a :class:`CallError`."""
    deadline = _deadline.get()
    if deadline is not None and time.process_time() > deadline[0]:
        raise TimeUp(deadline[1])
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **options)
    except Exception as error:  # whatever a user's function raises
        raise CallError(f"it raises {type(error).__name__}: {error}") from error


def real(value):
    """Return a value as an array of floats.

    Raises
    ------
    CallError
        If it is complex, or no array of numbers.
    """
    if np.iscomplexobj(value):
        raise CallError("it returns complex numbers")
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise CallError(f"it returns no numbers: {type(value).__name__}") from error


def first(result):
    """Return the output of a function that may return a cache beside it."""
    return result[0] if isinstance(result, tuple) and len(result) == 2 else result


def number(function, /, *arguments, **options):
    """Return what a function gives as one float."""
    value = first(quiet(function, *arguments, **options))
    value = real(value)
    if value.size != 1:
        raise CallError(f"it returns shape {value.shape}, expected one number")
    return float(value.reshape(()))


def over(function, x, /, *arguments, **options):
    """Return the values (M,) of a function at points ``x`` (M,) or (M, d).

    Points are given all at once if that gives what single points give, else one by one; a point at
    which the function raises has the value NaN.
    """
    alone = [_alone(function, x[i], arguments, options) for i in (0, len(x) // 2, len(x) - 1)]
    try:
        together = real(first(quiet(function, x, *arguments, **options)))
    except CallError:
        together = None
    if together is not None and together.shape == (len(x),):
        sampled = together[[0, len(x) // 2, len(x) - 1]]
        if np.allclose(sampled, alone, rtol=1e-9, atol=1e-300, equal_nan=True):
            return together
    return np.array([_alone(function, each, arguments, options) for each in x])


def _alone(function, x, arguments, options):
    point = float(x) if np.ndim(x) == 0 else x
    try:
        return number(function, point, *arguments, **options)
    except CallError:
        return np.nan
