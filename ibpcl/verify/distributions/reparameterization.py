"""Unbiasedness of gradient estimators: their mean against the derivative of the expectation."""

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions.statistics import STANDARD_ERRORS, DistributionReport


def reparameterization_unbiased(
    estimator,
    expectation,
    parameter,
    *,
    seed=0,
    size=100_000,
    step=1e-3,
    name="reparameterization gradient",
):
    r"""Check that the mean of a gradient estimator is the derivative of the expectation.

    .. math::

        E\bigl[\partial_\theta\, g(x(\theta, \epsilon))\bigr] = \partial_\theta\, E_{q_\theta}[g(x)]

    Parameters
    ----------
    estimator : callable
        ``estimator(parameter, rng, size)`` returns ``size`` independent gradient estimates.
    expectation : callable
        ``expectation(parameter)`` returns the expectation, computed by quadrature or in closed
        form. It is differentiated by Richardson extrapolation.
    parameter : float
        The parameter at which to compare.
    seed : int
        Seed for the estimates.
    size : int
        Number of estimates, at least 2.
    step : float
        Largest step of the differences, relative to ``1 + |parameter|``.
    name : str
        Name in the report.

    Returns
    -------
    DistributionReport
        Wrong if the mean is more than 4 standard errors from the derivative, or if one of them
        cannot be measured.
    """
    draws = np.ravel(estimator(parameter, np.random.default_rng(seed), size))
    mean = float(np.mean(draws))
    standard_error = float(np.std(draws, ddof=1) / np.sqrt(draws.size))
    truth = richardson(
        lambda theta: np.asarray(expectation(float(theta)), dtype=float),
        np.array(float(parameter)),
        np.array(1.0),
        h=step * (1 + abs(parameter)),
        levels=4,
        restarts=1,
    )
    derivative = float(truth.value)
    error = float(truth.error)
    away = abs(mean - derivative) / (standard_error or np.finfo(float).tiny)
    most = 1e-4 * (abs(derivative) + np.std(draws))
    ok = bool(
        np.isfinite(mean)
        and error <= most
        and abs(mean - derivative)
        <= STANDARD_ERRORS * standard_error + 10 * error + 1e-9 * abs(derivative)
    )
    words = (
        f"mean gradient {mean:.5g} +- {standard_error:.1g}, derivative of the expectation "
        f"{derivative:.5g}"
    )
    if not np.isfinite(mean):
        words += f": {np.sum(~np.isfinite(draws))} of {draws.size} gradients are not finite"
    elif not error <= most:
        words += (
            f" +- {error:.1g}: the expectation cannot be differentiated (not smooth, or it draws "
            "random numbers)"
        )
    elif not ok:
        words += f": {away:.1f} standard errors apart, so the estimator is biased"
    return DistributionReport(
        name,
        ok,
        words,
        {
            "mean": mean,
            "standard_error": standard_error,
            "error": error,
            "derivative": derivative,
            "standard_errors_apart": away,
        },
    )
