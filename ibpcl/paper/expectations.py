r"""Checks of closed-form means: of sticks, a learned concentration, and weights that are on.

Each is compared with quadrature and with Monte Carlo and its standard error, by :func:`matches`,
as the divergences are; points drawn at random from the range in which a form is used, against
quadrature alone.
"""

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import digamma, gammaln

from ibpcl.paper.cases import draw, kumaraswamy_case, weibull_case
from ibpcl.paper.checks import Outcome, from_reports, verifies
from ibpcl.paper.integrals import integral
from ibpcl.primitives import kumaraswamy, stick_breaking, weibull
from ibpcl.verify import expectation_matches
from ibpcl.verify.distributions.statistics import STANDARD_ERRORS


def columns(closed, exact, mean, error):
    """Return closed form, quadrature, and Monte Carlo with its standard error side by side.

    Parameters
    ----------
    closed, exact : float
        Closed form and quadrature.
    mean, error : float
        Monte-Carlo mean, and its standard error.

    Returns
    -------
    text : str
    """
    return f"{closed:>11.6g} {exact:>11.6g} {mean:>9.4g} +- {error:.0e}"


def joined(reports):
    """Join reports, and show the numbers of the first.

    Parameters
    ----------
    reports : sequence of ibpcl.verify.distributions.statistics.DistributionReport
        At least one, each with closed form, quadrature and Monte Carlo.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """
    first = reports[0].numbers
    return from_reports(
        reports,
        columns(
            first["closed_form"], first["quadrature"], first["monte_carlo"], first["standard_error"]
        ),
    )


def matches(closed, integrand, case, seed, *, support=None, rtol=1e-7, name=None, **options):
    """Compare a closed form of E[integrand] under a case's density with quadrature and with its
    draws.

    Parameters
    ----------
    closed : float
        The closed form.
    integrand : callable
        The function whose mean it is.
    case : ibpcl.paper.cases.Case
        The distribution.
    seed : int
        Determines the draws.
    support : tuple of float, optional
        Limits of the integral; those of the case by default.
    rtol : float
        Relative tolerance against quadrature.
    name : str, optional
        Name in the report; the label of the case by default.
    **options
        Other arguments of :func:`ibpcl.verify.expectation_matches`.

    Returns
    -------
    report : ibpcl.verify.distributions.statistics.DistributionReport
    """
    return expectation_matches(
        closed,
        integrand,
        case.log_density,
        support or case.support,
        case.sample,
        points=case.points,
        rtol=rtol,
        seed=seed,
        name=name or case.label,
        **options,
    )


@verifies("divergences", "kumaraswamy.mean-log")
def mean_log_stick(seed):
    r""":math:`E[\log v] = -(\gamma + \psi(b + 1)) / a`."""
    return joined(
        [
            matches(-(np.euler_gamma + digamma(b + 1)) / a, np.log, kumaraswamy_case(a, b), seed)
            for a, b in ((31.0, 2.0), (2.0, 3.0))
        ]
    )


@verifies("divergences", "kumaraswamy.mean")
def mean_stick(seed):
    r""":math:`E[v] = b\, B(1 + 1/a, b)`."""
    return joined(
        [matches(5.0 * beta_function(1.5, 5.0), lambda v: v, kumaraswamy_case(2.0, 5.0), seed)]
    )


def weibull_forms(name, k, scale, shape, rate, sticks):
    """Return pairs of a closed form under Weibull(k, scale) and the function of alpha whose mean it
    is.

    Parameters
    ----------
    name : str
        The module and the function with the closed form, such as "weibull.moments".
    k, scale : float
        Parameters of the Weibull distribution, > 0.
    shape, rate : float
        Parameters of the Gamma prior, > 0.
    sticks : tuple of ndarray
        Parameters a and b of the sticks.

    Returns
    -------
    forms : tuple of tuple
        Pairs of a number and a function.
    """
    parameters = np.array([k]), np.array([scale])
    (mean, mean_log), _ = weibull.moments(*parameters)

    def log_ratio(x):
        log_prior = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x
        return weibull.log_density(x, k, scale)[0] - log_prior

    def divergence(alpha):
        return np.reshape(
            [kumaraswamy.kl_to_beta(*sticks, value)[0] for value in np.ravel(alpha)],
            np.shape(alpha),
        )

    if name == "weibull.moments":
        return (mean[0], lambda x: x), (mean_log[0], np.log)
    if name == "weibull.kl_to_gamma":
        return ((weibull.kl_to_gamma(*parameters, shape, rate)[0], log_ratio),)
    return ((kumaraswamy.expected_kl_to_beta(*sticks, mean[0], mean_log[0])[0], divergence),)


