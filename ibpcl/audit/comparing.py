"""Comparison of gradients with and without a mistake."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ibpcl.audit.points import PATIENCE, Point, gradients_at
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.trap import limit

# Gradients that differ by less, relative to the largest entry at all points, are the same numbers:
# a test of single precision cannot see the difference.
SAME = 1e-4
UNCHANGED = 1e-9  # relative difference of outputs that are the same
DIGITS = 6  # significant digits in which equal gradients of two mistakes agree


class Result(NamedTuple):
    """The gradients with a mistake at one point.

    Attributes
    ----------
    point : Point
        The point.
    changed : callable
        ``changed(problem)`` returns the pair with the mistake.
    found : tuple of ndarray
        The gradients.
    far : float
        Their largest error, relative to the largest entry; negative if an exception was raised.
    """

    point: Point
    changed: Callable
    found: tuple
    far: float


def compared(families, name, n):
    """Return the verdict on a mistake, and its result at each point.

    Parameters
    ----------
    families : list of Family
        The points.
    name : str
        The function with the mistake.
    n : int
        Number of the mistake among those of the function.

    Returns
    -------
    verdict : {"wrong", "equivalent", "raising", "forward"}
        "forward" if the outputs change as well.
    results : list of Result
    """
    results = []
    for family in families:
        if family.backward is None or name not in family.backward.trees:
            continue  # with these inputs, the helper does not run
        changed = family.changed(name, n)
        if changed is None:
            return "raising", []
        for point in family.points:
            problem = changed(point.problem)
            try:
                with limit(PATIENCE):
                    if problem.f is not point.problem.f:
                        value = problem.vector()
                        if distance(value, point.problem.value, 0.0) > UNCHANGED:
                            return "forward", []
                    found = gradients_at(problem, point.w)
            except (TimeUp, Exception, SystemExit):  # a mistake may do anything
                results.append(Result(point, changed, (), -1.0))
                continue
            far = max(gaps(found, point), default=0.0)
            if far == np.inf and not all(map(_is_numeric, found)):
                far = -1.0  # an object in place of an array raises an exception wherever it is used
            results.append(Result(point, changed, found, far))
    far = max((result.far for result in results), default=0.0)
    if far < 0:
        return "raising", []
    return "wrong" if far > SAME else "equivalent", results


def _is_numeric(gradient):
    """Return whether a gradient is an array of numbers, or missing."""
    return gradient.dtype.kind in "fiub" or (gradient.ndim == 0 and gradient.item() is None)


def gaps(found, point):
    """Return the errors of some gradients, relative to the largest entry of each at all points.

    Parameters
    ----------
    found : tuple of ndarray
        The gradients.
    point : Point
        With the right ones.

    Returns
    -------
    list of float
        Infinite for another shape, a number that is not finite, and another number of gradients.
    """
    if len(found) != len(point.right):
        return [np.inf] * len(point.right)
    return [distance(*each) for each in zip(found, point.right, point.sizes, strict=True)]


def distance(got, true, size):
    """Return the largest difference, relative to a size or to the largest entry.

    Parameters
    ----------
    got, true : ndarray
        The arrays.
    size : float
        The size; the largest entry of ``true`` if that is larger.

    Returns
    -------
    float
        Infinite for another shape, and for numbers that are not finite.
    """
    if got.shape != true.shape or got.dtype.kind not in "fiub" or true.dtype.kind not in "fiub":
        return 0.0 if got.dtype.kind == true.dtype.kind == "O" else np.inf
    if got.size == 0:
        return 0.0
    difference = np.abs(got.astype(float) - true.astype(float))
    if not np.all(np.isfinite(difference)):
        return 0.0 if np.array_equal(got, true, equal_nan=True) else np.inf
    return float(difference.max() / (max(size, np.abs(true).max()) or 1.0))


def key_of(results):
    """Return a text that is equal for the same gradients at all points.

    Parameters
    ----------
    results : list of Result
        The gradients with a mistake.

    Returns
    -------
    str
    """
    made = hashlib.sha256()
    for result in results:
        made.update(b"raised" if result.far < 0 else b"")
        for each in result.found:
            made.update(str(each.shape).encode())
            if each.dtype.kind in "fiub":
                numbers = each.astype(float).ravel()
                size = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0) or 1.0
                made.update((np.round(numbers / size, DIGITS) + 0.0).tobytes())
                made.update(f"{size:.{DIGITS - 1}e}".encode())
    return made.hexdigest()
