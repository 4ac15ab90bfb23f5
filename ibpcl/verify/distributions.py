r"""Check distributions: density, sampler, closed forms, support.

Each function takes plain callables, so it works on anybody's distributions, and returns a
:class:`DistributionReport` whose numbers prove the verdict.  Statistical verdicts are made at a
probability of a false alarm of about 1e-4 (4 standard errors; a Kolmogorov-Smirnov p-value of
1e-4).
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ibpcl.verify.reports.plain import plain

STANDARD_ERRORS = 4.0  # two-sided: one false alarm in 16 000
SMALLEST_P = 1e-4


@dataclass
class DistributionReport:
    """One verdict on a distribution.

    Attributes
    ----------
    name : str
    ok : bool
    words : str
        The verdict as a sentence, with the number that proves it.
    numbers : dict
    """

    name: str
    ok: bool
    words: str
    numbers: dict = field(default_factory=dict)

    @property
    def score(self):
        """One if ok, else zero."""
        return float(self.ok)

    def text(self):
        """Return the verdict as one line."""
        return f"{self.name}: {'ok' if self.ok else 'WRONG'}: {self.words}"

    __str__ = text

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        return {
            "name": self.name,
            "ok": bool(self.ok),
            "words": self.words,
            "score": self.score,
            "numbers": plain(self.numbers),
        }


def quadrature(function, support, points=None):
    r"""Integrate a scalar function over an interval that may be infinite: (value, error estimate).

    The interval is cut at ``points``, and otherwise where an infinite one has its middle, because
    adaptive quadrature may miss a narrow peak.

    Raises
    ------
    ValueError
        If the support is not an interval.

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
            # full_output: doubts come back as values, not as warnings
            full_output=1,
        )
        value = value + result[0]
        error = error + result[1]
    return value, error


def monte_carlo(integrand, sample, seed, size):
    """Return the mean of ``integrand`` over draws and its standard error."""
    values = np.ravel(integrand(sample(np.random.default_rng(seed), size)))
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(values.size))


def density_integrates_to_one(log_density, support, *, points=None, atol=1e-8, name="density"):
    r"""Check that :math:`\int \exp(\log p(x))\,dx = 1` over the support.

    Parameters
    ----------
    log_density : callable
        Number to number.
    support : (float, float)
        May be infinite.
    points : sequence of float, optional
        Where to cut the interval: near narrow peaks or singularities.
    atol : float
        Allowed besides the quadrature's own error estimate.
    name : str

    Returns
    -------
    DistributionReport

    Examples
    --------
    >>> print(density_integrates_to_one(lambda x: -x, (0, np.inf)))
    density: ok: integrates to 1
    """
    value, error = quadrature(lambda x: np.exp(log_density(x)), support, points)
    ok = bool(abs(value - 1) <= atol + 10 * min(error, 1e-4))
    words = "integrates to 1" if ok else f"integrates to {value:.8g}, not 1"
    return DistributionReport(name, ok, words, {"integral": value, "quadrature_error": error})


def sampler_matches_cdf(sample, cdf, *, seed=0, size=20_000, name="sampler"):
    r"""Compare a sampler with a CDF by the test of Kolmogorov and Smirnov.

    .. math:: D_n = \sup_x |F_n(x) - F(x)|

    Parameters
    ----------
    sample : callable or ndarray
        ``sample(rng, size)`` returns independent draws; or the draws themselves.
    cdf : callable
        Array to array.
    seed, size : int
        For the draws.
    name : str

    Returns
    -------
    DistributionReport
        Wrong if the p-value is below 1e-4.
    """
    draws = np.ravel(sample(np.random.default_rng(seed), size) if callable(sample) else sample)
    if not np.all(np.isfinite(draws)):
        return DistributionReport(
            name,
            False,
            f"{np.sum(~np.isfinite(draws))} of {draws.size} draws are not finite",
            {"draws": draws.size},
        )
    from scipy.stats import kstest  # a second to import, for this test alone

    result = kstest(draws, cdf)
    ok = bool(result.pvalue >= SMALLEST_P)
    words = (
        f"Kolmogorov-Smirnov D = {result.statistic:.4f} over {draws.size} draws, p = "
        f"{result.pvalue:.2g}"
    )
    if not ok:
        words += f"; the gap is largest at {result.statistic_location:.4g}"
    return DistributionReport(
        name,
        ok,
        words,
        {
            "statistic": result.statistic,
            "p_value": result.pvalue,
            "draws": draws.size,
            "location": result.statistic_location,
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
):
    r"""Compare a closed form of :math:`E_q[g(x)]`, such as a KL divergence, with quadrature and
    with sampling.

    For a Kullback-Leibler divergence the integrand is ``log q(x) - log p(x)``.

    Parameters
    ----------
    closed_form : float
    integrand, log_density : callable
        ``g`` and ``log q``.  ``integrand`` must take arrays if ``sample`` is given.
    support : (float, float)
    sample : callable, optional
        ``sample(rng, size)``; without it there is quadrature only.
    points : sequence of float, optional
        Where to cut the interval.
    rtol : float
        Allowed between closed form and quadrature, relative to ``1 + |value|``.
    seed, size : int
        For the draws.
    name : str

    Returns
    -------
    DistributionReport
        Says which of the two witnesses the closed form contradicts.  If they contradict each other,
        the sampler and the density belong to two distributions.
    """
    closed_form = float(closed_form)
    value, error = quadrature(lambda x: integrand(x) * np.exp(log_density(x)), support, points)
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
    r"""Check that draws stay inside the support, that no density is outside it, and the limits of
    the CDF.

    Parameters
    ----------
    log_density : callable
        Number to number; outside the support it must be ``-inf`` or NaN (``None`` skips this).
    support : (float, float)
    sample : callable, optional
        ``sample(rng, size)``.
    cdf : callable, optional
        Must rise from 0 to 1 over the support and never fall.
    seed, size : int
    name : str

    Returns
    -------
    DistributionReport
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
    words = "; ".join(faults) if faults else f"inside ({low:g}, {high:g}), limits as they must be"
    return DistributionReport(name, not faults, words, numbers)
