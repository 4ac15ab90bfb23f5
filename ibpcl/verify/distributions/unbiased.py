"""Estimators: their mean over the noise is an expectation, or its derivative."""

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions import noise as noises
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calls import CallError
from ibpcl.verify.distributions.comparing import Outcome, undecided, wrong
from ibpcl.verify.distributions.draws import STANDARD_ERRORS
from ibpcl.verify.distributions.repair import name_of_values
from ibpcl.verify.distributions.report import ForwardVerdict
from ibpcl.verify.distributions.slips import agree

# A right estimator may differ by its rounded constants: relative to the right value, and to the
# mean size of one draw.
ROUNDED = 1e-5
ROUNDED_DRAW = 1e-8
ERRORS = 3  # multiple of the error of an integral above which a gap is a bias
# Largest error of a mean, relative to the right value, that shows the estimator to be unbiased.
DECISIVE = 1e-3
VISIBLE = 0.01  # largest bias that draws may leave invisible
DRAWS = 1_000_000
# Largest step, relative to 1 + |parameter|, and one tableau of four differences.
DIFFERENCES = {"h": 1e-3, "levels": 4, "restarts": 1, "noise": 0.0}
# Costs of one mean, in expressions that take as long: over one noise variable, and over two.
COST = {1: 2_000, 2: 200_000}


def _average(model, part, noise, values, function=None):
    """Return the mean of an estimator, with its error and variance."""
    options = {key: values[key] for key in part.names if key in values}
    return average(model.callable_of(part, values, function), noise.kinds, options)


def estimator(model, part):
    """Compare the mean of an estimator with the expectation.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With ``expectation``.
    part : ibpcl.verify.distributions.reading.Part
        The function ``estimator(noise, ...)``.

    Returns
    -------
    outcome : ibpcl.verify.distributions.comparing.Outcome
        By integrals over the noise; by draws if the noise is not an argument.
    """
    expectation = model.parts["expectation"]
    noise = noises.noise_of(part, model.sets[0])
    right = model.numbers(expectation)
    if not noise.is_integrable:
        return _by_draws(model, part, noise, expectation, right)
    averages = [_average(model, part, noise, values) for values in model.sets]
    if any(len(each.mean) != 1 for each in averages):
        return wrong(part, f"it returns {len(averages[0].mean)} numbers, expected one")
    error = np.zeros((len(right), 1))
    return _judged(model, part, noise, averages, right[:, None], error, [expectation.name])


def gradient(model, part):
    """Compare the mean of an estimator with the derivative of the expectation.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With ``expectation``.
    part : ibpcl.verify.distributions.reading.Part
        The estimator, with one number for each argument of the expectation, or for one of them.

    Returns
    -------
    outcome : ibpcl.verify.distributions.comparing.Outcome
        By integrals over the noise.

    Raises
    ------
    CallError
        If the noise is not one or two arguments.
    """
    expectation = model.parts["expectation"]
    noise = noises.noise_of(part, model.sets[0])
    if not noise.is_integrable:
        raise CallError("its noise must be one or two arguments, such as eps or u")
    rows = np.array([_slopes(model, expectation, values) for values in model.sets])
    right = rows[..., 0]
    error = rows[..., 1]
    averages = [_average(model, part, noise, values) for values in model.sets]
    names = expectation.names
    outputs = len(averages[0].mean)
    if outputs not in (1, len(names)):
        words = f"it returns {outputs} numbers, expected {len(names)}: one for each of "
        return wrong(part, words + ", ".join(names))
    if outputs < len(names):
        given = np.array([each.mean[0] for each in averages])
        fits = [n for n in range(len(names)) if agree(given, right[:, n], ROUNDED, ROUNDED)]
        chosen = slice(fits[0], fits[0] + 1) if fits else slice(0, 1)
        right = right[:, chosen]
        error = error[:, chosen]
        names = names[chosen]
    return _judged(model, part, noise, averages, right, error, names)