@verifies(
    "divergences", "{}", "weibull.moments", "weibull.kl_to_gamma", "kumaraswamy.expected_kl_to_beta"
)
def learned_alpha(name, seed):
    """The means of alpha and log alpha under a Weibull; its divergence from a Gamma; the sticks'
    divergence over it.
    """
    sticks = (np.array([31.0, 8.0]), np.array([2.0, 0.7]))
    rng = np.random.default_rng(seed)
    case = weibull_case(3.0, 12.0)
    # each draw of alpha takes a call of the sticks' divergence
    size = 1_000 if name == "kumaraswamy.expected_kl_to_beta" else 5_000
    reports = [
        matches(closed, integrand, case, seed, size=size, name=f"{name}, {i}", rule=integral)
        for i, (closed, integrand) in enumerate(weibull_forms(name, 3.0, 12.0, 2.0, 0.2, sticks))
    ]
    for k, scale, shape, rate in rng.uniform((0.7, 0.2, 0.5, 0.05), (20, 60, 10, 3), (8, 4)):

        def quantile(u, k=k, scale=scale):
            return scale * (-np.log1p(-u)) ** (1 / k)

        for closed, integrand in weibull_forms(name, k, scale, shape, rate, sticks):
            # Over the quantiles: a bounded interval without a singular end.
            exact = integral(
                lambda u, g=integrand, x=quantile: g(x(u)), (1e-13, 1 - 1e-13), [0.5], steps=40
            )[0]
            if not abs(closed - exact) <= 1e-5 * (1 + abs(exact)):
                return Outcome(
                    False,
                    f"{name} at k {k:.3g}, scale {scale:.3g}, shape {shape:.3g}, rate {rate:.3g}: "
                    f"closed form {closed:.8g}, quadrature {exact:.8g}",
                )
    return joined(reports)


@verifies("divergences", "stick_breaking.{}", "expected_weights", "expected_active")
def expected_under_prior(name, seed):
    """The expected numbers of weights and of active units under the prior, against draws, for three
    alphas.
    """
    units = 12
    inputs = 20
    draws = 3000
    words = ""
    numbers = {}
    ok = True
    rng = np.random.default_rng(seed)
    for alpha in (3.0, 0.5, 30.0):
        mask, log_pi = stick_breaking.sample_prior(
            draw("uniform", rng, draws, units), draw("uniform", rng, draws, inputs, units), alpha
        )
        if name == "expected_weights":
            closed = stick_breaking.expected_weights(alpha, units)
            counts = mask.sum(axis=(1, 2)) / inputs, np.exp(log_pi).sum(axis=1)
        else:
            closed = stick_breaking.expected_active_units(alpha, units, inputs)
            counts = (mask.any(axis=1).sum(axis=1),)
        for count in counts:
            mean = float(count.mean())
            error = float(count.std() / np.sqrt(draws))
            # If all units are active in every draw the error is 0; one draw in 3000 is what could
            # be missed.
            ok &= abs(mean - closed) < STANDARD_ERRORS * error + 1 / draws
            words = words or f"{closed:>11.6g} {'':11} {mean:>9.4g} +- {error:.0e}"
            numbers[f"alpha {alpha:g}, {len(numbers)}"] = {
                "closed_form": closed,
                "monte_carlo": mean,
                "standard_error": error,
            }
    return Outcome(bool(ok), words, numbers)
