"""The density of a family, given or derived, and its agreement with the other functions."""

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions import closed_forms, samplers, supports
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calling import CallError, quiet, real
from ibpcl.verify.distributions.densities import Known, check_density
from ibpcl.verify.distributions.noise import DRAWS, LEVELS, called, noise_of, quantile_of
from ibpcl.verify.distributions.roles import DENSITIES
from ibpcl.verify.distributions.slips import agree
from ibpcl.verify.distributions.truth import truth_of, truth_of_masses, truth_of_quantile
from ibpcl.verify.distributions.verdicts import ForwardVerdict

MOMENTS = ("mean", "variance", "std", "skewness", "excess_kurtosis", "entropy")
# Functions that determine a distribution; the first one leads if there is no density.
OF_DISTRIBUTION = (
    "cdf",
    "quantile",
    "sample",
    "survival",
    "log_cdf",
    "log_survival",
    "inverse_survival",
)
FAR = 1e8  # where a distribution function is at the end of an infinite support
FURTHER = 30  # integers beside those that were drawn
MOST_STATES = 200
MASS_ERROR = 1e-7
# Largest step, relative to the width of a point, and one tableau of three differences.
DIFFERENCES = {"h": 1e-3, "levels": 3, "restarts": 1, "noise": 0.0}


def leading(family):
    """Return the function with which all others are compared.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.

    Returns
    -------
    part : ibpcl.verify.distributions.roles.Part
        The density, else the distribution function, the quantile function or the sampler.
    """
    if family.density is not None:
        return family.density
    return next(family.parts[role] for role in OF_DISTRIBUTION if role in family)


def reference(family):
    """Return the density with which the functions of a family are compared.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        With a function of :data:`OF_DISTRIBUTION`.

    Returns
    -------
    known : ibpcl.verify.distributions.densities.Known
        The density, with a verdict on the leading function if it was checked.
    """
    part = leading(family)
    if family.density is not None:
        return check_density(family, _dimension(family), lambda truths: agreeing(family, truths))
    if part.role == "cdf":
        return _from_cdf(family)
    if part.role not in ("quantile", "sample"):
        return Known([], None, False)
    truths = [_from_levels(family, part, point) for point in family.points]
    if any(truth is None for truth in truths):
        return Known([], None, False)
    family.notes.append(f"without a density, {part.name} was taken as right")
    return Known(truths, None, True)


def _from_levels(family, part, point):
    """Return the distribution of a quantile function, or of a sampler with one noise variable.

    None if it does not increase or decrease with its level, or cannot be integrated.
    """
    if part.role == "quantile":
        kinds = {part.variable: "uniform"}
        options = family.arguments(part, point)
    else:
        noise = noise_of(part, family.parameters)
        if not noise.is_integrable:
            return None
        kinds = noise.kinds
        options = {name: point[name] for name in part.names if name in point}
    bound = family.bound(part, point)
    rng = np.random.default_rng(0)
    noise = {name: quantile_of(kind, rng.uniform(size=DRAWS)) for name, kind in kinds.items()}
    tested = called(bound, noise, options)
    if tested.ndim > 1 or not np.all(np.isfinite(tested)):
        return None
    if np.all(tested == np.round(tested)):
        return _from_integers(bound, kinds, options, tested)
    if len(kinds) > 1:
        return None
    name, kind = next(iter(kinds.items()))

    def of_level(levels):
        shape = np.shape(levels)
        levels = np.ravel(levels)
        return called(bound, {name: quantile_of(kind, levels)}, options).reshape(shape)

    steps = np.diff(of_level(LEVELS))
    if np.all(steps > 0):
        return truth_of_quantile(of_level)
    if np.all(steps < 0):
        return truth_of_quantile(lambda levels: of_level(1 - np.asarray(levels)))
    return None


