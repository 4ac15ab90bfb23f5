"""Checks of estimators: their mean over the noise is an expectation, or its derivative."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions import noise as noises
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calling import CallError
from ibpcl.verify.distributions.samplers import STANDARD_ERRORS, VISIBLE, compared
from ibpcl.verify.distributions.slips import agree
from ibpcl.verify.distributions.verdicts import ForwardVerdict

GRADIENT_ROLES = ("gradient_estimator", "score_function", "reparameterized")
# A right estimator may differ by its rounded constants: relative to the right value, and to the
# mean size of one draw.
ROUNDED = 1e-5
ROUNDED_DRAW = 1e-8
ERRORS = 3  # multiple of the error of an integral above which a gap is a bias
# Largest error of a mean, relative to the right value, that shows the estimator to be unbiased.
DECISIVE = 1e-3
DRAWS = 1_000_000
# Largest step, relative to 1 + |parameter|, and one tableau of four differences.
DIFFERENCES = {"h": 1e-3, "levels": 4, "restarts": 1, "noise": 0.0}
# Costs of one mean, in expressions that take as long: over one noise variable, and over two.
COST = {1: 2_000, 2: 200_000}


class Values(NamedTuple):
    """Numbers with their errors, at N points.

    Attributes
    ----------
    value, error : ndarray, shape (N, K)
        K numbers at each point, and estimates of their absolute errors.
    """

    value: np.ndarray
    error: np.ndarray


def check_estimator(family, part, expectation):
    """Check that the mean of an estimator over its noise is the expectation.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.distributions.roles.Part
        The function ``estimator(noise, ...)``.
    expectation : ibpcl.verify.distributions.roles.Part
        Closed form of the expectation.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.

    Raises
    ------
    CallError
        If the estimator cannot be called, or returns several numbers.
    """
    right = family.numbers(expectation)[:, None]
    noise = noises.noise_of(part, family.parameters)
    if not noise.is_integrable:
        return _by_draws(family, part, noise, expectation, right[:, 0])
    averages = [_average(family, part, noise, point) for point in family.points]
    outputs = len(averages[0].mean)
    if outputs != 1:
        raise CallError(f"it returns {outputs} numbers, expected one")
    exact = Values(right, np.zeros_like(right))
    return _judged(family, part, noise, averages, exact, [expectation.name])


def check_gradient_estimators(family, expectation):
    """Check estimators of the gradient of an expectation, and note their variances.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    expectation : ibpcl.verify.distributions.roles.Part
        Closed form of the expectation.

    Returns
    -------
    verdicts : list of ForwardVerdict
        One verdict for each function.
    """
    rows = [_gradient(family, expectation, point) for point in family.points]
    right = Values(*(np.array(column) for column in zip(*rows, strict=True)))
    found = []
    for role in GRADIENT_ROLES:
        if role in family:
            part = family.parts[role]
            try:
                found.append(_check_gradient(family, part, expectation, right))
            except CallError as error:
                found.append(ForwardVerdict(part.name, "undecided", str(error), "undecided"))
    spreads = {item.name: item.numbers["variance"] for item in found if "variance" in item.numbers}
    if len(spreads) > 1:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in spreads.items())
        family.notes.append(f"variance of one draw, summed over the parameters: {shown}")
    return found


def _average(family, part, noise, point, function=None):
    """Return the mean of an estimator at a point, with its error and variance."""
    bound = family.bound(part, point, function)
    options = {key: point[key] for key in part.names if key in point}
    return average(bound, noise.kinds, options)


def _gradient(family, expectation, point):
    """Return the derivatives of an expectation with respect to its arguments, and their errors."""
    found = []
    errors = []
    for name in expectation.names:

        def value(x, name=name):
            return np.asarray(family.value(expectation, {**point, name: float(x)}))

        x = np.asarray(float(point[name]))
        width = 1 + np.abs(x)
        slope = richardson(value, x, width, **DIFFERENCES)
        found.append(float(slope.value / width))
        errors.append(float(slope.error / width))
    return found, errors


def _check_gradient(family, part, expectation, right):
    """Return the verdict on one estimator of a gradient."""
    noise = noises.noise_of(part, family.parameters)
    if not noise.is_integrable:
        raise CallError("its noise must be one or two arguments, such as eps or u")
    averages = [_average(family, part, noise, point) for point in family.points]
    names = expectation.names
    outputs = len(averages[0].mean)
    if outputs not in (1, len(names)):
        words = f"it returns {outputs} numbers, expected {len(names)}: one for each of "
        return ForwardVerdict(part.name, "wrong", words + ", ".join(names), "wrong")
    if outputs < len(names):
        given = np.array([each.mean[0] for each in averages])
        fits = [n for n in range(len(names)) if agree(given, right.value[:, n], ROUNDED, ROUNDED)]
        chosen = slice(fits[0], fits[0] + 1) if fits else slice(0, 1)
        right = Values(right.value[:, chosen], right.error[:, chosen])
        names = names[chosen]
    return _judged(family, part, noise, averages, right, names)


def _judged(family, part, noise, averages, right, names):
    """Return the verdict on an estimator whose means are known, by the errors of both sides."""
    given = np.array([each.mean for each in averages])
    own = np.array([each.error for each in averages])
    size = np.nan_to_num([each.size for each in averages])
    error = own + right.error
    with np.errstate(all="ignore"):
        gap = np.abs(given - right.value)
        allowed = ROUNDED * np.abs(right.value) + ROUNDED_DRAW * size + ERRORS * error
        # a gradient of zero has the scale of the draws
        scale = np.maximum(np.abs(right.value), VISIBLE * size)
    variance = float(np.sum(averages[0].variance))
    numbers = {
        "mean": given,
        "error": own,
        "right": right.value,
        "error_of_right": right.error,
        "variance": variance,
    }
    off = ~np.isfinite(given) | (gap > allowed)
    if not np.any(off):
        unclear = ~(error <= DECISIVE * scale)
        if np.any(unclear):
            at = np.unravel_index(np.argmax(unclear), unclear.shape)
            words = (
                f"its mean is known to {_shown(given[at], own[at])} only, and the right value to "
                f"{_shown(right.value[at], right.error[at])}: it has too many jumps, or no mean"
            )
            return ForwardVerdict(part.name, "undecided", words, "undecided", numbers)
        words = (
            f"unbiased for {', '.join(names)}, its mean is known to {float(np.max(own)):.0e}; "
            f"variance {variance:.4g} at the first parameters"
        )
        return ForwardVerdict(part.name, "ok", words, "ok", numbers)

    def values(function=None, every=None):
        means = [
            _average(family, part, noise, point, function).mean for point in every or family.points
        ]
        return np.concatenate([mean[: given.shape[1]] for mean in means])

    verdict = compared(
        part,
        given.ravel(),
        right.value.ravel(),
        values,
        {},
        {},
        family.points,
        "biased",
        cost=COST[len(noise.kinds)],
    )
    verdict.numbers = numbers
    at = np.unravel_index(np.argmax(off), off.shape)
    biased = [name for name, each in zip(names, np.any(off, axis=0), strict=True) if each]
    verdict.words = (
        f"biased for {', '.join(biased)}: {verdict.words}; the mean is known to {own[at]:.0e}"
    )
    return verdict


def _shown(value, error):
    return f"{value:.6g} +- {error:.0e}"


def _by_draws(family, part, noise, expectation, right):
    """Return the verdict on an estimator that draws random numbers, by the mean of its draws."""
    worst = None
    blind = 0.0
    for point, value in zip(family.points, right, strict=True):
        draws = noises.draws_of(family, part, noise, point, size=DRAWS)
        mean = float(np.mean(draws))
        spread = float(np.std(draws))
        error = spread / np.sqrt(len(draws))
        # a right value of zero has the scale of the draws
        scale = abs(value) if abs(value) > VISIBLE * spread else spread
        blind = max(blind, STANDARD_ERRORS * error / max(scale, 1e-300))
        away = abs(mean - value) / max(error, 1e-12 * abs(value), 1e-300)
        if worst is None or not away <= worst[0]:
            worst = (away, mean, value, error)
    away, mean, value, error = worst
    numbers = {"mean": mean, "right": value, "standard_error": error}
    if not away <= STANDARD_ERRORS:
        words = f"its mean is {_shown(mean, error)}, {expectation.name} is {value:.5g}"
        return ForwardVerdict(part.name, "wrong", words, "biased", numbers)
    words = f"its mean is {expectation.name} within {away:.1f} standard errors"
    if blind > VISIBLE:
        words += f", which would not show a bias below {blind:.0%}: take the noise as an argument"
        return ForwardVerdict(part.name, "undecided", words, "undecided", numbers)
    return ForwardVerdict(part.name, "ok", words, "ok", numbers)
