"""The supports that a distribution may have: given, named, or guessed, in one list.

A guessed support depends on nothing but the names and values of the parameters.  Which one is taken
is decided by :mod:`ibpcl.verify.distributions.leads`.
"""

import re
from itertools import product
from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions import parameters as sets_of
from ibpcl.verify.distributions.calls import CallError, names_of, quiet
from ibpcl.verify.distributions.quadrature import Support
from ibpcl.verify.distributions.vocabulary import (
    ENDS,
    FAMILIES,
    LOCATIONS,
    OF_SHARES,
    ORDERED,
    OTHER_FAMILIES,
    SCALES,
    domain,
)

INF = np.inf
# Supports that are tried without another hint.
LINES = (
    (-INF, INF),
    (0, INF),
    (0, 1),
    (-1, 1),
    (-np.pi, np.pi),
    (0, 2 * np.pi),
    (1, INF),
    (-INF, 0),
)
COUNTS = ((0, INF), (1, INF), (0, 1), (-1, 1), (-INF, INF))
COUNTED = ("k", "n", "count")  # variables that are often integers


class Candidate(NamedTuple):
    """A possible support.

    Attributes
    ----------
    at : callable
        Maps a set of parameters to a :class:`ibpcl.verify.distributions.quadrature.Support`.
    depends : bool
        Whether it depends on the parameters.
    is_known : bool
        Whether the file gives it, or the name of the family.
    """

    at: object
    depends: bool = False
    is_known: bool = False


def candidates(model, part):
    """Return the supports that are tried for a density or a distribution function.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The model.
    part : ibpcl.verify.distributions.reading.Part
        The leading function.

    Returns
    -------
    candidates : list of Candidate
        A given support is the only one, read as an interval and as integers if both are possible.
    """
    given = model.values.get("support")
    only_integers = model.is_discrete or part.role in ("mass", "log_mass")
    if given is not None:
        return _given(model, given, only_integers)
    if model.dimension > 1:
        return _of_vector(model, part)
    named = _named(model, part)
    if named and (only_integers or part.variable in COUNTED):
        return named
    lines, counts = _of_parameters(model)
    lines = [*(_fixed(Support(*ends)) for ends in LINES), *lines]
    counts = [*(_fixed(Support(*ends, True)) for ends in COUNTS), *counts]
    ordered = any(low in model.parameters and high in model.parameters for low, high in ORDERED)
    if ordered:  # an interval between two parameters comes first
        lines.insert(0, lines.pop(len(LINES)))
        counts.insert(0, counts.pop(len(COUNTS)))
    if only_integers:
        return counts
    return [*counts, *lines] if part.variable in COUNTED else [*lines, *counts]


def _of_vector(model, part):
    """Return the supports that are tried for a vector."""
    simplex = Support(0, 1, False, True)
    x = model.sets[0].get(part.variable)
    if x is not None and np.isclose(np.sum(x), 1):
        return [_fixed(simplex, True)]
    if re.search(OF_SHARES, f"{model.title} {part.name}".lower()):
        return [_fixed(simplex, True)]
    found = [Support(-INF, INF), simplex, Support(0, INF), Support(0, 1)]
    if model.dimension == 2:  # more axes would take too long
        mixed = (axes for axes in product(LINES[:3], repeat=2) if axes[0] != axes[1])
        found += [Support(-INF, INF, False, False, axes) for axes in mixed]
    return [_fixed(each) for each in found]


def _fixed(support, is_known=False):
    return Candidate(lambda values: support, False, is_known)


def _named(model, part):
    """Return the support of a family of integers that the name of the group or function says."""
    words = f"{model.title} {part.name}".lower()
    if re.search(OTHER_FAMILIES, words):
        return []
    for family, (low, high) in FAMILIES.items():
        if family in words and (high != "n" or high in model.parameters):

            def at(values, low=low, high=high):
                return Support(low, values["n"] if high == "n" else float(high), True)

            return [Candidate(at, high == "n", True)]
    return []


