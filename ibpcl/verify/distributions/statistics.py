"""Checks of one distribution: density, sampler, closed forms and support.

Each function takes plain callables and returns a :class:`DistributionReport`, whose numbers support
the verdict.  A statistical verdict has a false-alarm probability of about 1e-4 (4 standard errors,
or a Kolmogorov-Smirnov p-value of 1e-4).
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.reports.plain import plain

STANDARD_ERRORS = 4.0  # two-sided: one false alarm in 16 000
SMALLEST_P = 1e-4  # p-value below which the Kolmogorov-Smirnov test rejects


@dataclass
class DistributionReport:
    """Verdict on one property of a distribution.

    Attributes
    ----------
    name : str
        Name of the check.
    ok : bool
        Whether the property holds.
    words : str
        The verdict as a sentence, with the decisive number.
    numbers : dict of str to float or int
        The numbers that the verdict is based on.
    """

    name: str
    ok: bool
    words: str
    numbers: dict = field(default_factory=dict)

    @property
    def score(self):
        """1.0 if the property holds, else 0.0."""
        return float(self.ok)

    def text(self):
        """Return the verdict as one line."""
        return f"{self.name}: {'ok' if self.ok else 'WRONG'}: {self.words}"

    __str__ = text

    def to_dict(self):
        """Return the report as a dict that ``json.dumps`` accepts."""
        return {
            "name": self.name,
            "ok": bool(self.ok),
            "words": self.words,
            "score": self.score,
            "numbers": plain(self.numbers),
        }


def quadrature(function, support, points=None):
    """Integrate a scalar function over an interval, which may be infinite.

    The interval is split at ``points``.  Without them, a finite interval is split at its middle and
    the real line at 0, because adaptive quadrature may miss a narrow peak.

    Parameters
    ----------
    function : callable
        The integrand, from number to number.
    support : (float, float)
        Lower and upper limit; either may be infinite.
    points : sequence of float, optional
        Points at which to split the interval.  Those outside are ignored.

    Returns
    -------
    value : float
        The integral.
    error : float
        Estimate of its absolute error, summed over the pieces.

    Raises
    ------
    ValueError
        If the lower limit is not below the upper one.

    Examples
    --------
    >>> value, error = quadrature(lambda x: np.exp(-x * x / 2), (-np.inf, np.inf))
    >>> round(value, 10) == round(float(np.sqrt(2 * np.pi)), 10)
    True
    """
    low, high = map(float, support)
    if not low < high:
        raise ValueError(
            f"quadrature: support must be an interval (low, high), got ({low}, {high})"
        )
    if points is None:
        points = [0.0] if low < 0 < high and np.isinf(low) and np.isinf(high) else []
        points += [0.5 * (low + high)] if np.isfinite(low) and np.isfinite(high) else []
    cuts = [low, *sorted(p for p in points if low < p < high), high]
    from scipy.integrate import quad  # slow to import

    value = error = 0.0
    for a, b in pairwise(cuts):
        result = quad(
            lambda x: float(function(x)),
            a,
            b,
            limit=400,
            epsabs=1e-13,
            epsrel=1e-11,
            # full_output: problems are returned as values, not raised as warnings
            full_output=1,
        )
        value = value + result[0]
        error = error + result[1]
    return value, error


def monte_carlo(integrand, sample, seed, size):
    """Estimate an expectation by sampling, with its standard error.

    Parameters
    ----------
    integrand : callable
        ``integrand(x)`` maps an array of draws to one number per draw.
    sample : callable
        ``sample(rng, size)`` returns independent draws.
    seed : int
        Seed for the draws.
    size : int
        Number of draws, at least 2.

    Returns
    -------
    mean : float
        Mean of the integrand over the draws.
    standard_error : float
        Standard error of the mean.
    """
    values = np.ravel(integrand(sample(np.random.default_rng(seed), size)))
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(values.size))


def density_integrates_to_one(log_density, support, *, points=None, atol=1e-8, name="density"):
    r"""Check that :math:`\int \exp(\log p(x))\,dx = 1` over the support.

    Parameters
    ----------
    log_density : callable
        Log density, from number to number.
    support : (float, float)
        Lower and upper limit; either may be infinite.
    points : sequence of float, optional
        Points at which to split the interval, such as narrow peaks or singularities.
    atol : float
        Allowed absolute error, in addition to the error estimate of the quadrature.
    name : str
        Name in the report.

    Returns
    -------
    DistributionReport
        Wrong if the integral is not 1 within the tolerance.

    Examples
    --------
    >>> print(density_integrates_to_one(lambda x: -x, (0, np.inf)))
    density: ok: integrates to 1
    """
    value, error = quadrature(lambda x: np.exp(log_density(x)), support, points)
    ok = bool(abs(value - 1) <= atol + 10 * min(error, 1e-4))
    words = "integrates to 1" if ok else f"integrates to {value:.8g}, not 1"
    return DistributionReport(name, ok, words, {"integral": value, "quadrature_error": error})


class Gap(NamedTuple):
    """The largest difference between the distribution function of draws and a given one.

    Attributes
    ----------
    size : float
        The difference.
    place : float
        The draw at which it is.
    p_value : float
        Probability of a difference as large for draws from the given distribution.
    """

    size: float
    place: float
    p_value: float


def largest_gap(draws, cdf):
    r"""Compare draws with a CDF by the Kolmogorov-Smirnov test.

    .. math:: D_n = \sup_x |F_n(x) - F(x)|

    The p-value is that of the limit distribution at :math:`(\sqrt n + 0.12 + 0.11 / \sqrt n) D_n`.
    Stephens (1970), "Use of the Kolmogorov-Smirnov, Cramer-von Mises and related statistics without
    extensive tables".

    Parameters
    ----------
    draws : ndarray, shape (n,)
        Independent draws, all finite.
    cdf : callable
        Distribution function F, from array to array.

    Returns
    -------
    Gap
        All numbers are NaN where F is NaN.

    Examples
    --------
    >>> gap = largest_gap(np.array([0.1, 0.4, 0.5]), lambda x: x)
    >>> round(gap.size, 3), gap.place, round(gap.p_value, 2)
    (0.5, 0.5, 0.32)
    """
    from scipy.special import kolmogorov  # the checker in the browser starts without it

    draws = np.sort(draws)
    count = len(draws)
    exact = np.asarray(cdf(draws), float)
    above = np.arange(1, count + 1) / count - exact
    gaps = np.maximum(above, 1 / count - above)
    worst = int(np.argmax(gaps))
    size = float(gaps[worst])
    root = np.sqrt(count)
    return Gap(size, float(draws[worst]), float(kolmogorov((root + 0.12 + 0.11 / root) * size)))


def sampler_matches_cdf(sample, cdf, *, seed=0, size=20_000, name="sampler"):
    """Compare a sampler with a CDF by the Kolmogorov-Smirnov test, see :func:`largest_gap`.

    Parameters
    ----------
    sample : callable or ndarray
        ``sample(rng, size)`` returns independent draws; or the draws themselves.
    cdf : callable
        Distribution function, from array to array.
    seed : int
        Seed for the draws.
    size : int
        Number of draws.
    name : str
        Name in the report.

    Returns
    -------
    DistributionReport
        Wrong if the p-value is below 1e-4, or if a draw is not finite.
    """
    draws = np.ravel(sample(np.random.default_rng(seed), size) if callable(sample) else sample)
    if not np.all(np.isfinite(draws)):
        return DistributionReport(
            name,
            False,
            f"{np.sum(~np.isfinite(draws))} of {draws.size} draws are not finite",
            {"draws": draws.size},
        )
    gap = largest_gap(draws, cdf)
    ok = gap.p_value >= SMALLEST_P
    words = f"Kolmogorov-Smirnov D = {gap.size:.4f} over {draws.size} draws, p = {gap.p_value:.2g}"
    if not ok:
        words += f"; the gap is largest at {gap.place:.4g}"
    return DistributionReport(
        name,
        ok,
        words,
        {
            "statistic": gap.size,
            "p_value": gap.p_value,
            "draws": draws.size,
            "location": gap.place,
        },
    )


def expectation_matches(
    closed_form,
    integrand,
    log_density,
    support,
    sample=None,
    *,
    points=None,
    rtol=1e-7,
    seed=0,
    size=100_000,
    name="expectation",
    rule=quadrature,
):
    r"""Compare a closed form of :math:`E_q[g(x)]` with quadrature and with sampling.

    For a KL divergence, the integrand is ``log q(x) - log p(x)``.

    Parameters
    ----------
    closed_form : float
        Value of the closed form.
    integrand : callable
        The function :math:`g`.  It must accept arrays if ``sample`` is given.
    log_density : callable
        :math:`\log q`, from number to number.
    support : (float, float)
        Lower and upper limit; either may be infinite.
    sample : callable, optional
        ``sample(rng, size)`` returns independent draws from :math:`q`.  Without it, the closed form
        is compared with quadrature only.
    points : sequence of float, optional
        Points at which to split the interval.
    rtol : float
        Allowed difference between closed form and quadrature, relative to ``1 + |value|``.
    seed : int
        Seed for the draws.
    size : int
        Number of draws.
    name : str
        Name in the report.
    rule : callable
        Integrates as :func:`quadrature` does.  A rule that calls its integrand with arrays is much
        faster; the integrand and the density must then accept them.

    Returns
    -------
    DistributionReport
        Its sentence names the estimate that the closed form contradicts.  If quadrature and
        sampling contradict each other, the density and the sampler belong to two distributions.
    """
    closed_form = float(closed_form)
    value, error = rule(lambda x: integrand(x) * np.exp(log_density(x)), support, points)
    allowed = rtol * (1 + abs(value)) + 10 * min(error, 1e-4 * (1 + abs(value)))
    numbers = {"closed_form": closed_form, "quadrature": value, "quadrature_error": error}
    right = bool(abs(closed_form - value) <= allowed)
    words = f"closed form {closed_form:.8g}, quadrature {value:.8g}"
    if sample is None:
        return DistributionReport(name, right, words, numbers)
    mean, standard_error = monte_carlo(integrand, sample, seed, size)
    numbers.update(monte_carlo=mean, standard_error=standard_error)
    words += f", Monte Carlo {mean:.5g} +- {standard_error:.1g}"
    sampled = bool(abs(mean - closed_form) <= STANDARD_ERRORS * standard_error + allowed)
    witnesses = bool(abs(mean - value) <= STANDARD_ERRORS * standard_error + allowed)
    if not witnesses:
        words += "; density and sampler contradict each other"
    elif not right:
        words += (
            "; the closed form contradicts both"
            if not sampled
            else "; the closed form contradicts quadrature"
        )
    return DistributionReport(name, right and sampled and witnesses, words, numbers)


def support_and_limits(
    log_density, support, sample=None, *, cdf=None, seed=0, size=20_000, name="support"
):
    """Check the support of a sampler and a density, and the limits of a CDF.

    Draws must lie in the support, the density must vanish outside of it, and the CDF must rise from
    0 to 1.

    Parameters
    ----------
    log_density : callable or None
        Log density, from number to number.  Outside the support it must be ``-inf`` or NaN.  None
        skips this test.
    support : (float, float)
        Lower and upper limit; either may be infinite.
    sample : callable, optional
        ``sample(rng, size)`` returns independent draws.
    cdf : callable, optional
        Distribution function, from number to number.  It must rise from 0 to 1 over the support and
        never fall.
    seed : int
        Seed for the draws.
    size : int
        Number of draws.
    name : str
        Name in the report.

    Returns
    -------
    DistributionReport
        Wrong if any of the tests fails; its sentence lists the failures.
    """
    low, high = map(float, support)
    faults = []
    numbers = {}
    if log_density is not None:
        for edge, direction in ((low, -1), (high, 1)):
            if np.isfinite(edge):
                outside = edge + direction * (1 + abs(edge))
                with np.errstate(all="ignore"):
                    value = float(log_density(outside))
                if value > -np.inf:
                    faults.append(
                        f"log density at {outside:.4g}, outside the support, is {value:.4g}"
                    )
    if sample is not None:
        draws = np.ravel(sample(np.random.default_rng(seed), size))
        numbers.update(smallest=float(draws.min()), largest=float(draws.max()))
        astray = int(np.sum(~((draws >= low) & (draws <= high))))
        if astray:
            faults.append(f"{astray} of {draws.size} draws lie outside")
    if cdf is not None:
        a = low if np.isfinite(low) else (-1e8 if not np.isfinite(high) else high - 1e8)
        b = high if np.isfinite(high) else (1e8 if not np.isfinite(low) else low + 1e8)
        ends = [float(cdf(a)), float(cdf(b))]
        numbers.update(cdf_low=ends[0], cdf_high=ends[1])
        if abs(ends[0]) > 1e-6 or abs(ends[1] - 1) > 1e-6:
            faults.append(f"the CDF runs from {ends[0]:.4g} to {ends[1]:.4g}, not from 0 to 1")
        between = np.array([float(cdf(x)) for x in np.linspace(max(a, -20.0), min(b, 20.0), 101)])
        if np.any(np.diff(between) < -1e-12):
            faults.append("the CDF falls somewhere")
    words = "; ".join(faults) if faults else f"support ({low:g}, {high:g}) and limits are right"
    return DistributionReport(name, not faults, words, numbers)


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
        noise=0.0,
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
