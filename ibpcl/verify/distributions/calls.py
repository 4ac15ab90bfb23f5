"""Calls of a user's functions, with arrays where they take them, else number by number."""

import contextlib
import contextvars
import inspect
import time
import warnings

import numpy as np

from ibpcl.verify.derivative.clock import TimeUp

ITEM_SECONDS = 12.0  # limit for the check of one function
NAME_SECONDS = 1.5  # limit for one search for a name, after the verdict
NUMBERS = (float, int, np.float64)
CHUNK = 200  # single calls between two tests of the time limit
# Distance of neighbouring points, in units in the last place.
NEIGHBOURS = 64
_deadline = contextvars.ContextVar("deadline", default=None)


@contextlib.contextmanager
def within(seconds):
    """Limit the processor time of the calls inside a ``with`` block.

    :func:`quiet` raises :class:`TimeUp` once the time has passed.  The time is that of this process
    alone, so a busy machine changes no verdict.  A limit inside another one never extends it.

    Parameters
    ----------
    seconds : float
        Limit of processor time.
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
    """Raised if a function cannot be called or does not return real numbers.

    The message is a sentence for the user whose subject is the function: "it raises ...".
    """


def names_of(function):
    """Return the names of the arguments that a call of a function can give.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    names : list of str
        Names in the order of the signature.

    Raises
    ------
    CallError
        If the signature is unknown, as for some compiled functions.

    Examples
    --------
    >>> names_of(lambda x, mu, *rest, sigma=1.0: x)
    ['x', 'mu', 'sigma']
    """
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
    """Return the result of a call without NumPy's warnings.

    Parameters
    ----------
    function : callable
        The function to call.
    *arguments, **options
        Arguments of the call.

    Returns
    -------
    result : object
        The result of the function.

    Raises
    ------
    CallError
        If the function raises; the message names its exception.
    TimeUp
        If the time of :func:`within` has passed.
    """
    deadline = _deadline.get()
    if deadline is not None and time.process_time() > deadline[0]:
        raise TimeUp(deadline[1])
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **options)
    except Exception as error:  # whatever a user's function raises
        raise CallError(f"it raises {type(error).__name__}: {error}") from error


def one_by_one(call, count):
    """Return the results of many calls, between which the time limit is tested now and then.

    Parameters
    ----------
    call : callable
        ``call(i)`` makes the call with the number ``i``.
    count : int
        Number of calls.

    Returns
    -------
    results : list
        One result for each call.

    Raises
    ------
    CallError
        If a call raises.
    TimeUp
        If the time of :func:`within` has passed.
    """

    def some(start):
        return [call(i) for i in range(start, min(start + CHUNK, count))]

    return [each for start in range(0, count, CHUNK) for each in quiet(some, start)]


def real(value):
    """Return a value as an array of floats.

    Parameters
    ----------
    value : object
        A number, an array, or nested lists of numbers.

    Returns
    -------
    array : ndarray of float64
        The value as an array.

    Raises
    ------
    CallError
        If the value is complex or not numeric.
    """
    if np.iscomplexobj(value):
        raise CallError("it returns complex numbers")
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise CallError(f"it does not return numbers: {type(value).__name__}") from error


def first(result):
    """Return the output of a function, without the cache that it may return beside it.

    Parameters
    ----------
    result : object
        Output, or pair of output and cache.

    Returns
    -------
    output : object
        The output alone.
    """
    return result[0] if isinstance(result, tuple) and len(result) == 2 else result


def number(function, /, *arguments, **options):
    """Return the output of a function as one float.

    Parameters
    ----------
    function : callable
        The function to call.
    *arguments, **options
        Arguments of the call.

    Returns
    -------
    number : float
        The output.

    Raises
    ------
    CallError
        If the function raises or returns anything but one real number.
    """
    value = real(first(quiet(function, *arguments, **options)))
    if value.size != 1:
        raise CallError(f"it returns shape {value.shape}, expected one number")
    return float(value.reshape(()))


def over(function, x, /, *arguments, **options):
    """Return the values of a function at many points.

    All points are passed in one call if that gives the same values as calls with single points, up
    to rounding.  Otherwise the function is called point by point.

    Parameters
    ----------
    function : callable
        Function of a point.
    x : ndarray, shape (M,) or (M, d)
        The points.
    *arguments, **options
        Further arguments of the call.

    Returns
    -------
    values : ndarray, shape (M,)
        NaN at points where the function raises.
    """
    samples = [0, len(x) // 2, len(x) - 1]
    alone = _at_points(function, x[samples], arguments, options)
    try:
        together = real(first(quiet(function, x, *arguments, **options)))
    except CallError:
        together = None
    if together is not None and together.shape == (len(x),):
        pairs = zip(samples, alone, strict=True)
        if all(_is_equal(together[i], one, function, x[i], arguments, options) for i, one in pairs):
            return together
    return _at_points(function, x, arguments, options)


def _is_equal(value, alone, function, x, arguments, options):
    """Return whether a value from a call with many points is that of a call with one point.

    NumPy may round a power or an exponential of an array differently from that of one number.  The
    last digit matters where a function is ill-conditioned, such as log(1 - x**a) for x near 1.  A
    difference is therefore accepted if it is no larger than that between neighbouring points.
    """
    if np.isclose(value, alone, rtol=1e-9, atol=1e-300, equal_nan=True):
        return True
    step = NEIGHBOURS * np.spacing(np.abs(np.asarray(x, float)))
    near = _at_points(function, np.stack([x - step, x + step]), arguments, options)
    with np.errstate(all="ignore"):
        changes = np.abs(near - alone)
        changes = changes[np.isfinite(changes)]
        return len(changes) > 0 and bool(np.abs(value - alone) <= np.max(changes))


def _at_points(function, x, arguments, options):
    """Return the values of a function at single points; NaN where it raises."""

    def alone(point):
        try:
            value = first(function(point, *arguments, **options))
            return float(value) if type(value) in NUMBERS else float(real(value).reshape(()))
        except Exception:  # whatever a user's function raises
            return np.nan

    points = x.tolist() if x.ndim == 1 else list(x)
    return np.array(one_by_one(lambda i: alone(points[i]), len(points)))
