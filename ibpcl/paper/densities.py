r"""Checks of densities and samplers: total probability, distribution functions, support, limits.

A statistical check of a correct sampler fails for about one seed in ten thousand.
"""

import itertools

import numpy as np
from scipy.special import betaln, expit, loggamma, ndtr, xlog1py, xlogy

from ibpcl import noise
from ibpcl.noise import Key
from ibpcl.numerics import logit
from ibpcl.paper.cases import (
    UNIT,
    Case,
    code_case,
    draw,
    gaussian_case,
    half_cauchy_case,
    kumaraswamy_case,
    local_convolution_case,
    logit_case,
    mask_case,
    masked_filter_case,
    masked_preactivation_case,
    new_key,
    preactivation_case,
    prior_case,
    scale_case,
    weibull_case,
    wide_preactivation_case,
)
from ibpcl.paper.checks import Outcome, from_reports, verifies
from ibpcl.paper.integrals import integral
from ibpcl.primitives import (
    bernoulli,
    concrete,
    horseshoe,
    kumaraswamy,
    likelihoods,
    stick_breaking,
)
from ibpcl.verify import density_integrates_to_one, sampler_matches_cdf, support_and_limits

GAUSSIAN = (gaussian_case(0.7, -0.4), gaussian_case(-3.0, 1.5))
CODES = (code_case(0.7, -0.4), code_case(-3.0, 1.5))
KUMARASWAMY = tuple(
    kumaraswamy_case(*point) for point in ((2.0, 3.0), (31.0, 2.0), (57.0, 0.74), (0.7, 0.8))
)
# Where a shape is 1 it is a Beta.
AS_BETA = tuple(kumaraswamy_case(*point) for point in ((31.0, 1.0), (1.0, 3.0), (0.5, 1.0)))
LOGIT = tuple(
    logit_case(*point) for point in ((0.7, 0.3), (-2.0, 2.0), (0.0, 10.0), (6.0, 0.2), (-6.0, 5.0))
)
MASK = tuple(mask_case(*point) for point in ((0.7, 0.5), (-2.0, 2.0), (1.0, 1.0)))
WEIBULL = (
    weibull_case(3.0, 12.0),
    weibull_case(0.8, 2.0),
    weibull_case(3.0, 30.0),
    weibull_case(20.0, 0.2),
)
HALF_CAUCHY = tuple(half_cauchy_case(scale) for scale in (1.0, 0.02, 7.0))
NOISE = {
    "uniform": Case(
        "uniform", None, lambda rng, n: draw("uniform", rng, n), lambda u: np.clip(u, 0, 1), UNIT
    ),
    "normal": Case("normal", None, lambda rng, n: draw("normal", rng, n), ndtr),
    "logistic": Case("logistic", None, lambda rng, n: draw("logistic", rng, n), expit),
}
DENSITIES = {
    "gaussian.log_density": GAUSSIAN,
    "kumaraswamy.log_density": KUMARASWAMY,
    "concrete.log_density_logit": LOGIT,
    "concrete.log_density": MASK,
    "weibull.log_density": WEIBULL,
    "horseshoe.log_density": HALF_CAUCHY,
}
SAMPLERS = {
    **{f"noise.{kind}": (case,) for kind, case in NOISE.items()},
    "gaussian.sample": GAUSSIAN,
    "latent.sample": CODES,
    "kumaraswamy.sample": KUMARASWAMY + AS_BETA,
    "concrete.sample": (*MASK, mask_case(0.7, 0.3)),
    "concrete.sample.logit": LOGIT,
    "weibull.sample": WEIBULL,
    "horseshoe.sample": (scale_case(0.7, -0.4), scale_case(-6.0, 0.8)),
    "stick_breaking.sample_prior": (prior_case(1, 3.0), prior_case(5, 30.0)),
    "local_linear.apply": (preactivation_case(), wide_preactivation_case(1, 2)),
    "local_linear.sample": (masked_preactivation_case(),),
    "local_convolution.apply": (local_convolution_case(),),
    "masked_convolution.sample": (masked_filter_case(0.4, 0.7),),
}


def at_points(cases):
    """Return the number of parameter sets as the end of a line, empty for a single one.

    Parameters
    ----------
    cases : sequence of ibpcl.paper.cases.Case
        One per set of parameters.

    Returns
    -------
    text : str
    """
    return f", {len(cases)} parameter sets" if len(cases) > 1 else ""


