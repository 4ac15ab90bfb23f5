"""Supports of densities: given by the file, or guessed as the one with integral 1."""

import numpy as np

from ibpcl.verify.distributions import points
from ibpcl.verify.distributions.calling import CallError, names_of, quiet
from ibpcl.verify.distributions.measures import Support
from ibpcl.verify.distributions.noise import draws_of, noise_of
from ibpcl.verify.distributions.roles import DENSITIES

TOLERANCE = 1e-6  # largest error of an integral that must be 1
INFINITE = np.inf
# Candidates for an unknown support, in the order in which they are tried.
SUPPORTS = (
    Support(-INFINITE, INFINITE),
    Support(0, INFINITE),
    Support(0, 1),
    Support(-1, 1),
    Support(-np.pi, np.pi),
    Support(0, 2 * np.pi),
    Support(1, INFINITE),
    Support(-INFINITE, 0),
    Support(0, INFINITE, True),
    Support(1, INFINITE, True),
    Support(0, 1, True),
    Support(-1, 1, True),
    Support(-INFINITE, INFINITE, True),
)
# Names of parameters from which candidates are made: location and scale, and lower ends.
LOCATIONS = ("location", "loc", "mu", "m", "center", "x0", "mean")
SCALES = ("scale", "sigma", "s", "r", "radius", "width", "std", "b")
ENDS = ("m", "xm", "x_m", "x_min", "low", "a", "lower", "minimum", "c", "scale", "k", "lo", "shift")


def is_one(totals):
    """Return whether all integrals are 1.

    Parameters
    ----------
    totals : ndarray, shape (N,)
        The integrals.

    Returns
    -------
    is_one : bool
        Whether all are 1 up to the tolerance.
    """
    return bool(np.all(np.abs(totals - 1) <= TOLERANCE))


def at(candidate, point):
    """Return a candidate for a support at a point.

    Parameters
    ----------
    candidate : Support or callable
        A callable maps a point to a support.
    point : dict of str to object
        Arguments by name.

    Returns
    -------
    support : Support
        The support.
    """
    return candidate(point) if callable(candidate) else candidate


def supports_of(family, role):
    """Return the candidates for the support of a density.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    role : str
        Role of the density.

    Returns
    -------
    supports : list of Support or callable
        A callable maps a point to a support.
    given : bool
        True if the file gives the support; it is then the only candidate.
    """
    given = family.values.get("support")
    discrete = role in ("log_mass", "mass")
    if given is not None:
        return [_given(given, family, discrete)], True
    point = family.points[0]
    names = [name for name in family.parameters if np.ndim(point.get(name, 0)) == 0]
    found = []
    all_ordered = any(low in names and high in names for low, high in points.ORDERED)
    for low, high in points.ORDERED:
        if low in names and high in names:
            found.append(lambda point, a=low, b=high: Support(point[a], point[b]))
            found.append(lambda point, a=low, b=high: Support(point[a], point[b], True))
    for name in names:
        kind = points.domain(name)
        if kind == "count":
            found.append(lambda point, a=name: Support(0, point[a], True))
            found.append(lambda point, a=name: Support(1, point[a], True))
        elif kind in ("positive", "real"):
            if name in (*ENDS, *LOCATIONS[:2]):
                found.append(lambda point, a=name: Support(point[a], INFINITE))
            if kind == "positive":
                found.append(lambda point, a=name: Support(0, point[a]))
                found.append(lambda point, a=name: Support(-point[a], point[a]))
    for a in LOCATIONS:
        for b in SCALES:
            if a in names and b in names:
                found += [
                    lambda p, a=a, b=b: Support(p[a], p[a] + p[b]),
                    lambda p, a=a, b=b: Support(p[a] - p[b], p[a] + p[b]),
                    lambda p, a=a, b=b: Support(p[a] - np.pi * p[b], p[a] + np.pi * p[b]),
                ]
    ordered = [each for each in found[:2] if all_ordered]
    every = [*ordered, *SUPPORTS, *found]
    masses = [each for each in every if _is_discrete(each, family.points[0])]
    densities = [each for each in every if not _is_discrete(each, family.points[0])]
    if discrete:
        return masses, False
    x = next(family.parts[name] for name in (*DENSITIES, "cdf") if name in family).variable
    return ([*masses, *densities] if x in ("k", "n", "count") else [*densities, *masses]), False


def _is_discrete(candidate, point):
    return at(candidate, point).discrete


def _given(given, family, discrete):
    """Return the support of a file: (low, high), a sequence of integers, or a function."""
    if callable(given) and not isinstance(given, (tuple, list)):
        names = names_of(given)

        def found(point):
            return _read(quiet(given, **{name: point[name] for name in names}), discrete)

        found(family.points[0])
        return found
    return _read(given, discrete)


def given_support(given, family, discrete, point):
    """Return the support of a file at a point.

    Parameters
    ----------
    given : tuple, range, or callable
        ``support`` of the file.
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    discrete : bool
        True if only integers have mass.
    point : dict of str to object
        Arguments by name.

    Returns
    -------
    support : Support
        The support.
    """
    found = _given(given, family, discrete)
    return found(point) if callable(found) else found


