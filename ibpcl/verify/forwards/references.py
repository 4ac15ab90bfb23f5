"""The density of a family, given or derived, and its agreement with the other functions."""

import numpy as np

from ibpcl.verify.forwards import closed_forms, samplers, supports
from ibpcl.verify.forwards.calling import CallError, quiet
from ibpcl.verify.forwards.densities import Known, check_density
from ibpcl.verify.forwards.noise import LEVELS
from ibpcl.verify.forwards.slips import agree
from ibpcl.verify.forwards.truth import truth_of
from ibpcl.verify.forwards.verdicts import ForwardVerdict
from ibpcl.verify.witnesses.differences import richardson

MOMENTS = ("mean", "variance", "std", "entropy")
# Largest step, relative to the width of a point, and one tableau of three differences.
DIFFERENCES = {"h": 1e-3, "levels": 3, "restarts": 1, "noise": 0.0}


def reference(family):
    """Return the density with which the functions of a family are compared.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        With a density or a distribution function.

    Returns
    -------
    known : ibpcl.verify.forwards.densities.Known
        The density, with a verdict if it was checked.
    """
    if family.density is not None:
        return check_density(family, _dimension(family), lambda truths: agreeing(family, truths))
    return _from_cdf(family)


def _dimension(family):
    """Return the dimension of the random variable, from the shapes of the given parameters."""
    part = family.density
    point = family.points[0]
    given = point.get(part.variable)
    if given is not None:
        return int(np.size(given)) if np.ndim(given) else 1
    sizes = {np.shape(value)[-1] for value in point.values() if np.ndim(value)}
    for size in sorted(sizes):
        if 2 <= size <= 3:
            alone = family.bound(part, point)
            try:
                value = quiet(alone, np.full(size, 0.3), **family.arguments(part, point))
                if np.ndim(value) == 0:
                    return size
            except CallError:
                continue
    return 1


def _from_cdf(family):
    """Return the derivative of a distribution function as the density."""
    part = family.parts["cdf"]

    def log_density_of(point):
        def log_density(x):
            width = 1e-3 + np.abs(x)
            slope = richardson(
                lambda y: family.values_at(part, y, point), x, width, **DIFFERENCES
            ).value
            with np.errstate(all="ignore"):
                return np.log(np.maximum(slope / width, 1e-300))

        return log_density

    tried, given = supports.supports_of(family, "cdf")
    for candidate in tried:
        at = [candidate(p) if callable(candidate) else candidate for p in family.points]
        if at[0].discrete:
            continue
        ends = np.array([_ends(family, part, p, s) for p, s in zip(family.points, at, strict=True)])
        if not np.all(np.isfinite(ends)) or not np.allclose(ends, [0, 1], atol=1e-6):
            continue
        truths = [truth_of(log_density_of(p), s) for p, s in zip(family.points, at, strict=True)]
        if all(abs(truth.total - 1) < 1e-5 for truth in truths):
            if not given:
                family.notes.append(f"the support {at[0]} was guessed; give support = (low, high)")
            cdfs = [
                lambda x, point=point: family.values_at(part, x, point) for point in family.points
            ]
            truths = [t._replace(known_cdf=cdf) for t, cdf in zip(truths, cdfs, strict=True)]
            return Known(truths, None, True)
    return Known([], check_rising(family, part), False)


def _ends(family, part, point, support):
    """Return the values of a distribution function near both ends of a support."""
    low = support.low if np.isfinite(support.low) else -1e8
    high = support.high if np.isfinite(support.high) else 1e8
    gap = 1e-12 * (1 + np.abs([low, high]))
    return family.values_at(part, np.array([low + gap[0], 0.5, high - gap[1]]), point)[[0, 2]]


def check_rising(family, part):
    """Check that a distribution function rises from 0 to 1.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.forwards.roles.Part
        The function with its role.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    x = np.linspace(-20, 20, 401)
    for point in family.points:
        values = family.values_at(part, x, point)
        values = values[np.isfinite(values)]
        if len(values) and np.any(np.diff(values) < -1e-9):
            words = "a distribution function never falls"
            return ForwardVerdict(part.name, "wrong", words, "not_increasing")
        if len(values) and (values.min() < -1e-9 or values.max() > 1 + 1e-9):
            words = f"it has the value {values.max():.4g}, outside 0..1"
            return ForwardVerdict(part.name, "wrong", words, "not_increasing")
    return ForwardVerdict(part.name, "ok", "rises between 0 and 1")


def dependents(family):
    """Return the functions of a family that a density determines.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.

    Returns
    -------
    parts : dict of str to ibpcl.verify.forwards.roles.Part
        Functions by role.
    """
    roles = ("sample", "cdf", "quantile", *MOMENTS, "expectation", "kl")
    return {
        role: family.parts[role]
        for role in roles
        if role in family and not (role == "expectation" and "integrand" not in family)
    }


def density_at(family, truths, function=None):
    """Return a function that integrates the density of a family at any point.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.forwards.truth.Truth
        The density at the points of the family.
    function : callable, optional
        Changed version of the density.

    Returns
    -------
    density : callable
        Maps a point to a :class:`ibpcl.verify.forwards.truth.Truth`.

    Raises
    ------
    CallError
        If the family has no density.
    """
    if family.density is None:
        raise CallError("without a density it cannot be compared: give log_density")
    given = family.values.get("support")

    def found(point):
        support = truths[0].support
        if callable(given):
            support = supports.given_support(given, family, support.discrete, point)
        dimension = 1 if truths[0].nodes.x.ndim == 1 else truths[0].nodes.x.shape[1]
        log_density = family.log_density(family.density, point, function)
        hints = [value for value in point.values() if np.ndim(value) == 0]
        return truth_of(log_density, support, dimension, hints=hints)

    return found


def agreeing(family, truths):
    """Return how many functions of a family agree with a density; wrong ones get no name.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.forwards.truth.Truth
        The density at each point.

    Returns
    -------
    count : int
        Number of functions.
    """
    count = 0
    for role, part in dependents(family).items():
        try:
            count += bool(_agrees(family, truths, role, part))
        except (CallError, ValueError, KeyError):
            continue
    return count


def _agrees(family, truths, role, part):
    """Return whether one function agrees with a density."""
    if role == "sample":
        return samplers.fits_sampler(family, truths, part)
    if role == "cdf":
        x = truths[0].points_at(LEVELS)
        return agree(family.values_at(part, x, family.points[0]), truths[0].cdf(x), atol=1e-6)
    if role == "quantile":
        levels = np.array([0.2, 0.5, 0.8])
        return agree(truths[0].cdf(family.values_at(part, levels, family.points[0])), levels, 1e-6)
    if role in MOMENTS:
        right = np.array([closed_forms.moments_of(truth)[role] for truth in truths])
        return agree(family.numbers(part), right, atol=1e-7)
    return closed_forms.check_expectation(family, truths, part, family.parts["integrand"]).ok