@verifies("densities", "{}", *DENSITIES)
def density(name, seed):
    """Each density integrates to one, and up to the quartiles of draws to the distribution function
    there.
    """
    cases = DENSITIES[name]
    reports = []
    apart = 0.0
    for case in cases:
        reports.append(
            density_integrates_to_one(
                case.log_density, case.support, points=case.points, name=case.label
            )
        )
        for x in np.quantile(case.sample(np.random.default_rng(seed), 1000), (0.25, 0.5, 0.75)):
            below = integral(
                lambda x, c=case: np.exp(c.log_density(x)), (case.support[0], x), case.points
            )[0]
            apart = max(apart, float(abs(below - case.cdf(x))))
    worst = max(abs(report.numbers["integral"] - 1) for report in reports)
    outcome = from_reports(
        reports, f"integrates to 1 within {max(worst, 1e-16):.0e}{at_points(cases)}"
    )
    if apart < 1e-8:
        return outcome
    return Outcome(
        False,
        f"up to a quartile the density integrates to {apart:.1e} more or less than the CDF",
        outcome.numbers,
        outcome.text,
    )


def total(name, probabilities):
    """Compare a sum of probabilities with one.

    Parameters
    ----------
    name : str
        Name of the distribution.
    probabilities : ndarray
        Probabilities of all outcomes, along the last axis.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """
    gap = float(np.max(np.abs(np.sum(probabilities, axis=-1) - 1)))
    return Outcome(
        gap < 1e-12,
        f"sums to 1 within {max(gap, 1e-16):.0e}",
        {"gap": gap},
        f"{name}: off by {gap:.1e}",
    )


@verifies("densities", "kumaraswamy.is-beta")
def kumaraswamy_is_beta(seed):
    """Kumaraswamy(a, b) is Beta(a, b) where a or b is 1; supplement D.2."""
    v = np.random.default_rng(seed).uniform(0.001, 0.999, 200)
    gaps = []
    for a, b in ((31.0, 1.0), (1.0, 3.0), (0.5, 1.0)):
        exact = xlogy(a - 1, v) + xlog1py(b - 1, -v) - betaln(a, b)
        gaps.append(np.max(np.abs(kumaraswamy.log_density(np.log(v), a, b)[0] - exact)))
    return Outcome(
        max(gaps) < 1e-9, f"equals Beta to {max(gaps):.0e} nats, a = 1 or b = 1", {"gaps": gaps}
    )


def inverse_gamma(x, shape, rate):
    """Evaluate the log density of an inverse Gamma distribution, as it is defined.

    Parameters
    ----------
    x : float or ndarray
        Where to evaluate it, > 0.
    shape, rate : float or ndarray
        Its parameters, both > 0.

    Returns
    -------
    log_density : ndarray
    """
    return xlogy(shape, rate) - loggamma(shape) - xlogy(shape + 1, x) - rate / x


@verifies("densities", "horseshoe.hierarchy")
def half_cauchy_hierarchy(seed):
    """Two inverse Gamma distributions, the auxiliary variable integrated out, are the half-Cauchy
    density.
    """
    rng = np.random.default_rng(seed)
    gaps = []
    for scale in (1.0, 0.02, 7.0):
        for x in 2 * np.log(scale) + rng.uniform(-8, 8, 6):
            squared = np.exp(x)

            def joint(y, squared=squared, scale=scale):
                nu = np.exp(y)
                log_joint = inverse_gamma(squared, 0.5, 1 / nu) + inverse_gamma(nu, 0.5, scale**-2)
                return np.exp(log_joint + np.log(squared) + y)  # of x and y, not their exponentials

            peak = np.log(1 / squared + scale**-2)
            exact = integral(joint, (peak - 6, peak + 40), (peak - 3, peak, peak + 3, peak + 9))[0]
            gaps.append(abs(np.exp(horseshoe.log_density(x, scale)[0]) / exact - 1))
    return Outcome(
        max(gaps) < 1e-10, f"equals the half-Cauchy within {max(gaps):.0e}", {"gaps": gaps}
    )


@verifies("densities", "concrete.jacobian")
def mask_jacobian(seed):
    """The densities of mask and logit differ by a Jacobian, which cancels in log q - log p; at any
    temperature.
    """
    rng = np.random.default_rng(seed)
    z = rng.uniform(0.01, 0.99, 100)
    tau = rng.uniform(0.2, 5.0, 100)
    log_odds = np.concatenate([[0.7, -1.0], rng.uniform(-6, 6, 198)]).reshape(2, 100)
    (log_z, prior_z), (log_y, prior_y) = (
        [
            np.array([f(at, odds, t)[0] for at, odds, t in zip(x, row, tau, strict=True)])
            for row in log_odds
        ]
        for f, x in ((concrete.log_density, z), (concrete.log_density_logit, logit(z)))
    )
    gap = np.max(np.abs((log_z - prior_z) - (log_y - prior_y)))
    jacobian = np.max(np.abs(log_z - log_y + np.log(z * (1 - z))))
    return Outcome(
        gap < 1e-10 and jacobian < 1e-10,
        f"cancels in log q - log p to {gap:.0e}",
        {"difference": gap, "jacobian": jacobian},
    )


