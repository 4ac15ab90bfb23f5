r"""Every closed form of an expectation, against quadrature and against Monte Carlo with its standard error.

A few points are held against both; points drawn at random from the range in which the forms are used, corners
included, against quadrature alone.
"""

import itertools

import numpy as np
from scipy import stats
from scipy.special import beta as beta_function
from scipy.special import betaln, digamma, gammaln

from ibpcl.numerics import log1mexp, logit, sigmoid
from ibpcl.paper.cases import draw, gaussian_case, kumaraswamy_case, logit_case, weibull_case
from ibpcl.paper.checks import Outcome, from_reports, proves
from ibpcl.paper.errata.sticks import divergence_by_quadrature
from ibpcl.primitives import (
    bernoulli,
    concrete,
    gaussian,
    kumaraswamy,
    latent,
    stick_breaking,
    stick_divergence,
    weibull,
)
from ibpcl.verify import expectation_matches
from ibpcl.verify.distributions import STANDARD_ERRORS, monte_carlo, quadrature

GAUSSIANS = ((0.7, -0.4, 0.0, 0.3), (-1.0, 1.0, 2.0, -0.5))  # mu and log sigma of q, then of p
STICKS = ((2.0, 3.0, 1.5), (31.0, 2.0, 30.0), (57.0, 0.74, 30.0), (30.0, 1.0, 30.0), (5.0, 0.5, 30.0))
GENERAL = ((2.0, 3.0, 1.5, 2.5), (31.0, 2.0, 30.0, 3.0), (1.0, 2.0, 1.0, 3.0))
# Whole, small and large shapes, for the error that the series states.
SERIES = (*GENERAL, (0.4, 0.6, 2.0, 0.5), (8.0, 0.3, 8.0, 4.0), (2.0, 3.0, 1.5, 1.0), (2.0, 200.0, 1.5, 2.5),
          (31, 2, 30, 3))
POSTERIORS = ((31.0, 2.0, 30.0, 3.0), (57.0, 0.74, 30.0, 1.3), (5.0, 8.0, 20.0, 2.0), (2.0, 3.0, 2.0, 1.0),
              (2.0, 3.0, 1.5, 2.5), (30.0, 1.0, 45.0, 0.5))
DELTAS = (0.5, 1.0, 2.197, 4.394, 8.0)


def columns(closed, exact, mean, error):
    """Return closed form, quadrature, and Monte Carlo with its standard error side by side."""
    return f"{closed:>11.6g} {exact:>11.6g} {mean:>9.4g} +- {error:.0e}"


def joined(reports):
    """Join reports, and show the numbers of the first."""
    first = reports[0].numbers
    return from_reports(reports, columns(first["closed_form"], first["quadrature"], first["monte_carlo"],
                                         first["standard_error"]))


def matches(closed, integrand, case, seed, *, support=None, rtol=1e-7, name=None, **options):
    """Compare a closed form of E[integrand] under a case's density with quadrature and with its draws."""
    return expectation_matches(closed, integrand, case.log_density, support or case.support, case.sample,
                               points=case.points, rtol=rtol, seed=seed, name=name or case.label, **options)


def between_gaussians(kl, seed):
    """Compare a divergence of two Gaussians at the points of :data:`GAUSSIANS`, at corners and at random points."""
    def closed(*point):
        return kl(*(np.array([value]) for value in point))[0]

    reports = [matches(closed(*point), lambda x, q=point[:2], p=point[2:]: (
        gaussian.log_density(x, *q)[0] - gaussian.log_density(x, *p)[0]), gaussian_case(*point[:2]), seed)
        for point in GAUSSIANS]
    corners = itertools.product((-3.0, 3.0), (-1.5, 1.5), (-3.0, 3.0), (-1.5, 1.5))
    drawn = np.random.default_rng(seed).uniform((-3, -1.5, -3, -1.5), (3, 1.5, 3, 1.5), (16, 4))
    for mu, log_sigma, prior_mu, prior_log_sigma in (*corners, *drawn):
        case, sigma = gaussian_case(mu, log_sigma), np.exp(log_sigma)
        p = stats.norm(prior_mu, np.exp(prior_log_sigma))
        reports.append(expectation_matches(
            closed(mu, log_sigma, prior_mu, prior_log_sigma), lambda x, q=case, p=p: q.log_density(x) - p.logpdf(x),
            case.log_density, (mu - 12 * sigma, mu + 12 * sigma), points=case.points, rtol=1e-8,
            name=f"{case.label} from mu {prior_mu:g}, log sigma {prior_log_sigma:g}"))
    return joined(reports)


