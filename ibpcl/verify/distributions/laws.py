"""The laws that functions of a distribution obey, in one table.

A law compares the values of a function with right ones, which follow from the distribution or from
other functions.  :data:`LAWS` at the end lists what is checked.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions import divergences, draws, transforms, unbiased
from ibpcl.verify.distributions.comparing import (
    EXACT,
    LOOSE,
    Comparison,
    judged,
    passed,
    undecided,
    wrong,
)
from ibpcl.verify.distributions.noise import LEVELS, draws_of, noise_of
from ibpcl.verify.distributions.parameters import shown, terms_of
from ibpcl.verify.distributions.quadrature import Support, integrated, of_draws
from ibpcl.verify.distributions.repair import fits_of, of_parameters, of_result
from ibpcl.verify.distributions.slips import Slip, agree
from ibpcl.verify.distributions.supports import LINES
from ibpcl.verify.distributions.vocabulary import GRADIENTS, OF_CDF, OF_DENSITY, OF_QUANTILE, OF_TWO

# Levels of a discrete quantile function: beside those of the distribution function, and not in
# either tail.
BESIDE = 1e-6
EDGE = 1e-3
OF_DRAWS = ("mean", "variance", "std")
SAMPLES = 1_000_000  # draws that replace a missing density
OUTSIDE = (0.3, 1.2)  # distances from a support at which a distribution function is tried
FINE = 401  # points around the highest node among which the mode is
RANDOM_BOUND = 3.5  # a bound that draws exceeds the log evidence by more with probability exp(-3.5)


class Law(NamedTuple):
    """What must hold for a function.

    Attributes
    ----------
    name : str
        The law as a sentence.
    judges : tuple of str
        Roles of the functions that it judges.
    needs : tuple of str
        Roles of other functions that it needs; "distribution" for a known density, "joint" for a
        joint density.
    residual : callable or None
        ``residual(model, part)`` returns a :class:`Comparison`, or an :class:`Outcome`.
    """

    name: str
    judges: tuple
    needs: tuple
    residual: object


def judge(law, model, part):
    """Judge a function by a law.

    Parameters
    ----------
    law : Law
        The law.
    model : ibpcl.verify.distributions.model.Model
        The distribution.
    part : ibpcl.verify.distributions.reading.Part
        The function.

    Returns
    -------
    outcome : Outcome
        The verdict, and a search for a name that starts later.
    """
    found = law.residual(model, part)
    return judged(part, found) if isinstance(found, Comparison) else found


def law_for(model, part):
    """Return the law that judges a function of a model; None if what it needs is missing.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The distribution.
    part : ibpcl.verify.distributions.reading.Part
        The function.

    Returns
    -------
    law : Law or None
        The first one of the table that can be applied.
    """
    there = set(model.parts)
    there |= {"distribution"} if model.densities else set()
    there |= {"joint"} if _has_joint(model) else set()
    own = (law for law in LAWS if part.role in law.judges and law.residual is not None)
    return next((law for law in own if there >= set(law.needs)), None)


# Quantities of a density: each maps it to (value, error).
def _mean(density):
    return density.expect(density.nodes.x)


def _second(density):
    return density.expect(density.nodes.x**2)


def _central(power, density):
    mean = _mean(density)[0]
    if not np.isfinite(_second(density)[0]):
        return np.nan, np.inf
    value, error = density.expect((density.nodes.x - mean) ** power)
    return value, error


def _variance(density):
    return _central(2, density)


def _std(density):
    value, error = _variance(density)
    return np.sqrt(value), error / (2 * np.sqrt(value)) if value > 0 else np.inf


def _standardized(power, shift, density):
    value, error = _central(power, density)
    scale = _variance(density)[0] ** (power / 2)
    return value / scale - shift, error / scale


def _log(density):
    positive = density.support.low >= 0 and density.nodes.x.min() > 0
    with np.errstate(all="ignore"):
        return density.expect(np.log(density.nodes.x)) if positive else (np.nan, np.inf)


def _inverse(density):
    with np.errstate(all="ignore"):
        positive = density.support.low >= 0
        return density.expect(1 / density.nodes.x) if positive else (np.nan, np.inf)


MOMENTS = {
    "mean": _mean,
    "variance": _variance,
    "std": _std,
    "skewness": partial(_standardized, 3, 0),
    "kurtosis": partial(_standardized, 4, 3),
    "entropy": divergences.entropy,
}
# Quantities that are often computed in place of a given one: the slip, and how to compute them.
IN_PLACE_OF = {
    "mean": {
        "the second moment E[x^2]": lambda d: _second(d)[0],
        "the mean of log x": lambda d: _log(d)[0],
        "the exponential of the mean of log x": lambda d: np.exp(_log(d)[0]),
        "the mean of 1 / x": lambda d: _inverse(d)[0],
        "the mode": lambda d: float(d.nodes.x[np.argmax(d.log_p)]),
        "the variance": lambda d: _variance(d)[0],
    },
    "variance": {
        "the standard deviation, not the variance": lambda d: _std(d)[0],
        "the second moment E[x^2]: the square of the mean is not subtracted": lambda d: _second(d)[
            0
        ],
        "one over the variance: the precision": lambda d: 1 / _variance(d)[0],
    },
    "std": {
        "the variance, not the standard deviation": lambda d: _variance(d)[0],
        "the root of the second moment": lambda d: np.sqrt(_second(d)[0]),
    },
    "mode": {
        "the mean": lambda d: _mean(d)[0],
        "the median": lambda d: float(d.points_at([0.5])[0]),
        "the variance": lambda d: _variance(d)[0],
    },
    "median": {
        "the mean": lambda d: _mean(d)[0],
        "the mode": lambda d: float(d.nodes.x[np.argmax(d.log_p)]),
    },
    "entropy": {
        "the entropy of log x: the mean of log x is missing": lambda d: (
            divergences.entropy(d)[0] - _log(d)[0]
        ),
        "the exponential of the entropy": lambda d: np.exp(divergences.entropy(d)[0]),
        "the entropy of a normal distribution of the same variance": lambda d: (
            0.5 * np.log(2 * np.pi * np.e * _variance(d)[0])
        ),
    },
}


def _moment(model, part):
    """Compare a moment or an entropy with quadrature."""
    if model.densities[0].dimension > 1:
        return _moment_of_vector(model, part)
    found = np.array([MOMENTS[part.role](density) for density in model.densities])
    there = np.isfinite(found[:, 0])
    if not np.any(there):
        if np.all(~np.isfinite(model.numbers(part))):
            words = f"the {part.role} does not exist, and it says so"
            return passed(part, words)
        return undecided(part, f"the {part.role} does not exist, or its integral does not converge")
    sets = tuple(values for values, keep in zip(model.sets, there, strict=True) if keep)
    densities = [density for density, keep in zip(model.densities, there, strict=True) if keep]
    others = _others(part.role, densities, lambda density, value: value)
    right = found[there, 0]
    either = {"it is the kurtosis, not the excess": right + 3} if part.role == "kurtosis" else {}
    error = found[there, 1] + (LOOSE * (1 + np.abs(right)) if model.is_rough else 0.0)
    values = _numbers(model, part, sets)
    return Comparison(
        values, right, error, sets, others=others, either=either, terms=terms_of(sets)
    )


def _others(role, densities, seen):
    """Return what stands in place of other quantities, as a law sees it, by slip."""
    with np.errstate(all="ignore"):
        return {
            Slip("other_quantity", words): np.array([seen(d, of(d)) for d in densities])
            for words, of in IN_PLACE_OF.get(role, {}).items()
        }


def _numbers(model, part, sets):
    """Return a function of a changed function, or of changed sets, to the numbers of a part."""
    return lambda function=None, changed=None: model.numbers(part, function, changed or sets)


def _moment_of_vector(model, part):
    """Compare a mean, a covariance or an entropy in several dimensions with quadrature."""
    if part.role not in ("mean", "variance", "std", "entropy"):
        return undecided(part, f"the {part.role} of a vector is not compared")
    right = []
    for density, values in zip(model.densities, model.sets, strict=True):
        x = density.nodes.x
        mean = np.array([density.expect(column)[0] for column in x.T])
        given = model.array(part, values)
        if part.role == "mean":
            expected = mean
        elif part.role == "entropy":
            expected = np.array(divergences.entropy(density)[0])
        else:
            c = (x - mean).T
            expected = np.array([[density.expect(a * b)[0] for a in c] for b in c])
            expected = np.diag(expected) if given.ndim < 2 else expected
            expected = np.sqrt(expected) if part.role == "std" else expected
        if given.shape != expected.shape:
            return wrong(part, f"it returns shape {given.shape}, expected {expected.shape}")
        if not np.all(np.isfinite(expected)):
            return undecided(part, f"the integral of its {part.role} does not converge")
        right.append(expected.ravel())

    def values_of(function=None, sets=None):
        return np.concatenate([model.array(part, v, function).ravel() for v in sets or model.sets])

    right = np.concatenate(right)
    return Comparison(values_of, right, 1e-5 * (1e-9 + np.abs(right)), model.sets)


def _moment_of_draws(model, part):
    """Compare a moment with that of the draws of a sampler, which is taken as right."""
    sampler = model.parts["sample"]
    noise = noise_of(sampler, model.sets[0])
    sets = model.sets
    drawn = [of_draws(draws_of(model, sampler, noise, each, size=SAMPLES)) for each in sets]
    found = _moment(model.having(densities=tuple(drawn)), part)
    if not isinstance(found, Comparison):
        return found
    witness = f"the draws of {sampler.name}, which were taken as right,"
    # a mean of 0 has the scale of the draws
    spread = [_std(density)[0] for density in drawn] if part.role == "mean" else 0.0
    return found._replace(witness=witness, scale=np.array(spread))


def _mode(model, part):
    """Compare the density at a mode with its maximum."""
    highest = []
    for density in model.densities:
        x = np.sort(density.nodes.x)
        at = int(np.searchsorted(x, density.nodes.x[np.argmax(density.log_p)]))
        near = x[max(at - 1, 0) : at + 2]
        fine = near if density.support.discrete else np.linspace(near[0], near[-1], FINE)
        highest.append(float(np.max(density.log_at(fine))))
        if at in (0, len(x) - 1) and not density.support.discrete:
            return undecided(part, "the density is highest at an end of its support")
    right = np.array(highest)

    def values_of(function=None, sets=None):
        modes = model.numbers(part, function, sets)
        found = [d.log_at(np.array([m]))[0] for d, m in zip(model.densities, modes, strict=False)]
        return np.minimum(found, right)

    others = _others("mode", model.densities, lambda d, mode: d.log_at(np.array([mode]))[0])
    witness = "the maximum of the density"
    return Comparison(values_of, right, EXACT, model.sets, others=others, witness=witness)


def _median(model, part):
    """Compare the distribution function at a median with one half."""
    if model.is_discrete:
        return undecided(part, "the median of integers is not unique")

    def values_of(function=None, sets=None):
        pairs = zip(model.densities, model.numbers(part, function, sets), strict=False)
        return np.array([density.cdf(np.array([median]))[0] for density, median in pairs])

    right = np.full(len(model.sets), 0.5)
    error = model.densities[0].tolerance
    others = _others("median", model.densities, lambda d, median: d.cdf(np.array([median]))[0])
    witness = "one half of the probability"
    return Comparison(values_of, right, error, model.sets, others=others, witness=witness)


class OfCdf(NamedTuple):
    """A function of the distribution function F.

    Attributes
    ----------
    of : callable
        ``of(f)`` returns the values of the function where F has the values f.
    slope : callable
        ``slope(f)`` returns its derivative with respect to F.
    words : str
        Its name, in a sentence.
    """

    of: object
    slope: object
    words: str


FORMS = {
    "cdf": OfCdf(lambda f: f, np.ones_like, "the integral of the density"),
    "survival": OfCdf(lambda f: 1 - f, np.ones_like, "1 minus the integral of the density"),
    "log_cdf": OfCdf(np.log, np.reciprocal, "the logarithm of the distribution function"),
    "log_survival": OfCdf(
        lambda f: np.log1p(-f), lambda f: 1 / (1 - f), "the logarithm of the survival function"
    ),
}


def _of_cdf(model, part):
    """Compare a distribution function, or a function of it, with the integral of the density."""
    form = FORMS[part.role]
    inside = [density.points_at(LEVELS) for density in model.densities]
    outside = [
        _without_mass(model, part, density, values)
        for density, values in zip(model.densities, model.sets, strict=True)
    ]
    xs = [np.sort(np.concatenate(each)) for each in zip(inside, outside, strict=True)]
    beyond = np.concatenate([np.isin(x, far) for x, far in zip(xs, outside, strict=True)])
    pairs = list(zip(model.densities, xs, strict=True))
    shares = np.concatenate([density.cdf(x) for density, x in pairs])
    densities = np.concatenate([np.exp(density.log_at(x)) for density, x in pairs])
    with np.errstate(all="ignore"):
        right = form.of(shares)
        allowed = model.densities[0].tolerance * form.slope(shares)
        complement = form.of(1 - shares)
    # the last integer of a finite support has no mass above it
    there = np.isfinite(right) & np.isfinite(allowed)
    others = {
        Slip("complement", "1 minus the distribution function: the other tail"): complement[there],
        Slip("other_quantity", "the density, not the distribution function"): densities[there],
    }

    def values_of(function=None, sets=None):
        found = model.values_over(part, xs, function, sets)
        return found[there[: len(found)]]

    beyond = beyond[there]

    def first():
        wrongs = ~np.isclose(values_of(), right[there], 0, 10 * np.max(allowed[there]))
        words = "its values outside the support are wrong: 0 belongs below it, and 1 above it"
        return Slip("outside_support", words) if np.all(beyond[wrongs]) else None

    return Comparison(
        values_of,
        right[there],
        allowed[there],
        model.sets,
        others=others,
        witness=form.words,
        first=first,
    )


def _without_mass(model, part, density, values):
    """Return points outside the support at which the density is 0 and a function has a value."""
    far = np.concatenate([density.outside(gap) for gap in OUTSIDE])
    if not len(far) or density.support.discrete:  # factorials have poles at negative integers
        return np.empty(0)
    with np.errstate(all="ignore"):
        zero = np.isneginf(np.asarray(density.log_density(far), float))
    return far[zero & np.isfinite(model.values_at(part, far, values))]


def _density_values(model, part):
    """Compare a density with another one, such as the derivative of a distribution function."""
    xs = [density.points_at(LEVELS) for density in model.densities]
    pairs = zip(model.densities, xs, strict=True)
    right = np.concatenate([density.log_at(x) for density, x in pairs])
    right = right if part.role.startswith("log") else np.exp(right)
    error = model.densities[0].tolerance
    values_of = partial(model.values_over, part, xs)
    return Comparison(values_of, right, error, model.sets, witness="the density of the others")


def _quantile(model, part):
    """Compare the distribution function at quantiles with their levels."""
    if model.is_discrete:
        return _discrete_quantile(model, part)
    upper = part.role == "inverse_survival"
    right = np.tile(1 - LEVELS if upper else LEVELS, len(model.sets))

    def values_of(function=None, sets=None, change=None):
        found = []
        for density, values in zip(model.densities, sets or model.sets, strict=False):
            x = model.values_at(part, LEVELS, values, function)
            x = x if change is None else change(x)
            order = np.argsort(x)
            back = np.full(len(x), np.nan)
            if np.all(np.isfinite(x)):
                back[order] = density.cdf(x[order])
            found.append(back)
        return np.concatenate(found)

    def first():
        return of_result(
            "the quantile", lambda change: agree(values_of(None, None, change), right, EXACT)
        )

    return Comparison(
        values_of,
        right,
        model.densities[0].tolerance,
        model.sets,
        others={Slip("complement", "the quantile of 1 - u: the other tail"): 1 - right},
        witness="the inverse of the distribution function",
        kind="not_the_inverse",
        first=first,
    )


def _discrete_quantile(model, part):
    """Compare quantiles with the smallest integer at which the level is reached.

    The levels lie a little below and above each value of the distribution function.
    """
    right = []
    grids = []
    for density in model.densities:
        mass = np.cumsum(density.p * density.nodes.weights)
        steps = mass[(mass > EDGE) & (mass < 1 - EDGE)]
        levels = np.sort(np.concatenate([LEVELS, steps - BESIDE, steps + BESIDE]))
        at = np.searchsorted(mass, levels)
        right.append(density.nodes.x[np.minimum(at, len(mass) - 1)])
        grids.append(1 - levels if part.role == "inverse_survival" else levels)
    values_of = partial(model.values_over, part, grids)
    witness = "the inverse of the distribution function"
    return Comparison(
        values_of, np.concatenate(right), 0.0, model.sets, witness=witness, kind="not_the_inverse"
    )


def _sampler(model, part):
    """Compare draws with the distribution, exactly if the sampler takes its noise."""
    noise = noise_of(part, model.sets[0])

    def distances(size, function=None, sets=None, change=None):
        pairs = zip(model.densities, sets or model.sets, strict=False)
        return (
            draws.distance(model, part, noise, density, values, function, change, size)
            for density, values in pairs
        )

    found = list(distances(0))
    tested = sum(each.draws for each in found)
    bad = [each for each in found if not each.ok]
    numbers = {"distance": [each.d for each in found]}
    if not bad and tested:
        from scipy.special import chdtrc

        freedom = sum(each.freedom for each in found)
        p = float(chdtrc(freedom, sum(each.statistic for each in found))) if freedom else 1.0
        if p < draws.STATISTIC:
            words = (
                f"{tested} draws at {len(found)} sets of parameters do not follow it, p = {p:.1g}"
            )
            return wrong(part, words, "sampler", numbers)
    if not bad:
        words = (
            found[0].words if len(found) == 1 else f"{found[0].words}, the first of {len(found)}"
        )
        if 0 < tested < draws.ENOUGH:
            blind = np.sqrt(draws.ENOUGH / tested) / 100
            words += (
                f"; {tested} draws do not show an error below {blind:.0%}: take the noise, such as "
                "u or eps, as an argument, or a generator and a size"
            )
            return undecided(part, words, numbers)
        return passed(part, words, numbers)

    def is_right(function=None, sets=None, change=None):
        return all(each.ok for each in distances(draws.SCREENED, function, sets, change))

    def name():
        # a change that a few draws do not reject is a name only if they reject the sampler itself
        if tested and is_right():
            return None
        flat = model.densities[0].dimension == 1
        slip = of_result("a draw", lambda change: is_right(change=change)) if flat else None
        slip = slip or of_parameters(model.sets, lambda sets: is_right(sets=sets))
        if slip is not None:
            return slip
        fits = fits_of(
            part.function,
            lambda function: draws_of(
                model, part, noise, model.sets[0], function, size=draws.SCREENED
            ),
            is_right,
            cost=_cost(noise, model),
        )
        return fits[0].slip if fits else None

    words = f"{bad[0].words} at {shown(model.sets[found.index(bad[0])])}"
    return wrong(part, words, bad[0].kind, numbers, name)


def _cost(noise, model):
    """Return the cost of one try of a changed sampler, in expressions."""
    if not noise.is_single:
        return 500
    if model.is_discrete:
        return 600
    return 800 if model.is_rough else 150


def _expectation(model, part):
    """Compare a closed form with the expectation of the integrand."""
    integrand = model.parts["integrand"]
    found = np.array(
        [
            density.expect(model.values_at(integrand, density.nodes.x, values))
            for density, values in zip(model.densities, model.sets, strict=True)
        ]
    )
    there = np.isfinite(found[:, 0])
    if not np.any(there):
        return undecided(part, f"the integral of {integrand.name} does not converge")
    sets = tuple(values for values, keep in zip(model.sets, there, strict=True) if keep)
    right, error = found[there].T
    return Comparison(_numbers(model, part, sets), right, error, sets, terms=terms_of(sets))


def log_joint(model, values):
    """Return the log joint density as a function of the latent variable.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With ``log_joint``, or with ``log_likelihood`` and ``log_prior``.
    values : dict of str to object
        Parameters by name.

    Returns
    -------
    log_joint : callable
        Maps points (M,) to values (M,).
    """
    roles = ("log_joint",) if "log_joint" in model else ("log_likelihood", "log_prior")
    return lambda z: sum(model.values_at(model.parts[role], z, values) for role in roles)


def _joints(model):
    """Return the joint densities over the support of q, or else over the first one that fits."""
    if model.densities:
        supports = [density.support for density in model.densities]
        pairs = zip(model.sets, supports, strict=True)
        return [integrated(log_joint(model, values), support) for values, support in pairs]
    for ends in LINES[:3]:
        joints = [integrated(log_joint(model, values), Support(*ends)) for values in model.sets]
        if all(joint.holes == 0 and joint.is_sharp for joint in joints):
            break
    return joints


def _evidence(model, part):
    """Compare a closed form of the log evidence with the integral of the joint density."""
    joints = _joints(model)
    totals = np.array([joint.total for joint in joints])
    error = np.array([joint.error for joint in joints]) / totals
    if not np.all(np.isfinite(totals)) or not np.all(error < EXACT):
        return undecided(part, "the integral of the joint density does not converge")
    values_of = _numbers(model, part, model.sets)
    return Comparison(values_of, np.log(totals), error, model.sets, terms=terms_of(model.sets))


def _log_evidence(model):
    """Return the log evidence at all sets; from the joint density if there is one."""
    if _has_joint(model):
        with np.errstate(all="ignore"):
            return np.log([joint.total for joint in _joints(model)])
    return model.numbers(model.parts["log_evidence"])


def _elbo(model, part):
    """Compare an ELBO with its integral over q."""
    evidence = _log_evidence(model)
    right = []
    error = []
    entropies = []
    for q, values in zip(model.densities, model.sets, strict=True):
        joint = np.asarray(log_joint(model, values)(q.nodes.x), float)
        value, of_value = q.expect(np.where(np.isfinite(joint), joint, 0.0))
        entropy, of_entropy = divergences.entropy(q)
        entropies.append(entropy)
        right.append(value + entropy)
        error.append(of_value + of_entropy)
    right = np.array(right)
    entropies = np.array(entropies)
    if not np.all(np.isfinite(right)):
        return undecided(part, "the integral of the ELBO does not converge")
    others = {
        Slip("missing_term", "the entropy of q is missing"): right - entropies,
        Slip("sign", "the entropy of q has the wrong sign"): right - 2 * entropies,
        Slip("other_quantity", "the log evidence, not the bound"): evidence,
        **_with_prior(model, right, entropies),
    }
    return Comparison(
        _numbers(model, part, model.sets),
        right,
        np.array(error),
        model.sets,
        others=others,
        witness="quadrature of the ELBO",
        terms=terms_of(model.sets),
    )


def _with_prior(model, right, entropies):
    """Return bounds with a wrong divergence from the prior, by slip; empty without a prior."""
    if "log_prior" not in model:
        return {}
    part = model.parts["log_prior"]
    pairs = list(zip(model.densities, model.sets, strict=True))
    priors = [
        integrated(lambda x, v=values: model.values_at(part, x, v), q.support)
        for q, values in pairs
    ]
    reversed_ = np.array(
        [divergences.kl(p, q)[0] for p, q in zip(priors, model.densities, strict=True)]
    )
    expected = np.array(
        [
            q.expect(np.nan_to_num(p.log_density(q.nodes.x), neginf=0.0))[0]
            for p, q in zip(priors, model.densities, strict=True)
        ]
    )
    divergence = -entropies - expected
    exchanged = "prior and posterior are exchanged in the divergence"
    return {
        Slip("reversed_divergence", exchanged): right + divergence - reversed_,
        Slip("sign", "the divergence from the prior is added, not subtracted"): right
        + 2 * divergence,
        Slip("missing_term", "the divergence from the prior is missing"): right + divergence,
    }


def _bound(model, part):
    """Compare a bound with the log evidence, which it may not exceed."""
    is_elbo = "elbo" in part.name.lower() or "lower_bound" in part.name or part.name == "bound"
    if is_elbo and model.densities and _has_joint(model):
        return _elbo(model, part)
    evidence = _log_evidence(model)
    if not np.all(np.isfinite(evidence)):
        return undecided(
            part, "the log evidence is not known: give log_joint(z, ...) or log_evidence"
        )
    given = model.numbers(part)
    over = given - evidence
    at = int(np.argmax(over))
    numbers = {"bound": given, "log_evidence": evidence}
    above = f"{given[at]:.6g} lies above the log evidence {evidence[at]:.6g}"
    if not np.all(np.isfinite(given)):
        return wrong(part, "it is not finite", "non_finite", numbers)
    if np.all(over <= EXACT * (1 + np.abs(evidence))):
        words = f"below the log evidence at {len(given)} points, by {-over.max():.3g} at least"
        return passed(part, words, numbers)
    if _draws(part) and not np.all(over > RANDOM_BOUND):
        return undecided(part, f"{above}, but it draws random numbers", numbers)
    return wrong(part, above, "not_a_bound", numbers)


def _has_joint(model):
    return "log_joint" in model or {"log_likelihood", "log_prior"} <= set(model.parts)


def _draws(part):
    """Return whether a function seems to draw random numbers."""
    names = part.function.__code__.co_names if hasattr(part.function, "__code__") else ()
    return any("rand" in name or "rng" in name or "normal" in name for name in names)


# The density of a transformed variable is judged even if it is the leading function.
PUSHED = Law(
    "log p(y) = log p(x) - log |det dy/dx|",
    ("log_density",),
    ("transform", "base"),
    transforms.pushed,
)
# The first two laws decide what the distribution is; ibpcl.verify.distributions.leads has them.
LAWS = (
    Law("a density integrates, or sums, to 1", OF_DENSITY, (), None),
    Law("a cdf rises from 0 to 1", ("cdf",), (), None),
    Law("two densities are equal", OF_DENSITY, ("distribution",), _density_values),
    Law("a cdf is the integral of the density", OF_CDF, ("distribution",), _of_cdf),
    Law("a quantile inverts the cdf", OF_QUANTILE, ("distribution",), _quantile),
    Law("draws follow the distribution", ("sample",), ("distribution",), _sampler),
    Law("moments and entropy equal quadrature", tuple(MOMENTS), ("distribution",), _moment),
    Law("moments are those of the draws", OF_DRAWS, ("sample",), _moment_of_draws),
    Law("the density is highest at the mode", ("mode",), ("distribution",), _mode),
    Law("half of the probability is below the median", ("median",), ("distribution",), _median),
    Law("E[g] is the mean of g", ("expectation",), ("distribution", "integrand"), _expectation),
    Law("a divergence equals quadrature", OF_TWO, ("distribution",), divergences.compared),
    Law("log evidence is the log of an integral", ("log_evidence",), ("joint",), _evidence),
    Law("an ELBO equals its integral", ("bound",), ("joint",), _bound),
    Law("a bound lies below the log evidence", ("bound",), ("log_evidence",), _bound),
    Law("an inverse brings every point back", ("inverse",), ("transform",), transforms.inverse),
    Law("log_jacobian is log |det dy/dx|", ("log_jacobian",), ("transform",), transforms.jacobian),
    PUSHED,
    Law("an estimator is unbiased", ("estimator",), ("expectation",), unbiased.estimator),
    Law("so is that of a gradient", GRADIENTS, ("expectation",), unbiased.gradient),
)