def _slopes(model, expectation, values):
    """Return the derivatives of an expectation with respect to its arguments, and their errors."""
    found = []
    for name in expectation.names:

        def value(x, name=name):
            return np.asarray(model.numbers(expectation, None, [{**values, name: float(x)}])[0])

        x = np.asarray(float(values[name]))
        width = 1 + np.abs(x)
        slope = richardson(value, x, width, **DIFFERENCES)
        found.append((float(slope.value / width), float(slope.error / width)))
    return found


def _judged(model, part, noise, averages, right, error_of_right, names):
    """Return the outcome for an estimator whose means are known, by the errors of both sides."""
    given = np.array([each.mean for each in averages])
    own = np.array([each.error for each in averages])
    size = np.nan_to_num([each.size for each in averages])
    error = own + error_of_right
    with np.errstate(all="ignore"):
        gap = np.abs(given - right)
        allowed = ROUNDED * np.abs(right) + ROUNDED_DRAW * size + ERRORS * error
        # a gradient of zero has the scale of the draws
        unclear = ~(error <= DECISIVE * np.maximum(np.abs(right), VISIBLE * size))
    numbers = {
        "mean": given,
        "error": own,
        "right": right,
        "error_of_right": error_of_right,
        "variance": float(np.sum(averages[0].variance)),
    }
    off = ~np.isfinite(given) | (gap > allowed)
    if not np.any(off):
        if np.any(unclear):
            at = np.unravel_index(np.argmax(unclear), unclear.shape)
            words = (
                f"its mean is known to {_digits(given[at], own[at])} only, and the right value to "
                f"{_digits(right[at], error_of_right[at])}: it has too many jumps, or no mean"
            )
            return undecided(part, words, numbers)
        words = (
            f"unbiased for {', '.join(names)}, its mean is known to {float(np.max(own)):.0e}; "
            f"variance {numbers['variance']:.4g} at the first parameters"
        )
        return Outcome(ForwardVerdict(part.name, "ok", words, "ok", numbers))

    def values_of(function=None, sets=None):
        means = [
            _average(model, part, noise, values, function).mean for values in sets or model.sets
        ]
        return np.concatenate([mean[: given.shape[1]] for mean in means])

    def name():
        cost = COST[len(noise.kinds)]
        flat = right.ravel()
        return name_of_values(part, given.ravel(), values_of, flat, {}, model.sets, None, cost)

    at = np.unravel_index(np.argmax(off), off.shape)
    biased = [name_ for name_, each in zip(names, np.any(off, axis=0), strict=True) if each]
    words = f"biased for {', '.join(biased)}: {given[at]:.6g} where {right[at]:.6g} belongs; "
    words += f"the mean is known to {own[at]:.0e}"
    return wrong(part, words, "biased", numbers, name)


def _digits(value, error):
    return f"{value:.6g} +- {error:.0e}"


def _by_draws(model, part, noise, expectation, right):
    """Return the outcome for an estimator that draws random numbers, by the mean of its draws."""
    worst = None
    blind = 0.0
    for values, value in zip(model.sets, right, strict=True):
        found = noises.draws_of(model.having(dimension=1), part, noise, values, size=DRAWS)
        mean = float(np.mean(found))
        spread = float(np.std(found))
        error = spread / np.sqrt(len(found))
        # a right value of zero has the scale of the draws
        scale = abs(value) if abs(value) > VISIBLE * spread else spread
        blind = max(blind, STANDARD_ERRORS * error / max(scale, 1e-300))
        away = abs(mean - value) / max(error, 1e-12 * abs(value), 1e-300)
        if worst is None or not away <= worst[0]:
            worst = (away, mean, value, error)
    away, mean, value, error = worst
    numbers = {"mean": mean, "right": value, "standard_error": error}
    if not away <= STANDARD_ERRORS:
        words = f"its mean is {_digits(mean, error)}, {expectation.name} is {value:.5g}"
        return wrong(part, words, "biased", numbers)
    words = f"its mean is {expectation.name} within {away:.1f} standard errors"
    if blind > VISIBLE:
        words += f", which would not show a bias below {blind:.0%}: take the noise as an argument"
        return undecided(part, words, numbers)
    return Outcome(ForwardVerdict(part.name, "ok", words, "ok", numbers))