def _from_integers(bound, kinds, options, tested):
    """Return the probabilities of integers, by the means of their indicators over the noise."""
    low = tested.min() - FURTHER
    states = np.arange(low, min(tested.max(), low + MOST_STATES) + FURTHER + 1)

    def indicators(**values):
        x = real(bound(**values))
        return np.stack([(x == state) * 1.0 for state in states])

    found = average(indicators, kinds, options)
    if np.sum(found.error) > MASS_ERROR or np.sum(found.mean) < 1 - MASS_ERROR:
        return None
    there = np.flatnonzero(found.mean > 0)
    return truth_of_masses(states[there[0] : there[-1] + 1], found.mean[there[0] : there[-1] + 1])


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
    """Return the derivative of a distribution function as the density, or its steps as masses."""
    part = family.parts["cdf"]

    def log_density_of(point, support):
        def log_density(x):
            x = np.asarray(x, float)
            # no step leaves the support
            inside = np.minimum(x - support.low, support.high - x)
            width = np.minimum(np.abs(inside), 1e-3 + np.abs(x))
            with np.errstate(all="ignore"):
                slope = richardson(
                    lambda y: family.values_at(part, y, point), x, width, **DIFFERENCES
                ).value
                return np.log(np.maximum(slope / width, 1e-300))

        return log_density

    def log_mass_of(point, support):
        def log_mass(k):
            steps = family.values_at(part, k, point) - _before(family, part, k, point)
            with np.errstate(all="ignore"):
                return np.log(np.maximum(steps, 0.0))

        return log_mass

    discrete = _is_discrete(family, part)
    tried, given = supports.supports_of(family, "cdf")
    for candidate in tried:
        at = [supports.at(candidate, point) for point in family.points]
        if at[0].discrete != discrete:
            continue
        ends = np.array([_ends(family, part, p, s) for p, s in zip(family.points, at, strict=True)])
        if not np.all(np.isfinite(ends)) or not np.allclose(ends, [0, 1], atol=1e-6):
            continue
        of_point = log_mass_of if discrete else log_density_of
        truths = [truth_of(of_point(p, s), s) for p, s in zip(family.points, at, strict=True)]
        if all(abs(truth.total - 1) < 1e-5 for truth in truths):
            if not given:
                family.notes.append(f"the support {at[0]} was guessed; give support = (low, high)")
            cdfs = [
                lambda x, point=point: family.values_at(part, x, point) for point in family.points
            ]
            truths = [t._replace(known_cdf=cdf) for t, cdf in zip(truths, cdfs, strict=True)]
            return Known(truths, check_rising(family, part, at), True)
    return Known([], check_rising(family, part, None), False)


def _is_discrete(family, part):
    """Return whether only integers have mass: known from a mass function, or a cdf with steps."""
    if family.discrete:
        return True
    x = np.arange(-2.0, 12.0)
    at_integers = family.values_at(part, x, family.points[0])
    between = family.values_at(part, x + 0.5, family.points[0])
    there = np.isfinite(at_integers) & np.isfinite(between)
    rises = np.ptp(at_integers[there]) if np.any(there) else 0.0
    return bool(rises > 0.01 and np.allclose(at_integers[there], between[there], atol=1e-12))


def _before(family, part, k, point):
    """Return the distribution function just below integers; 0 below the first of them."""
    k = np.asarray(k, float)
    below = family.values_at(part, k - 1, point)
    return np.where(np.isfinite(below) & (below > 0), below, 0.0)


def _ends(family, part, point, support):
    """Return the values of a distribution function near both ends of a support."""
    low = support.low if np.isfinite(support.low) else -FAR
    high = support.high if np.isfinite(support.high) else FAR
    if support.discrete:
        values = family.values_at(part, np.array([low - 1, 0.5 * (low + high), high]), point)
        # many distribution functions of integers are not defined below the first one
        return np.array([values[0] if values[0] > 0 else 0.0, values[2]])
    gap = 1e-12 * (1 + np.abs([low, high]))
    return family.values_at(part, np.array([low + gap[0], 0.5, high - gap[1]]), point)[[0, 2]]


