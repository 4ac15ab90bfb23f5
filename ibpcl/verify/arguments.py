"""The numbers that :func:`ibpcl.verify.check` is called with, refused where they would give a
silent, wrong answer.
"""

from numbers import Integral, Real

FUNCTION = "check"


def check_numbers(rtol, seed, timeout):
    """Refuse a tolerance, a seed or a time that cannot be meant; the error names it, what is
    allowed and what came.

    Parameters
    ----------
    rtol, seed, timeout : object
        What the user gave.

    Raises
    ------
    TypeError, ValueError
        If one of them has another type, or is out of its range, as a tolerance that is NaN.

    Examples
    --------
    >>> check_numbers(float("nan"), 0, None)
    Traceback (most recent call last):
    ...
    ValueError: check: rtol must be a number of at least 0, got nan
    """
    if rtol is not None:
        _check(rtol, Real, 0, "rtol must be a number of at least 0")
    if timeout is not None:
        _check(timeout, Real, 0, "timeout must be a number of seconds, at least 0")
    _check(seed, Integral, 0, "seed must be a whole number of at least 0")


def _check(value, kind, least, rule):
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"{FUNCTION}: {rule}, got {value!r}")
    if not value >= least:
        raise ValueError(f"{FUNCTION}: {rule}, got {value!r}")
