"""Check that two functions are equal."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ibpcl.verify.distributions.calls import CallError, names_of, quiet, real
from ibpcl.verify.distributions.comparing import Comparison, judged
from ibpcl.verify.distributions.parameters import SEED, draw
from ibpcl.verify.distributions.reading import Part
from ibpcl.verify.distributions.report import ForwardVerdict


def check_identity(
    left: Callable[..., Any],
    right: Callable[..., Any],
    inputs: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
    *,
    name: str = "",
    rtol: float = 1e-6,
) -> ForwardVerdict:
    """Check that two functions are equal, and name the slip in the left one if they are not.

    Parameters
    ----------
    left, right : callable
        Functions of the same arguments.  The right one is taken as right.
    inputs : dict, or list of dict, optional
        Arguments by name, at one point or several.  Without it, numbers are drawn by their names.
    name : str
        Name in the verdict; by default that of ``left``.
    rtol : float
        Relative tolerance.

    Returns
    -------
    verdict : ibpcl.verify.distributions.report.ForwardVerdict
        The verdict with its reason.

    Raises
    ------
    ValueError
        If the right function raises.

    Examples
    --------
    >>> def mine(mu, sigma):
    ...     return mu**2 + sigma
    >>> print(check_identity(mine, lambda mu, sigma: mu**2 + sigma**2).verdict)
    wrong
    >>> check_identity(np.sinh, lambda x: (np.exp(x) - np.exp(-x)) / 2, {"x": 0.3}).ok
    True
    """
    label = name or getattr(left, "__name__", "left")
    every = _points_of(left, right, inputs)
    try:
        wanted = [_outcome(right, point) for point in every]
    except CallError as error:
        raise ValueError(f"check_identity: the right function: {error}") from error

    try:
        got = [_outcome(left, point) for point in every]
    except CallError as error:
        return ForwardVerdict(label, "wrong", str(error), "raises")
    for mine, other in zip(got, wanted, strict=True):
        if mine.shape != other.shape:
            words = f"shape {mine.shape}, expected {other.shape}"
            return ForwardVerdict(label, "wrong", words, "wrong")
    target = np.concatenate([each.ravel() for each in wanted])
    finite = np.isfinite(target)
    if not np.any(finite):
        words = "the right function is not finite at any of the points"
        return ForwardVerdict(label, "undecided", words, "undecided")

    def values_of(function=None, changed=None):
        points = changed or every
        found = np.concatenate([_outcome(function or left, point).ravel() for point in points])
        return found[finite[: len(found)]]

    function = left if hasattr(left, "__code__") else None
    part = Part(label, "identity", function, tuple(every[0]))
    accuracy = rtol * 1e-3
    comparison = Comparison(
        values_of, target[finite], accuracy, tuple(every), rtol=rtol, witness="the right function"
    )
    return judged(part, comparison).named()


def _points_of(left, right, inputs):
    """Return the given points; one point alone is joined by three near it."""
    if inputs is None:
        try:
            names = names_of(right)
        except CallError:
            names = names_of(left)
        return list(draw(names))
    every = [dict(each) for each in inputs] if isinstance(inputs, (list, tuple)) else [dict(inputs)]
    if len(every) == 1:
        rng = np.random.default_rng(SEED)
        for _ in range(3):
            every.append({name: _moved(value, rng) for name, value in every[0].items()})
    return every


def _moved(value, rng):
    """Return a value near a given one; shares stay in (0, 1), and signs stay as they are."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    inside = np.all((array > 0) & (array < 1))
    power = rng.uniform(0.85, 1.15, array.shape)
    moved = array**power if inside else array * power
    return float(moved) if array.ndim == 0 else moved


def _outcome(function, point):
    """Return the output of a function at a point as an array."""
    try:
        names_of(function)
        value = quiet(function, **point)
    except CallError:
        value = quiet(function, *point.values())
    return real(value)