@proves("divergences", "gaussian.kl")
def gaussian_kl(seed):
    """KL[N || N]."""
    return between_gaussians(gaussian.kl, seed)


@proves("divergences", "latent.kl")
def codes_kl(seed):
    """KL[N || N] of one code of one example."""
    def kl(*values):
        posterior, prior = (value[None, None] for value in values[:2]), values[2:]
        divergence, cache = latent.kl(*posterior, *prior)
        return divergence[0, 0], cache

    return between_gaussians(kl, seed)


def stick_report(a, b, alpha, beta, closed, seed, rtol=1e-7):
    """Compare one closed form of KL[Kumaraswamy(a, b) || Beta(alpha, beta)]."""
    case = kumaraswamy_case(a, b)

    def integrand(v):
        log_v = np.log(v)
        log_p = (alpha - 1) * log_v + ((beta - 1) * log1mexp(log_v) if beta != 1 else 0.0) - betaln(alpha, beta)
        return kumaraswamy.log_density(log_v, a, b)[0] - log_p

    return matches(closed, integrand, case, seed, rtol=rtol, name=f"{case.label}, alpha {alpha:g}, beta {beta:g}")


@proves("divergences", "kumaraswamy.kl_to_beta")
def sticks_kl(seed):
    """KL[Kumaraswamy(a, b) || Beta(alpha, 1)], the IBP's case."""
    return joined([stick_report(a, b, alpha, 1.0, kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0], seed,
                                1e-8) for a, b, alpha in STICKS])


@proves("divergences", "kumaraswamy.kl_to_general_beta")
def general_sticks_kl(seed):
    """KL[Kumaraswamy(a, b) || Beta(alpha, beta)], by its series, which is as close as it says."""
    outcome = joined([stick_report(*point, kumaraswamy.kl_to_general_beta(*point)[0], seed) for point in GENERAL])
    far = []
    for point in SERIES:
        value, error = kumaraswamy.kl_to_general_beta(*point, tolerance=1e-9)
        apart = abs(value - divergence_by_quadrature(*point))
        if error > 1e-9 or apart > max(3 * error, 2e-9):
            far.append(f"{point}: {apart:.1e} away, stated {error:.1e}")
    return Outcome(False, "; ".join(far), outcome.numbers, outcome.text) if far else outcome


@proves("divergences", "stick_divergence.kl")
def posterior_sticks_kl(seed):
    """KL[Kumaraswamy(a, b) || Kumaraswamy(a0, b0)]: yesterday's posterior as the prior."""
    reports = []
    for *q, prior_a, prior_b in POSTERIORS:
        def integrand(v, q=q, p=(prior_a, prior_b)):
            return kumaraswamy.log_density(np.log(v), *q)[0] - kumaraswamy.log_density(np.log(v), *p)[0]

        closed = stick_divergence.kl(*(np.array([value]) for value in (*q, prior_a, prior_b)))[0]
        reports.append(matches(closed, integrand, kumaraswamy_case(*q), seed, rtol=1e-6))
    return joined(reports)


@proves("divergences", "kumaraswamy.mean-log")
def mean_log_stick(seed):
    r""":math:`E[\log v] = -(\gamma + \psi(b + 1)) / a`."""
    return joined([matches(-(np.euler_gamma + digamma(b + 1)) / a, np.log, kumaraswamy_case(a, b), seed)
                   for a, b in ((31.0, 2.0), (2.0, 3.0))])


@proves("divergences", "kumaraswamy.mean")
def mean_stick(seed):
    r""":math:`E[v] = b\, B(1 + 1/a, b)`."""
    return joined([matches(5.0 * beta_function(1.5, 5.0), lambda v: v, kumaraswamy_case(2.0, 5.0), seed)])


@proves("divergences", "concrete.kl")
def relaxed_kl(seed):
    """D coth(D/2) - 2 against the relaxed divergence, at several temperatures."""
    reports = []
    for delta, tau in zip(DELTAS, (0.25, 0.5, 1.0, 2.0, 10.0), strict=True):
        reports.append(matches(
            concrete.kl(*one(delta - 0.4, -0.4))[0][0],
            lambda y, d=delta, t=tau: (concrete.log_density_logit(y, d - 0.4, t)[0]
                                       - concrete.log_density_logit(y, -0.4, t)[0]),
            logit_case(delta - 0.4, tau), seed, support=(-60 / tau, 80 / tau)))
    return joined(reports)


