"""Validation of the numerical arguments of :func:`ibpcl.verify.check`."""

from numbers import Integral, Real

FUNCTION = "check"


def check_numbers(rtol, seed, timeout):
    """Raise an error unless a tolerance, a seed and a time limit are in their ranges.

    Parameters
    ----------
    rtol : float or None
        Relative tolerance, at least 0.
    seed : int
        Seed, at least 0.
    timeout : float or None
        Time limit in seconds, at least 0.

    Raises
    ------
    TypeError
        If an argument is not a number; ``seed`` must be an integer.
    ValueError
        If an argument is negative or NaN.

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
