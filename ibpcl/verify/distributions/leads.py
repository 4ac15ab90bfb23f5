"""The distribution that a function determines: a density, or a distribution function.

A density is integrated over its support.  A support that is not given is guessed as the one over
which the integral is 1.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions import parameters as sets_of
from ibpcl.verify.distributions.calls import CallError, quiet, real
from ibpcl.verify.distributions.model import FEW_SETS, MOST_DIMENSIONS, Model
from ibpcl.verify.distributions.noise import draws_of, noise_of
from ibpcl.verify.distributions.quadrature import DIFFERENCES, integrated
from ibpcl.verify.distributions.supports import Candidate, beyond, candidates, inside

MOST_HOLES = 0.25  # share of a support in which a density may be NaN
PROBES = 16  # points of a support at which a density of a vector is tried first
SHARP = 2  # quality of an integral with a small error
MOST_PLAUSIBLE = 2  # supports over which a repair is searched beside the best one
FAR = 1e8  # where a distribution function is at the end of an infinite support
MISSED = 0.05  # mass of narrow modes that two rules of integration may not see differently
CLIPPED = 1e-3  # largest error of an integral that a clipped argument explains


class Lead(NamedTuple):
    """The distribution of a leading function.

    Attributes
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities; without any, they are not known.
    state : {"right", "wrong", "open"}
        What the integral says about the leading function.
    words : str
        The reason as a sentence; empty if the function was taken as right.
    candidate : Candidate or None
        The support of a density.
    notes : tuple of str
        Assumptions.
    plausible : tuple of Candidate
        Other supports in which the density is defined everywhere.
    """

    model: Model
    state: str
    words: str = ""
    candidate: Candidate | None = None
    notes: tuple = ()
    plausible: tuple = ()


class Rank(NamedTuple):
    """What speaks for a support over which the integral of a density is not 1.

    Attributes
    ----------
    some : int
        Number of sets of parameters at which it is 1, if there are several.
    is_natural : bool
        Whether the support is discrete if the first one is.
    ends : bool
        Whether the density is defined inside, and NaN or 0 outside of finite ends.
    is_fixed : bool
        Whether the support does not depend on parameters.
    quality : int
        2 for an integral with a small error, 1 for a finite one.
    holes : float
        Minus the share of the support in which the density is NaN.
    is_whole : bool
        Whether the support is a line without ends; integers mostly begin somewhere.
    """

    some: int
    is_natural: bool
    ends: bool
    is_fixed: bool
    quality: int
    holes: float
    is_whole: bool


def by_density(models, part):
    """Return the distribution of a density, for the likeliest parameters and support.

    Parameters
    ----------
    models : list of ibpcl.verify.distributions.model.Model
        The models to try, without densities.
    part : ibpcl.verify.distributions.reading.Part
        The density.

    Returns
    -------
    lead : Lead
        Right if one model and support make its integral 1, at all sets of parameters.
    """
    best = None
    for model in models:
        model = model.having(lead=part)
        if model.dimension > MOST_DIMENSIONS:
            words = (
                f"its variable has {model.dimension} dimensions; {MOST_DIMENSIONS} are integrated"
            )
            return Lead(model, "open", words)
        try:
            found, rank = _over_supports(model, part)
        except CallError as error:
            found = Lead(model, "open", str(error))
            rank = None
        # a vector: other domains of its parameters would take too long
        is_sharp = model.dimension > 1 and rank is not None and rank.quality == SHARP
        if found.state == "right" or is_sharp:
            return found
        key = rank[:5] if rank is not None else ()
        if best is None or key > best[1]:
            best = (found, key)
    return best[0]


def _over_supports(model, part):
    """Return the lead over the best support, with its rank among those of other models."""
    best = None
    rough = None
    is_discrete = None
    plausible = []
    for candidate in candidates(model, part):
        densities = _screened(model, part, candidate, rough is None)
        if not densities or (rough is not None and densities[0].support.discrete):
            continue
        if all(density.is_one for density in densities):
            if candidate.is_known or _is_supported(model, candidate, densities):
                # a jump inside means that a narrower support is the right one
                is_rough = any(density.is_rough for density in densities)
                if not is_rough:
                    return _right(model, part, candidate, densities), None
                rough = rough or (candidate, densities)
            continue
        is_discrete = densities[0].support.discrete if is_discrete is None else is_discrete
        rank = _rank(candidate, densities, is_discrete)
        if rank.holes == 0 and rank.is_natural and rank.is_fixed:
            plausible.append(candidate)
        if best is None or rank > best[0]:
            best = (rank, candidate, densities)
        if model.dimension > 1 and rank.is_whole and rank.quality and rank.holes == 0:
            break  # finite everywhere: no other support in several dimensions
    if rough is not None:
        return _right(model, part, *rough), None
    if best is None:
        raise CallError("it can't be evaluated over any support: give support = (low, high)")
    rank, candidate, densities = best
    if model.dimension == 1 or len(densities) < len(model.sets):
        densities = densities_of(model, part, candidate)
    found = _not_one(known_as(model, part, candidate, densities), part, candidate)
    return found._replace(plausible=tuple(plausible[:MOST_PLAUSIBLE])), rank


def _screened(model, part, candidate, adapt):
    """Return a density over a support, at all sets only if its integral is 1 at one of the first.

    It is empty if the density can't be evaluated.
    """
    target = 1.0 if candidate.depends else None  # there are many of these
    try:
        if model.dimension > 1 and not _is_defined(model, part, candidate):
            return ()
        count = FEW_SETS if model.dimension == 1 else 1
        over = partial(densities_of, model, part, candidate, adapt, target=target)
        densities = over(sets=model.sets[:count])
        if any(density.is_one for density in densities) and len(model.sets) > count:
            densities += over(sets=model.sets[count:])
    except (CallError, KeyError, IndexError):
        return ()
    return densities


def _rank(candidate, densities, is_discrete):
    """Return what speaks for a support over which the integral of a density is not 1."""
    support = densities[0].support
    ones = sum(density.is_one for density in densities)
    totals = np.array([density.total for density in densities])
    good = bool(np.all(np.isfinite(totals)) and np.all(totals > 0))
    sharp = good and all(density.is_sharp for density in densities)
    missing = float(np.mean([density.holes for density in densities]))
    bounded = bool(np.any(np.isfinite(support[:2])))
    return Rank(
        ones if ones > 1 else 0,
        support.discrete == is_discrete,
        bounded and not support.discrete and missing == 0 and _end_by_themselves(densities),
        not candidate.depends,
        SHARP if sharp else int(good),
        -round(missing, 2),
        not bounded and not support.discrete,
    )


def _is_defined(model, part, candidate):
    """Return whether a density of a vector is defined at most of a few points of a support."""
    rng = np.random.default_rng(0)
    x = inside(candidate.at(model.sets[0]), rng.normal(size=(PROBES, model.dimension)))
    found = model.values_at(part, x, model.sets[0])
    return bool(np.mean(np.isnan(found)) <= MOST_HOLES)


def densities_of(model, part, candidate, adapt=True, function=None, sets=None, target=None):
    """Return a density over a support at all sets of parameters.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The model.
    part : ibpcl.verify.distributions.reading.Part
        The density.
    candidate : Candidate
        The support.
    adapt : bool
        Whether the density may have kinks and jumps.
    function : callable, optional
        Changed version of the density.
    sets : sequence of dict, optional
        Sets of parameters; by default those of the model.
    target : float, optional
        Expected integral, as in :func:`ibpcl.verify.distributions.quadrature.integrated`.

    Returns
    -------
    densities : tuple of ibpcl.verify.distributions.quadrature.Density
        One for each set.
    """
    return tuple(
        integrated(
            model.log_density(part, values, function),
            candidate.at(values),
            model.dimension,
            adapt,
            [value for value in values.values() if np.ndim(value) == 0],
            target,
        )
        for values in sets or model.sets
    )


def known_as(model, part, candidate, densities, function=None):
    """Return a model whose distribution is that of a density over a support.

    Parameters
    ----------
    model, part, candidate
        As in :func:`densities_of`.
    densities : tuple of ibpcl.verify.distributions.quadrature.Density
        The density at all sets.
    function : callable, optional
        As in :func:`densities_of`.

    Returns
    -------
    model : ibpcl.verify.distributions.model.Model
        The model with its density.
    """

    def at(values):
        return densities_of(model, part, candidate, True, function, [values])[0]

    discrete = densities[0].support.discrete
    return model.having(lead=part, densities=densities, at=at, is_discrete=discrete)


def _right(model, part, candidate, densities):
    """Return the lead of a density whose integral is 1, unless it is NaN somewhere."""
    first = candidate.at(model.sets[0])
    where = f"{first} at the first parameters" if candidate.depends else str(first)
    how = "sums" if first.discrete else "integrates"
    number = len(model.sets)
    sets = "" if number == 1 else f" for {number} sets of parameters"
    known = known_as(model, part, candidate, densities)
    notes = () if candidate.is_known else (_guess_of(where),)
    for density, values in zip(densities, model.sets, strict=True):
        x = density.points_at(np.linspace(0.03, 0.97, 41))
        bad = np.flatnonzero(np.isnan(density.log_density(x)))
        if len(bad):
            words = f"it is NaN at {x[bad[0]]} for {sets_of.shown(values)}, where there is mass"
            return Lead(known, "wrong", words, candidate, notes)
        other = density.repeated(MISSED)
        if abs(other - 1) > MISSED:
            words = f"{how} to 1 over {where}, but another rule gives {other:.6g}: give parameters"
            return Lead(known.having(densities=()), "open", words, candidate, notes)
    return Lead(known, "right", f"{how} to 1 over {where}{sets}", candidate, notes)


def _guess_of(where):
    return f"the support {where} was guessed; give support = (low, high), or range(low, high + 1)"


def _not_one(model, part, candidate):
    """Return the lead of a density whose integral is not 1 over the best support."""
    densities = model.densities
    support = candidate.at(model.sets[0])
    notes = () if candidate.is_known else (_guess_of(support),)

    def lead(state, words, chosen=model):
        return Lead(chosen, state, words, candidate, notes)

    bare = model.having(densities=())
    totals = np.array([density.total for density in densities])
    if max(density.holes for density in densities) > MOST_HOLES or not np.all(np.isfinite(totals)):
        return lead("open", _unmeasured(model, part, support), bare)
    how = "sums" if support.discrete else "integrates"
    gaps = np.abs(totals - 1)
    at = int(np.argmax(gaps))
    plain = f"{how} to {_digits(totals[at])}"
    plain += "" if np.ptp(totals) <= 1e-6 * totals.max() else f" at {sets_of.shown(model.sets[at])}"
    plain += f" over {densities[at].support}, not to 1"
    if not all(density.is_sharp for density in densities):
        words = f"its integral over {support} does not converge (about {_digits(totals[at])})"
        return lead("open", f"{words}: give support, or look for a sign that makes it grow", bare)
    ones = [density.is_one for density in densities]
    if sum(ones) > 1 and not model.is_given:
        right = model.having(
            sets=tuple(v for v, one in zip(model.sets, ones, strict=True) if one),
            densities=tuple(d for d, one in zip(densities, ones, strict=True) if one),
        )
        return lead("open", f"{plain}, but to 1 at {sum(ones)} other sets: give parameters", right)
    if gaps[at] <= 10 * densities[at].error:
        return lead("open", f"{plain}, but the integral is only known to {densities[at].error:.0e}")
    other = densities[at].repeated(0.1 * gaps[at])
    if abs(other - totals[at]) > 0.1 * gaps[at]:
        return lead("open", f"{plain}, but another rule gives {_digits(other)}", bare)
    if gaps[at] <= CLIPPED and all(_is_clipped(density) for density in densities):
        return lead("open", f"{plain}: its argument is clipped")
    if candidate.is_known or _end_by_themselves(densities) or _is_confirmed(model):
        return lead("wrong", plain)
    return lead(
        "open", f"{plain}, nor over another support that was tried: give support = (low, high)"
    )


def _digits(total):
    """Return an integral with enough digits to differ from 1."""
    return f"{total:.6g}" if abs(total - 1) > 1e-5 else f"{total:.9f}"


def _unmeasured(model, part, support):
    """Return why the integral of a density is not finite."""
    pairs = zip(model.densities, model.sets, strict=True)
    bad = (pair for pair in pairs if not np.isfinite(pair[0].total) or pair[0].holes > 0)
    density, values = next(bad)
    x = density.nodes.x
    where = f"for {sets_of.shown(values)}"
    if np.all(np.isnan(density.raw)):
        try:
            called_ = model.callable_of(part, values)
            real(quiet(called_, x[len(x) // 2], **model.options(part, values)))
        except CallError as error:
            return f"{error}, {where}"
        return f"it is NaN everywhere in {support} {where}"
    if np.any(np.isposinf(density.log_p)):
        at = x[np.argmax(density.log_p)]
        return f"it is infinite at {at} {where}: a point mass, or a sign that is wrong"
    if np.any(np.isnan(density.raw)):
        return f"it is NaN at {x[np.argmax(np.isnan(density.raw))]} {where}, inside {support}"
    return f"its integral over {support} is infinite {where}: look for a sign"


def _is_clipped(density):
    """Return whether a density is constant outside its support, as if its argument were clipped."""
    near = np.asarray(density.log_density(density.outside(0.5)), float)
    far = np.asarray(density.log_density(density.outside(1.5)), float)
    return len(near) > 0 and bool(np.all(np.isfinite(near)) and np.allclose(near, far))


def _end_by_themselves(densities):
    """Return whether densities are NaN or 0 outside of their guessed supports."""
    for density in densities:
        support = density.support
        if density.dimension > 1:
            x = beyond(support, density.dimension)
        else:
            x = np.concatenate([density.outside(0.7), density.outside(1e-3)])
        if len(x) and np.any(np.isfinite(np.asarray(density.log_density(x), float))):
            return False
    return True


def _is_confirmed(model):
    """Return whether another function confirms a guessed support.

    The distribution function is 0 and 1 at its ends, or all draws of the sampler lie inside.
    """
    for density, values in zip(model.densities, model.sets, strict=True):
        support = density.support
        try:
            if "cdf" in model and np.allclose(
                _ends(model, model.parts["cdf"], values, support), [0, 1]
            ):
                continue
            is_share = support.simplex and "mean" in model
            if is_share and np.isclose(np.sum(model.array(model.parts["mean"], values)), 1):
                continue
            if "sample" not in model:
                return False
            part = model.parts["sample"]
            noise = noise_of(part, model.parameters)
            draws = draws_of(model, part, noise, values, size=2000)
        except CallError:
            return False
        if not np.all((draws >= support.low) & (draws <= support.high)):
            return False
        if support.simplex and not np.allclose(np.sum(draws, axis=-1), 1):
            return False
    return True


def _is_supported(model, candidate, densities):
    """Return whether a support made from parameters has evidence besides the integral.

    The density is 0 or NaN just outside, or the distribution function is 0 and 1 at the ends.
    """
    if not candidate.depends or densities[0].support.discrete:
        return True
    for density, values in zip(densities, model.sets, strict=True):
        with np.errstate(all="ignore"):
            outside = np.exp(np.asarray(density.log_density(density.outside(1e-3)), float))
            top = np.exp(np.nanmax(density.log_p))
        if np.all(~np.isfinite(outside) | (outside < 1e-3 * top)):
            continue
        if "cdf" not in model:
            return False
        ends = _ends(model, model.parts["cdf"], values, density.support)
        if not np.allclose(ends, [0, 1], atol=1e-6):
            return False
    return True


def by_cdf(model, part):
    """Return the distribution whose density is the derivative of a distribution function.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        Without densities.
    part : ibpcl.verify.distributions.reading.Part
        The distribution function.

    Returns
    -------
    lead : Lead
        Right if it rises from 0 to 1.
    """
    discrete = model.is_discrete or _has_steps(model, part)
    model = model.having(lead=part, is_discrete=discrete)
    for candidate in candidates(model, part):
        supports = [candidate.at(values) for values in model.sets]
        if supports[0].discrete != discrete:
            continue
        pairs = list(zip(model.sets, supports, strict=True))
        ends = np.array([_ends(model, part, *pair) for pair in pairs])
        if not np.all(np.isfinite(ends)) or not np.allclose(ends, [0, 1], atol=1e-6):
            continue

        def at(values, candidate=candidate):
            density = _derivative(model, part, values, candidate.at(values))
            return density._replace(known_cdf=lambda x: model.values_at(part, x, values))

        densities = tuple(at(values) for values in model.sets)
        if all(abs(density.total - 1) < 1e-5 for density in densities):
            known = model.having(densities=densities, at=at)
            notes = () if candidate.is_known else (_guess_of(supports[0]),)
            if any(_falls(model, part, *pair) for pair in pairs):
                return Lead(known, "wrong", "a distribution function never falls", candidate, notes)
            return Lead(known, "right", f"rises from 0 to 1 over {supports[0]}", candidate, notes)
    words = "it rises from 0 to 1 over no support that was tried: give support = (low, high)"
    return Lead(model, "open", words)


def _falls(model, part, values, support):
    low = max(support.low, -20.0)
    high = max(min(support.high, 20.0), low)
    x = np.arange(low, high + 1) if support.discrete else np.linspace(low, high, 402)[1:-1]
    found = model.values_at(part, x, values)
    return bool(np.any(np.diff(found[np.isfinite(found)]) < -1e-9))


def _has_steps(model, part):
    """Return whether a distribution function is constant between integers."""
    x = np.arange(-2.0, 12.0)
    at_integers = model.values_at(part, x, model.sets[0])
    between = model.values_at(part, x + 0.5, model.sets[0])
    there = np.isfinite(at_integers) & np.isfinite(between)
    rises = np.ptp(at_integers[there]) if np.any(there) else 0.0
    return bool(rises > 0.01 and np.allclose(at_integers[there], between[there], atol=1e-12))


def _derivative(model, part, values, support):
    """Return the density of a distribution function: its derivative, or its steps."""

    def log_density(x):
        x = np.asarray(x, float)
        # no step leaves the support
        inside = np.minimum(x - support.low, support.high - x)
        width = np.minimum(np.abs(inside), 1e-3 + np.abs(x))
        with np.errstate(all="ignore"):
            slope = richardson(lambda y: model.values_at(part, y, values), x, width, **DIFFERENCES)
            return np.log(np.maximum(slope.value / width, 1e-300))

    def log_mass(k):
        k = np.asarray(k, float)
        below = model.values_at(part, k - 1, values)
        below = np.where(np.isfinite(below) & (below > 0), below, 0.0)
        with np.errstate(all="ignore"):
            return np.log(np.maximum(model.values_at(part, k, values) - below, 0.0))

    return integrated(log_mass if support.discrete else log_density, support)


def _ends(model, part, values, support):
    """Return the values of a distribution function near both ends of a support."""
    low = support.low if np.isfinite(support.low) else -FAR
    high = support.high if np.isfinite(support.high) else FAR
    if support.discrete:
        found = model.values_at(part, np.array([low - 1, 0.5 * (low + high), high]), values)
        # many distribution functions of integers are not defined below the first one
        return np.array([found[0] if found[0] > 0 else 0.0, found[2]])
    gap = 1e-12 * (1 + np.abs([low, high]))
    return model.values_at(part, np.array([low + gap[0], 0.5, high - gap[1]]), values)[[0, 2]]