def one(logit_theta, logit_pi):
    """Shape the log-odds of a single mask for the divergences."""
    return np.full((1, 1, 1), logit_theta), np.full((1, 1), logit_pi)


@proves("divergences", "concrete.kl.bound")
def relaxed_kl_bound(seed):
    """The relaxed divergence is at least the Bernoulli's, on a grid of log-odds."""
    grid = np.linspace(-6, 6, 49)
    theta, pi = (part.ravel() for part in np.meshgrid(grid, grid))
    relaxed, discrete = (module.kl(theta[:, None, None], pi[:, None])[0] for module in (concrete, bernoulli))
    gap = float(np.min(relaxed - discrete))
    return Outcome(gap >= -1e-12, f"concrete - Bernoulli >= 0 at {grid.size**2} points", {"smallest_gap": gap})


@proves("divergences", "concrete.kl.free-of-sticks")
def relaxed_kl_free_of_sticks(seed):
    """With logit theta = rho + logit pi the relaxed divergence depends on rho alone: rho coth(rho/2) - 2."""
    rng = np.random.default_rng(seed)
    rho, logit_pi = rng.normal(size=(1, 5, 4)), rng.normal(size=(3, 4))
    value, cache = concrete.kl(rho + logit_pi[:, None, :], logit_pi)
    dlogit_theta, dlogit_pi = concrete.kl_vjp(np.ones(3), cache)
    exact = (rho / np.tanh(rho / 2) - 2).sum()
    gap = max(np.abs(value - exact).max(), np.abs(dlogit_theta.sum(axis=1) + dlogit_pi).max())
    return Outcome(gap < 1e-9, f"rho coth(rho/2) - 2 = {exact:.5g} for any v, to {gap:.0e}", {"gap": gap})


@proves("divergences", "bernoulli.kl")
def bernoulli_kl(seed):
    """The closed form against its definition, also at random log-odds, and against Monte Carlo."""
    rng, words, ok, numbers = np.random.default_rng(seed), "", True, {}
    for theta, pi in ((0.5, 0.1), (0.9, 0.1), (0.01, 0.3)):
        closed, exact = bernoulli.kl(*one(logit(theta), logit(pi)))[0][0], bernoulli_definition(theta, pi)
        z = (draw("uniform", rng, 100_000) < theta).astype(float)
        log_ratio = bernoulli.log_density(z, logit(theta))[0] - bernoulli.log_density(z, logit(pi))[0]
        mean, error = monte_carlo(lambda values: values, lambda *_, r=log_ratio: r, seed, len(z))
        ok &= bool(abs(closed - exact) < 1e-12 and abs(mean - closed) < STANDARD_ERRORS * error)
        words = words or columns(closed, exact, mean, error)
        numbers[f"theta {theta}, pi {pi}"] = {"closed_form": closed, "definition": exact, "monte_carlo": mean,
                                              "standard_error": error}
    log_odds = rng.uniform(-6, 6, (2, 500))
    closed = bernoulli.kl(log_odds[0][:, None, None], log_odds[1][:, None])[0]
    apart = float(np.abs(closed - bernoulli_definition(*sigmoid(log_odds))).max())
    return Outcome(ok and apart < 1e-12, words, {**numbers, "apart_at_random_points": apart})


def bernoulli_definition(theta, pi):
    """Evaluate KL[Bernoulli(theta) || Bernoulli(pi)] as it is defined."""
    return theta * np.log(theta / pi) + (1 - theta) * np.log((1 - theta) / (1 - pi))


@proves("divergences", "bernoulli.kl.gradient")
def bernoulli_kl_gradient(seed):
    """With logit theta = rho + logit pi its gradients are theta (1 - theta) rho, and that plus pi - theta."""
    rng = np.random.default_rng(seed)
    rho, logit_pi = rng.normal(size=(1, 5, 4)), rng.normal(size=(3, 4))
    logit_theta = rho + logit_pi[:, None, :]
    dlogit_theta, dlogit_pi = bernoulli.kl_vjp(np.ones(3), bernoulli.kl(logit_theta, logit_pi)[1])
    theta, pi = sigmoid(logit_theta), sigmoid(logit_pi)
    slope = theta * (1 - theta) * rho
    gap = max(np.abs(dlogit_theta - slope).max(),
              np.abs(dlogit_pi + dlogit_theta.sum(axis=1) - (slope + pi[:, None] - theta).sum(axis=1)).max())
    return Outcome(gap < 1e-12, f"theta (1 - theta) rho, to {max(gap, 1e-17):.0e}", {"gap": gap})