def check_rising(family, part, at):
    """Check that a distribution function rises from 0 to 1.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.distributions.roles.Part
        The function with its role.
    at : list of ibpcl.verify.distributions.measures.Support or None
        The supports over which it rises from 0 to 1, at each point; None if there are none.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    if at is not None:
        for point, support in zip(family.points, at, strict=True):
            low = max(support.low, -20.0)
            high = max(min(support.high, 20.0), low)
            x = np.arange(low, high + 1) if support.discrete else np.linspace(low, high, 402)[1:-1]
            values = family.values_at(part, x, point)
            if np.any(np.diff(values[np.isfinite(values)]) < -1e-9):
                words = "a distribution function never falls"
                return ForwardVerdict(part.name, "wrong", words, "not_increasing")
        words = f"rises from 0 to 1 over {at[0]}"
        return ForwardVerdict(part.name, "ok", words)
    given = family.values.get("support") is not None
    for point in family.points:
        support = supports.at(supports.supports_of(family, "cdf")[0][0], point)
        low, high = _ends(family, part, point, support)
        shown = f"it runs from {low:.6g} to {high:.6g} over {support}, not from 0 to 1"
        x = np.linspace(-20, 20, 401)
        values = family.values_at(part, x, point)
        rises = np.all(np.isfinite(values)) and np.all(np.diff(values) >= -1e-9)
        # without a support, only a function that rises everywhere is known to be wrong
        sure = given or (rises and np.isfinite(low) and np.isfinite(high))
        if sure and not np.allclose([low, high], [0, 1], atol=1e-6):
            return ForwardVerdict(part.name, "wrong", shown, "not_increasing")
        if given and np.any(np.diff(values[(x > support.low) & (x < support.high)]) < -1e-9):
            words = "a distribution function never falls"
            return ForwardVerdict(part.name, "wrong", words, "not_increasing")
    words = "it rises from 0 to 1 over no support that was tried: give support = (low, high)"
    return ForwardVerdict(part.name, "undecided", words, "undecided")


def dependents(family):
    """Return the functions of a family that its leading function determines.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.

    Returns
    -------
    parts : dict of str to ibpcl.verify.distributions.roles.Part
        Functions by role.
    """
    roles = (*DENSITIES, *OF_DISTRIBUTION, *MOMENTS, "expectation", "kl")
    first = leading(family).role
    return {
        role: family.parts[role]
        for role in roles
        if role in family
        and role != first
        and not (role == "expectation" and "integrand" not in family)
    }


def density_at(family, truths, function=None):
    """Return a function that integrates the density of a family at any point.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at the points of the family.
    function : callable, optional
        Changed version of the density.

    Returns
    -------
    density : callable
        Maps a point to a :class:`ibpcl.verify.distributions.truth.Truth`.

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
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.

    Returns
    -------
    count : int
        Number of functions.
    """
    return sum(agreement(family, truths).values())


def agreement(family, truths):
    """Return which functions of a family agree with a density; wrong ones get no name.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.

    Returns
    -------
    agree : dict of str to bool
        By role; functions that cannot be compared, and divergences, are left out.
    """
    found = {}
    for role, part in dependents(family).items():
        try:
            agrees = _agrees(family, truths, role, part)
        except (CallError, ValueError, KeyError):
            continue
        if agrees is not None:
            found[role] = agrees
    return found


def _agrees(family, truths, role, part):
    """Return whether one function agrees with a density; None if that is not known."""
    if role == "sample":
        return samplers.fits_sampler(family, truths, part)
    x = truths[0].points_at(LEVELS)
    if role in samplers.OF_CDF:
        right = samplers.OF_CDF[role].of(truths[0].cdf(x))
        return agree(family.values_at(part, x, family.points[0]), right, atol=1e-5)
    if role in DENSITIES:
        right = truths[0].log_density(x) - np.log(truths[0].total)
        right = right if role.startswith("log") else np.exp(right)
        return agree(family.values_at(part, x, family.points[0]), right, atol=1e-5)
    if role in ("quantile", "inverse_survival"):
        levels = np.array([0.2, 0.5, 0.8])
        values = family.values_at(part, levels, family.points[0])
        if truths[0].support.discrete:
            return bool(np.all(truths[0].cdf(values) >= levels - 1e-9))
        wanted = levels if role == "quantile" else 1 - levels[::-1]
        values = values if role == "quantile" else values[::-1]
        return agree(truths[0].cdf(values), wanted, 1e-6)
    if role in MOMENTS:
        right = np.array([closed_forms.moments_of(truth)[role] for truth in truths])
        if not np.all(np.isfinite(right)):
            return None
        loose = any(truth.is_rough for truth in truths)
        given = family.numbers(part)
        return agree(given, right, *((closed_forms.LOOSE,) * 2 if loose else (1e-6, 1e-7)))
    if role == "expectation":
        integrand = family.parts["integrand"]
        return closed_forms.check_expectation(family, truths, part, integrand).ok
    return None