def _of_parameters(model):
    """Return supports that depend on parameters: intervals, and sets of integers."""
    names = [name for name in model.parameters if np.ndim(model.sets[0].get(name, 0)) == 0]
    lines = [ends for ends in ORDERED if set(ends) <= set(names)]
    counts = list(lines)
    for name in names:
        kind = sets_of.domain(name)
        unknown = not domain(name) and all(values[name] > 0 for values in model.sets)
        if kind == "count":
            counts += [("0", name), ("1", name)]
        if kind in ("positive", "real") and name in (*ENDS, *LOCATIONS[:2]):
            lines.append((name, "inf"))
        if kind == "positive" or unknown:
            lines += [("0", name), (f"-{name}", name)]
    for a, b in product(LOCATIONS, SCALES):
        if a in names and b in names:
            lines.append((a, f"{a} + {b}"))
            lines += [(f"{a} - {times} * {b}", f"{a} + {times} * {b}") for times in (1, np.pi)]
    return [_between(*ends) for ends in lines], [_between(*ends, True) for ends in counts]


def _between(low, high, discrete=False):
    """Return the support between two formulas of the parameters, such as "mu - s" and "mu + s"."""

    def at(values):
        known = {"inf": INF, **values}
        return Support(eval(low, {}, known), eval(high, {}, known), discrete)

    return Candidate(at, True)


def _given(model, given, only_integers):
    """Return the candidates for a support of the file."""
    if callable(given):
        given = (given, names_of(given))
    if isinstance(given, tuple) and callable(given[0]):
        function, names = given

        def at(values):
            ends = quiet(function, *(values[name] for name in names))
            return _read(ends, only_integers)

        at(model.sets[0])
        return [Candidate(at, True, True)]
    read = _read(given, only_integers)
    found = [_fixed(read, True)]
    integers = isinstance(given, (tuple, list)) and all(
        isinstance(i, (int, np.integer)) for i in given
    )
    if integers and not read.discrete and model.dimension == 1:
        found.append(_fixed(read._replace(discrete=True), True))
    return found


def _read(given, only_integers):
    """Return a support: (low, high), a sequence of integers, or a range."""
    if isinstance(given, Support):
        return given
    if isinstance(given, range):
        return Support(given.start, given.stop - 1, True)
    values = list(given)
    if len(values) > 2:
        return Support(min(values), max(values), True)
    if len(values) != 2 or not values[0] < values[1]:
        raise CallError(f"support must be (low, high) with low < high, got {given!r}")
    return Support(float(values[0]), float(values[1]), bool(only_integers))


def inside(support, x):
    """Return points of a support of vectors for points of the whole space.

    Parameters
    ----------
    support : ibpcl.verify.distributions.quadrature.Support
        A continuous support.
    x : ndarray, shape (M, d)
        Any points.

    Returns
    -------
    inner : ndarray, shape (M, d)
        One point inside for each.
    """
    if support.simplex:
        return np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True)
    columns = []
    for (low, high), column in zip(_ends_of(support, x.shape[1]), x.T, strict=True):
        if np.isfinite(high):
            column = low + (high - low) / (1 + np.exp(-column))
        elif np.isfinite(low):
            column = low + np.exp(column)
        columns.append(column)
    return np.stack(columns, axis=1)


def _ends_of(support, dimension):
    """Return the ends of a support in each dimension."""
    return support.axes or ((support.low, support.high),) * dimension


def beyond(support, dimension):
    """Return points just outside a support of vectors.

    Parameters
    ----------
    support : ibpcl.verify.distributions.quadrature.Support
        A continuous support.
    dimension : int
        Number d of coordinates.

    Returns
    -------
    x : ndarray, shape (M, d)
        Of each point, one coordinate is outside; beside a simplex, the sum.
    """
    inner = inside(support, np.zeros((1, dimension)))[0]
    if support.simplex:
        return np.array([0.7 * inner, 1.3 * inner])
    found = []
    for axis, ends in enumerate(_ends_of(support, dimension)):
        for end, sign in zip(ends, (-1, 1), strict=True):
            if np.isfinite(end):
                found.append(np.where(np.arange(dimension) == axis, end + 0.3 * sign, inner))
    return np.array(found)