@verifies("densities", "bernoulli.log_density")
def bernoulli_mass(seed):
    """The two values of a mask, for log-odds of any size."""
    logits = np.array([-700.0, -30.0, -1.0, 0.0, 2.0, 40.0])
    return total(
        "bernoulli",
        np.stack([np.exp(bernoulli.log_density(z, logits)[0]) for z in (0.0, 1.0)], axis=-1),
    )


@verifies("densities", "likelihoods.categorical")
def categorical_mass(seed):
    """The labels of ten classes."""
    logits = np.random.default_rng(seed).normal(scale=5.0, size=(4, 1, 10)).repeat(10, axis=1)
    return total("categorical", np.exp(likelihoods.categorical(logits, np.arange(10))[0]))


@verifies("densities", "likelihoods.bernoulli_{}", "logistic", "probit")
def binary_mass(link, seed):
    """All eight labels of three binary outputs, under the logistic or the probit link."""
    outputs = np.random.default_rng(seed).normal(scale=2.0, size=(4, 1, 3)).repeat(8, axis=1)
    labels = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    return total(link, np.exp(getattr(likelihoods, f"bernoulli_{link}")(outputs, labels)[0]))


@verifies("densities", "likelihoods.gaussian")
def target_density(seed):
    """The density of a real target."""
    mean = np.array([[[0.4]]])
    log_noise = np.array([-1.0])
    report = density_integrates_to_one(
        lambda y: likelihoods.gaussian(mean, log_noise, np.array([[y]]))[0].item(),
        (-np.inf, np.inf),
        points=[0.4],
        name="likelihoods.gaussian",
    )
    gap = max(abs(report.numbers["integral"] - 1), 1e-16)
    return Outcome(report.ok, f"integrates to 1 within {gap:.0e}", report.numbers, str(report))


def of_draws(cases, seed):
    """Compare draws of each case with its distribution function; none of them may lie outside the
    support.

    Parameters
    ----------
    cases : sequence of ibpcl.paper.cases.Case
        Distributions with a sampler and a distribution function.
    seed : int
        Determines the draws.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """
    reports = []
    for case in cases:
        reports.append(sampler_matches_cdf(case.sample, case.cdf, seed=seed, name=case.label))
        # the limits of a CDF are taken at its very ends
        with np.errstate(all="ignore"):
            reports.append(
                support_and_limits(
                    case.log_density,
                    case.support,
                    case.sample,
                    cdf=case.cdf,
                    seed=seed,
                    name=f"{case.label}, support",
                )
            )
    worst = min((report.numbers for report in reports[::2]), key=lambda numbers: numbers["p_value"])
    return from_reports(
        reports,
        f"consistent, p = {worst['p_value']:.2g}, D = {worst['statistic']:.4f}{at_points(cases)}",
    )


@verifies("samplers", "{}", *SAMPLERS)
def sampler(name, seed):
    """Draws follow the distribution function and stay inside the support."""
    return of_draws(SAMPLERS[name], seed)


@verifies("samplers", "kernels.noise.{}", *NOISE)
def compiled_noise(kind, seed):
    """A compiled generator has the distribution of its reference; Numba is imported when this is
    first called.
    """
    from ibpcl.kernels import noise as kernel

    return of_draws(
        (
            NOISE[kind]._replace(
                sample=lambda rng, n: getattr(kernel, kind)(new_key(rng), n, np.float32)
            ),
        ),
        seed,
    )


@verifies("samplers", "stick_breaking.masks")
def prior_masks(seed):
    """The prior's masks are on with frequency E[pi_k] = (alpha / (alpha + 1))^k, for each k."""
    alpha = 3.0
    units = 8
    draws = 20_000
    rng = np.random.default_rng(seed)
    mask, _ = stick_breaking.sample_prior(
        draw("uniform", rng, draws, units), draw("uniform", rng, draws, 1, units), alpha
    )
    expected = (alpha / (alpha + 1)) ** np.arange(1, units + 1)
    z = (mask[:, 0].mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / draws)
    worst = float(np.abs(z).max())
    # 4.5: as rare in eight comparisons as 4 standard errors in one.
    return Outcome(
        worst < 4.5, f"frequency of ones: E[pi_k] within {worst:.1f} SE", {"standard_errors": z}
    )


@verifies("samplers", "noise.streams")
def noise_streams(seed):
    """The noise of different steps, tasks, streams and seeds is uncorrelated."""
    size = 20_000
    key = Key(seed, 3, 5, 7)
    others = [key._replace(**{field: getattr(key, field) + 1}) for field in Key._fields]
    rows = np.stack([noise.normal(k, size, np.float64) for k in (key, *others)])
    largest = float(np.abs(np.corrcoef(rows) - np.eye(len(rows))).max() * np.sqrt(size))
    return Outcome(
        largest < 4.7,
        f"correlation of 10 pairs: 0 within {largest:.1f} SE",
        {"standard_errors": largest},
    )