def weibull_forms(name, k, scale, shape, rate, sticks):
    """Return pairs of a closed form under Weibull(k, scale) and the function of alpha whose mean it is."""
    parameters = np.array([k]), np.array([scale])
    (mean, mean_log), _ = weibull.moments(*parameters)

    def log_ratio(x):
        log_prior = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x
        return weibull.log_density(x, k, scale)[0] - log_prior

    def divergence(alpha):
        return np.reshape([kumaraswamy.kl_to_beta(*sticks, value)[0] for value in np.ravel(alpha)], np.shape(alpha))

    if name == "weibull.moments":
        return (mean[0], lambda x: x), (mean_log[0], np.log)
    if name == "weibull.kl_to_gamma":
        return ((weibull.kl_to_gamma(*parameters, shape, rate)[0], log_ratio),)
    return ((kumaraswamy.expected_kl_to_beta(*sticks, mean[0], mean_log[0])[0], divergence),)


@proves("divergences", "{}", "weibull.moments", "weibull.kl_to_gamma", "kumaraswamy.expected_kl_to_beta")
def learned_alpha(name, seed):
    """The means of alpha and log alpha under a Weibull; its divergence from a Gamma; the sticks' divergence over it."""
    sticks, rng = (np.array([31.0, 8.0]), np.array([2.0, 0.7])), np.random.default_rng(seed)
    case = weibull_case(3.0, 12.0)
    reports = [matches(closed, integrand, case, seed, size=20_000, name=f"{name}, {i}")
               for i, (closed, integrand) in enumerate(weibull_forms(name, 3.0, 12.0, 2.0, 0.2, sticks))]
    for k, scale, shape, rate in rng.uniform((0.7, 0.2, 0.5, 0.05), (20, 60, 10, 3), (8, 4)):
        quantile = stats.weibull_min(k, scale=scale).ppf
        for closed, integrand in weibull_forms(name, k, scale, shape, rate, sticks):
            # Over the quantiles: a bounded interval without a singular end.
            exact = quadrature(lambda u, g=integrand, x=quantile: g(x(u)), (1e-13, 1 - 1e-13), [0.5])[0]
            if not abs(closed - exact) <= 1e-5 * (1 + abs(exact)):
                return Outcome(False, f"{name} at k {k:.3g}, scale {scale:.3g}, shape {shape:.3g}, rate {rate:.3g}: "
                                      f"closed form {closed:.8g}, quadrature {exact:.8g}")
    return joined(reports)


@proves("divergences", "stick_breaking.{}", "expected_weights", "expected_active")
def expected_under_prior(name, seed):
    """The expected numbers of weights and of active units under the prior, against draws, for three alphas."""
    units, inputs, draws, words, numbers, ok = 12, 20, 3000, "", {}, True
    rng = np.random.default_rng(seed)
    for alpha in (3.0, 0.5, 30.0):
        mask, log_pi = stick_breaking.sample_prior(draw("uniform", rng, draws, units),
                                                   draw("uniform", rng, draws, inputs, units), alpha)
        if name == "expected_weights":
            closed = stick_breaking.expected_weights(alpha, units)
            counts = mask.sum(axis=(1, 2)) / inputs, np.exp(log_pi).sum(axis=1)
        else:
            closed = stick_breaking.expected_active_units(alpha, units, inputs)
            counts = (mask.any(axis=1).sum(axis=1),)
        for count in counts:
            mean, error = float(count.mean()), float(count.std() / np.sqrt(draws))
            # If all units are active in every draw the error is 0; one draw in 3000 is what could be missed.
            ok &= abs(mean - closed) < STANDARD_ERRORS * error + 1 / draws
            words = words or f"{closed:>11.6g} {'':11} {mean:>9.4g} +- {error:.0e}"
            numbers[f"alpha {alpha:g}, {len(numbers)}"] = {"closed_form": closed, "monte_carlo": mean,
                                                           "standard_error": error}
    return Outcome(bool(ok), words, numbers)
