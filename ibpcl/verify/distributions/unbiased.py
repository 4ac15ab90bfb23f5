"""Estimators: their mean over the noise is an expectation, or its derivative."""

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions import noise as noises
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calls import CallError
from ibpcl.verify.distributions.comparing import Comparison, wrong
from ibpcl.verify.distributions.slips import agree

# A right estimator may differ by its rounded constants: relative to the right value, and to the
# mean size of one draw.
ROUNDED = 1e-5
ROUNDED_DRAW = 1e-8
ERRORS = 3  # multiple of the error of an integral above which a gap is a bias
# Largest part of a right value that the errors may be, if they show an estimator to be unbiased.
DECISIVE = 3e-3
VISIBLE = 0.01  # largest bias that draws may leave invisible
DRAWS = 1_000_000
STANDARD_ERRORS = 5  # largest distance of a mean of draws that counts as right
# Largest step, relative to 1 + |parameter|, and one tableau of four differences.
DIFFERENCES = {"h": 1e-3, "levels": 4, "restarts": 1, "noise": 0.0}
# Costs of one mean, in expressions that take as long: over one noise variable, and over two.
COST = {1: 2_000, 2: 200_000}
UNAFFORDABLE = 10**7  # the cost of a million draws


def _average(model, part, noise, values, function=None):
    """Return the mean of an estimator, with its error and variance."""
    return average(model.of_noise(part, values, function), noise.kinds)


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
    comparison : ibpcl.verify.distributions.comparing.Comparison
        By integrals over the noise; by draws if the noise is not an argument.
    """
    expectation = model.parts["expectation"]
    noise = noises.noise_of(part, model.sets[0])
    right = model.numbers(expectation)
    if not noise.is_integrable:
        return _of_draws(model, part, noise, expectation, right)
    averages = [_average(model, part, noise, values) for values in model.sets]
    if any(len(each.mean) != 1 for each in averages):
        return wrong(part, f"it returns {len(averages[0].mean)} numbers, expected one")
    error = np.zeros((len(right), 1))
    return _compared(model, part, noise, averages, right[:, None], error, [expectation.name])


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
    comparison : ibpcl.verify.distributions.comparing.Comparison
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
    return _compared(model, part, noise, averages, right, error, names)


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


def _compared(model, part, noise, averages, right, error_of_right, names):
    """Return the comparison of an estimator with known means, with the errors of both sides."""
    given = np.array([each.mean for each in averages])
    own = np.array([each.error for each in averages])
    size = np.nan_to_num([each.size for each in averages])
    variance = float(np.sum(averages[0].variance))

    def values_of(function=None, sets=None):
        if function is None and sets is None:
            return given.ravel()
        chosen = sets or model.sets
        means = [_average(model, part, noise, each, function).mean for each in chosen]
        return np.concatenate([mean[: given.shape[1]] for mean in means])

    # a gradient of zero has the scale of the draws
    scale = np.maximum(VISIBLE * size - np.abs(right), 0.0)
    return Comparison(
        values_of,
        right.ravel(),
        (ROUNDED_DRAW * size + ERRORS * (own + error_of_right)).ravel(),
        model.sets,
        witness=f"{', '.join(names)} (variance {variance:.4g} at the first parameters)",
        kind="biased",
        cost=COST[len(noise.kinds)],
        rtol=ROUNDED,
        scale=scale.ravel(),
        decisive=DECISIVE,
        labels=tuple(names) * len(model.sets),
        numbers={
            "mean": given,
            "error": own,
            "right": right,
            "error_of_right": error_of_right,
            "variance": variance,
        },
    )


def _of_draws(model, part, noise, expectation, right):
    """Return the comparison of an estimator that draws random numbers, by the mean of its draws."""
    plain = model.having(dimension=1)
    found = [noises.draws_of(plain, part, noise, values, size=DRAWS) for values in model.sets]
    means = np.array([np.mean(each) for each in found])
    spreads = np.array([np.std(each) for each in found])
    errors = spreads / np.sqrt([len(each) for each in found])
    return Comparison(
        lambda function=None, sets=None: means,
        right,
        STANDARD_ERRORS * errors,
        model.sets,
        witness=f"{expectation.name}, by its draws,",
        kind="biased",
        cost=UNAFFORDABLE,
        # a right value of zero has the scale of the draws
        scale=np.where(np.abs(right) > VISIBLE * spreads, 0.0, spreads),
        numbers={"mean": means, "right": right, "standard_error": errors},
    )
