"""Laws of moments, entropies, modes and medians: they equal quadrature."""

from functools import partial

import numpy as np

from ibpcl.verify.distributions.comparing import EXACT, LOOSE, Comparison, passed, undecided, wrong
from ibpcl.verify.distributions.slips import Slip

FINE = 401  # points around the highest node among which the mode is


def entropy(density):
    """Return the entropy of a density.

    Parameters
    ----------
    density : ibpcl.verify.distributions.quadrature.Density
        The density.

    Returns
    -------
    entropy, error : float
        In nats; NaN if its integral does not converge.
    """
    value, error = density.expect(density.normalized)
    return -value, error


def _mean(density, of=lambda x: x):
    """Return the expectation of a function of the variable, and its error."""
    with np.errstate(all="ignore"):
        return density.expect(of(density.nodes.x))


def _central(power, density):
    mean = _mean(density)[0]
    if not np.isfinite(_mean(density, np.square)[0]):
        return np.nan, np.inf
    return _mean(density, lambda x: (x - mean) ** power)


def _variance(density):
    return _central(2, density)


def _std(density):
    value, error = _variance(density)
    return np.sqrt(value), error / (2 * np.sqrt(value)) if value > 0 else np.inf


def _standardized(power, shift, density):
    value, error = _central(power, density)
    scale = _variance(density)[0] ** (power / 2)
    return value / scale - shift, error / scale


MOMENTS = {
    "mean": _mean,
    "variance": _variance,
    "std": _std,
    "skewness": partial(_standardized, 3, 0),
    "kurtosis": partial(_standardized, 4, 3),
    "entropy": entropy,
}
# Quantities that are often computed in place of another one.
QUANTITIES = {
    "the standard deviation, not the variance": lambda d: _std(d)[0],
    "the variance, not the standard deviation": lambda d: _variance(d)[0],
    "the second moment E[x^2]: the square of the mean is not subtracted": lambda d: _mean(
        d, np.square
    )[0],
    "one over the variance: the precision": lambda d: 1 / _variance(d)[0],
    "the mean": lambda d: _mean(d)[0],
    "the median": lambda d: float(d.points_at([0.5])[0]),
    "the mode": lambda d: float(d.nodes.x[np.argmax(d.log_p)]),
    "the mean of log x": lambda d: _mean(d, np.log)[0],
    "the exponential of the mean of log x": lambda d: np.exp(_mean(d, np.log)[0]),
    "the mean of 1 / x": lambda d: _mean(d, lambda x: 1 / x)[0],
    "the root of the second moment": lambda d: np.sqrt(_mean(d, np.square)[0]),
    "the entropy of log x: the mean of log x is missing": lambda d: (
        entropy(d)[0] - _mean(d, np.log)[0]
    ),
    "the exponential of the entropy": lambda d: np.exp(entropy(d)[0]),
    "the entropy of a normal distribution of the same variance": lambda d: (
        0.5 * np.log(2 * np.pi * np.e * _variance(d)[0])
    ),
}


def _others(densities, seen=lambda density, value: value):
    """Return what stands in place of other quantities, as a law sees it, by slip."""
    with np.errstate(all="ignore"):
        return {
            Slip("other_quantity", words): np.array([seen(d, of(d)) for d in densities])
            for words, of in QUANTITIES.items()
        }


def moment(model, part):
    """Compare a moment or an entropy with quadrature.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The function of the parameters.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        Or an outcome, if the moment does not exist.
    """
    if model.densities[0].dimension > 1:
        return _of_vector(model, part)
    there, right, error = model.where_finite(map(MOMENTS[part.role], model.densities))
    if not there.sets:
        if np.all(~np.isfinite(model.numbers(part))):
            return passed(part, f"the {part.role} does not exist, and it says so")
        return undecided(part, f"the {part.role} does not exist, or its integral does not converge")
    either = {"it is the kurtosis, not the excess": right + 3} if part.role == "kurtosis" else {}
    if model.is_rough:
        error = error + LOOSE * (1 + np.abs(right))
    return Comparison(
        partial(there.numbers, part),
        right,
        error,
        there.sets,
        others=_others(there.densities),
        either=either,
    )


def _of_vector(model, part):
    """Compare a mean, a covariance or an entropy in several dimensions with quadrature."""
    if part.role not in ("mean", "variance", "std", "entropy"):
        return undecided(part, f"the {part.role} of a vector is not compared")
    right = []
    for density, values in zip(model.densities, model.sets, strict=True):
        x = density.nodes.x
        given = model.array(part, values)
        expected = np.array([density.expect(column)[0] for column in x.T])
        if part.role == "entropy":
            expected = np.array(entropy(density)[0])
        elif part.role != "mean":
            c = (x - expected).T
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


def mode(model, part):
    """Compare the density at a mode with its maximum.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The mode.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        Undecided if the density is highest at an end of its support, and the mode is not that end.
    """
    highest = []
    for density, given in zip(model.densities, model.numbers(part), strict=True):
        x = np.sort(density.nodes.x)
        at = int(np.searchsorted(x, density.nodes.x[np.argmax(density.log_p)]))
        near = x[max(at - 1, 0) : at + 2]
        fine = near if density.support.discrete else np.linspace(near[0], near[-1], FINE)
        highest.append(float(np.max(density.log_at(fine))))
        if at in (0, len(x) - 1) and not density.support.discrete:
            if given != (density.support.high if at else density.support.low):
                return undecided(part, "the density is highest at an end of its support")
            highest[-1] = np.nan  # the mode is that end, where the density may be infinite
    there, right, _ = model.where_finite([(value, 0.0) for value in highest])
    if not there.sets:
        return passed(part, "the density is highest at that end of its support")

    def seen(density, value):
        return density.log_at(np.array([value]))[0]

    found = _at_point(there, part, seen, right, EXACT, "the maximum of the density")

    def capped(function=None, sets=None):
        given = found.values(function, sets)
        return np.minimum(given, right[: len(given)])

    return found._replace(values=capped)


def median(model, part):
    """Compare the distribution function at a median with one half.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The median.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        Undecided for integers, whose median is not unique.
    """
    if model.is_discrete:
        return undecided(part, "the median of integers is not unique")

    def seen(density, value):
        return density.cdf(np.array([value]))[0]

    right = np.full(len(model.sets), 0.5)
    error = model.densities[0].tolerance
    return _at_point(model, part, seen, right, error, "one half of the probability")


def _at_point(model, part, seen, right, error, witness):
    """Compare ``seen(density, value)`` at the value of a function with right values."""

    def values_of(function=None, sets=None):
        pairs = zip(model.densities, model.numbers(part, function, sets), strict=False)
        return np.array([seen(density, value) for density, value in pairs])

    others = _others(model.densities, seen)
    return Comparison(values_of, right, error, model.sets, others=others, witness=witness)
