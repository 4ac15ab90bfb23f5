"""Laws of distribution functions, quantile functions and second densities: all are one curve."""

from functools import partial

import numpy as np

from ibpcl.verify.distributions.comparing import Comparison
from ibpcl.verify.distributions.noise import LEVELS
from ibpcl.verify.distributions.slips import Slip

# Levels of a discrete quantile function: beside those of the distribution function, and not in
# either tail.
BESIDE = 1e-6
EDGE = 1e-3
OUTSIDE = (0.3, 1.2)  # distances from a support at which a distribution function is tried
# Functions of the distribution function F: the values where F has given ones, and a name.
FORMS = {
    "cdf": (lambda f: f, "the integral of the density"),
    "survival": (lambda f: 1 - f, "1 minus the integral of the density"),
    "log_cdf": (np.log, "the logarithm of the distribution function"),
    "log_survival": (lambda f: np.log1p(-f), "the logarithm of the survival function"),
}


def of_cdf(model, part):
    """Compare a distribution function, or a function of it, with the integral of the density.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The function of the variable.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        At points inside the support, and outside if the density is 0 there.
    """
    of, witness = FORMS[part.role]
    outside = [
        _without_mass(model, part, *each) for each in zip(model.densities, model.sets, strict=True)
    ]
    inside = [density.points_at(LEVELS) for density in model.densities]
    xs = [np.sort(np.concatenate(each)) for each in zip(inside, outside, strict=True)]
    pairs = list(zip(model.densities, xs, strict=True))
    shares = np.concatenate([density.cdf(x) for density, x in pairs])
    with np.errstate(all="ignore"):
        right = of(shares)
        allowed = np.abs(of(shares + pairs[0][0].tolerance) - right)
        complement = of(1 - shares)
    # the last integer of a finite support has no mass above it
    there = np.isfinite(right) & np.isfinite(allowed)
    beyond = np.concatenate([np.isin(x, far) for x, far in zip(xs, outside, strict=True)])[there]
    densities = np.concatenate([np.exp(density.log_at(x)) for density, x in pairs])
    others = {
        Slip("complement", "1 minus the distribution function: the other tail"): complement[there],
        Slip("other_quantity", "the density, not the distribution function"): densities[there],
    }
    right = right[there]
    allowed = allowed[there]

    def values_of(function=None, sets=None):
        found = model.values_over(part, xs, function, sets)
        return found[there[: len(found)]]

    def first():
        wrongs = ~np.isclose(values_of(), right, 0, 10 * np.max(allowed))
        words = "its values outside the support are wrong: 0 belongs below it, and 1 above it"
        return Slip("outside_support", words) if np.all(beyond[wrongs]) else None

    return Comparison(
        values_of, right, allowed, model.sets, others=others, witness=witness, first=first
    )


def _without_mass(model, part, density, values):
    """Return points outside the support at which the density is 0 and a function has a value."""
    far = np.concatenate([density.outside(gap) for gap in OUTSIDE])
    if not len(far) or density.support.discrete:  # factorials have poles at negative integers
        return np.empty(0)
    with np.errstate(all="ignore"):
        zero = np.isneginf(np.asarray(density.log_density(far), float))
    return far[zero & np.isfinite(model.values_at(part, far, values))]


def second_density(model, part):
    """Compare a density with another one, such as the derivative of a distribution function.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The density.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        At points inside the support.
    """
    xs = [density.points_at(LEVELS) for density in model.densities]
    pairs = zip(model.densities, xs, strict=True)
    right = np.concatenate([density.log_at(x) for density, x in pairs])
    right = right if part.role.startswith("log") else np.exp(right)
    error = model.densities[0].tolerance
    values_of = partial(model.values_over, part, xs)
    return Comparison(values_of, right, error, model.sets, witness="the density of the others")


def quantile(model, part):
    """Compare the distribution function at quantiles with their levels.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The quantile function, or the inverse of the survival function.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        For integers, the quantiles themselves are compared.
    """
    upper = part.role == "inverse_survival"
    witness = "the inverse of the distribution function"
    kind = "not_the_inverse"
    if model.is_discrete:
        grids, right = zip(*map(_steps, model.densities), strict=True)
        grids = [1 - levels if upper else levels for levels in grids]
        values_of = partial(model.values_over, part, grids)
        right = np.concatenate(right)
        return Comparison(values_of, right, 0.0, model.sets, witness=witness, kind=kind)
    right = np.tile(1 - LEVELS if upper else LEVELS, len(model.sets))

    def values_of(function=None, sets=None):
        found = []
        for density, values in zip(model.densities, sets or model.sets, strict=False):
            x = model.values_at(part, LEVELS, values, function)
            order = np.argsort(x)
            back = np.full(len(x), np.nan)
            if np.all(np.isfinite(x)):
                back[order] = density.cdf(x[order])
            found.append(back)
        return np.concatenate(found)

    others = {Slip("complement", "the quantile of 1 - u: the other tail"): 1 - right}
    error = model.densities[0].tolerance
    return Comparison(
        values_of, right, error, model.sets, others=others, witness=witness, kind=kind
    )


def _steps(density):
    """Return levels of a sum, and the smallest integers at which they are reached.

    The levels lie a little below and above each value of the distribution function.
    """
    mass = np.cumsum(density.p * density.nodes.weights)
    steps = mass[(mass > EDGE) & (mass < 1 - EDGE)]
    levels = np.sort(np.concatenate([LEVELS, steps - BESIDE, steps + BESIDE]))
    at = np.minimum(np.searchsorted(mass, levels), len(mass) - 1)
    return levels, density.nodes.x[at]