def _read(given, discrete):
    if isinstance(given, Support):
        return given
    if isinstance(given, range):
        return Support(given.start, given.stop - 1, True)
    values = list(given)
    if len(values) > 2:
        return Support(min(values), max(values), True)
    if len(values) != 2 or not values[0] < values[1]:
        raise CallError(f"support must be (low, high) with low < high, got {given!r}")
    return Support(float(values[0]), float(values[1]), bool(discrete))


def is_supported(family, candidate, truths):
    """Return whether a support made from parameters has evidence besides the integral.

    The density is 0 or NaN just outside, or the distribution function is 0 and 1 at the ends.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    candidate : Support or callable
        The support, or a function from a point to a support.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density over the candidate, at each point.

    Returns
    -------
    is_supported : bool
        True for any support that does not depend on parameters.
    """
    if not callable(candidate) or truths[0].support.discrete:
        return True
    checks = []
    for truth, point in zip(truths, family.points, strict=True):
        low = truth.support.low
        high = truth.support.high
        ends = np.array([end for end in (low, high) if np.isfinite(end)])
        gap = 1e-3 * (1 + np.abs(ends))
        outside = ends + np.where(ends == low, -gap, gap)
        with np.errstate(all="ignore"):
            density = np.exp(truth.log_density(outside))
            top = np.exp(np.nanmax(truth.log_p))
        empty = bool(np.all(~np.isfinite(density) | (density < 1e-3 * top)))
        if not empty and "cdf" in family:
            values = family.values_at(family.parts["cdf"], ends, point)
            empty = bool(np.allclose(values, np.where(ends == low, 0.0, 1.0), atol=1e-6))
        checks.append(empty)
    return all(checks)


def is_known_otherwise(family, truths):
    """Return whether another function confirms a guessed support.

    The distribution function is 0 and 1 at its ends, or all draws of the sampler lie inside.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density over the support, at each point.

    Returns
    -------
    is_known : bool
        Whether there is such a function.
    """
    for truth, point in zip(truths, family.points, strict=True):
        low = truth.support.low
        high = truth.support.high
        if "cdf" in family:
            ends = np.array([low, high])
            bounded = np.isfinite(ends)
            values = family.values_at(family.parts["cdf"], ends[bounded], point)
            if np.allclose(values, np.array([0.0, 1.0])[bounded], atol=1e-6):
                continue
        if "sample" not in family:
            return False
        try:
            noise = noise_of(family.parts["sample"], family.parameters)
            draws = draws_of(family, family.parts["sample"], noise, point, size=2000)
        except CallError:
            return False
        if np.any(draws < low) or np.any(draws > high) or not np.all(np.isfinite(draws)):
            return False
    return True


def choose(tried, truths_of, accept=lambda candidate, truths: True):
    """Return the support over which a density integrates to 1, or else the likeliest one.

    Parameters
    ----------
    tried : list of Support or callable
        Candidates, each a support or a function from a point to a support.
    truths_of : callable
        ``truths_of(support, adapt)`` returns the density at all points; ``adapt`` allows densities
        with kinks and jumps.
    accept : callable
        ``accept(support, truths)`` returns whether a support with integral 1 may be right.

    Returns
    -------
    support : Support or callable
        The chosen candidate.
    truths : list of Truth
        The density over this support at each point.
    plausible : list of Support or callable
        Candidates in which the density is defined everywhere.

    Raises
    ------
    CallError
        If the density cannot be evaluated over any candidate.
    """
    best = None
    rough = None
    plausible = []
    discrete = None
    for candidate in tried:
        try:
            # once there is a rough candidate, only a smooth one can replace it
            truths = truths_of(candidate, rough is None)
            if rough is not None and truths[0].support.discrete:
                continue
        except (CallError, KeyError, IndexError):
            continue
        totals = np.array([truth.total for truth in truths])
        one = is_one(totals) and all(truth.error < 1e-5 for truth in truths)
        if one and accept(candidate, truths):
            # a jump inside means that a narrower support is the right one
            if not any(truth.is_rough for truth in truths):
                return candidate, truths, [candidate]
            rough = rough or (candidate, truths, [candidate])
        discrete = truths[0].support.discrete if discrete is None else discrete
        alike = truths[0].support.discrete == discrete
        if one:
            continue
        good = bool(np.all(np.isfinite(totals)) and np.all(totals > 0))
        sharp = good and all(truth.error < 1e-4 * truth.total for truth in truths)
        missing = float(np.mean([truth.holes for truth in truths]))
        if missing == 0:
            plausible.append(candidate)
        rank = (alike, not callable(candidate), 2 * sharp + good, -round(missing, 2))
        if best is None or rank > best[0]:
            best = (rank, candidate, truths)
    if rough is not None:
        return rough
    if best is None:
        raise CallError("it can't be evaluated over any support: give support = (low, high)")
    return best[1], best[2], plausible


def words_of(candidate, every):
    """Return a support as text.

    Parameters
    ----------
    candidate : Support or callable
        The support, or a function from a point to a support.
    every : list of dict
        All points.

    Returns
    -------
    text : str
        Such as (0, inf).
    """
    first = at(candidate, every[0])
    return str(first) if not callable(candidate) else f"{first} at the first parameters"
