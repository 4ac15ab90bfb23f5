r"""Every closed form of an expectation, against quadrature and against Monte Carlo with its standard error."""

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import betaln, digamma, gammaln

from ibpcl.numerics import log1mexp, logit, sigmoid
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
from ibpcl.proofs.distributions import draw, gaussian_case, kumaraswamy_case, logit_case, weibull_case
from ibpcl.proofs.outcome import Check, Outcome, from_reports
from ibpcl.verify import expectation_matches
from ibpcl.verify.distributions import STANDARD_ERRORS, monte_carlo

STICKS = ((2.0, 3.0, 1.5), (31.0, 2.0, 30.0), (57.0, 0.74, 30.0), (30.0, 1.0, 30.0))
GENERAL = ((2.0, 3.0, 1.5, 2.5), (31.0, 2.0, 30.0, 3.0), (1.0, 2.0, 1.0, 3.0))
POSTERIORS = ((31.0, 2.0, 30.0, 3.0), (57.0, 0.74, 30.0, 1.3), (5.0, 8.0, 20.0, 2.0), (2.0, 3.0, 2.0, 1.0))
DELTAS = (0.5, 1.0, 2.197, 4.394, 8.0)


def joined(reports):
    """Join reports, and show the numbers of the first."""
    first = reports[0].numbers
    return from_reports(reports, columns(first["closed_form"], first["quadrature"], first["monte_carlo"],
                                         first["standard_error"]))


def columns(closed, exact, mean, error):
    """Write closed form, quadrature, and Monte Carlo with its standard error side by side."""
    return f"{closed:>11.6g} {exact:>11.6g} {mean:>9.4g} +- {error:.0e}"


def check_gaussian(seed, kl=None):
    """KL[N || N]."""
    reports = []
    for q, p in (((0.7, -0.4), (0.0, 0.3)), ((-1.0, 1.0), (2.0, -0.5))):
        closed = (kl or gaussian.kl)(*(np.array([value]) for value in (*q, *p)))[0]
        case = gaussian_case(*q)
        reports.append(expectation_matches(
            closed, lambda x, q=q, p=p: gaussian.log_density(x, *q)[0] - gaussian.log_density(x, *p)[0],
            case.log_density, case.support, case.sample, points=case.points, seed=seed, name=case.label))
    return joined(reports)


def check_codes(seed):
    """KL[N || N] of one code of one example."""
    def kl(*values):
        posterior, prior = (value[None, None] for value in values[:2]), values[2:]
        divergence, cache = latent.kl(*posterior, *prior)
        return divergence[0, 0], cache

    return check_gaussian(seed, kl)


def stick_report(a, b, alpha, beta, closed, seed, rtol=1e-7):
    """Check one closed form of KL[Kumaraswamy(a, b) || Beta(alpha, beta)]."""
    case = kumaraswamy_case(a, b)

    def integrand(v):
        log_v = np.log(v)
        log_p = (alpha - 1) * log_v + ((beta - 1) * log1mexp(log_v) if beta != 1 else 0.0) - betaln(alpha, beta)
        return kumaraswamy.log_density(log_v, a, b)[0] - log_p

    return expectation_matches(closed, integrand, case.log_density, case.support, case.sample, points=case.points,
                               rtol=rtol, seed=seed, name=f"{case.label}, alpha {alpha:g}, beta {beta:g}")


def check_sticks(seed):
    """KL[Kumaraswamy(a, b) || Beta(alpha, 1)], the IBP's case."""
    return joined([stick_report(a, b, alpha, 1.0, kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0], seed)
                   for a, b, alpha in STICKS])


def check_general_sticks(seed):
    """KL[Kumaraswamy(a, b) || Beta(alpha, beta)], by its series."""
    return joined([stick_report(*point, kumaraswamy.kl_to_general_beta(*point)[0], seed) for point in GENERAL])


def check_posterior_sticks(seed):
    """KL[Kumaraswamy(a, b) || Kumaraswamy(a0, b0)]: yesterday's posterior as the prior."""
    reports = []
    for *q, prior_a, prior_b in POSTERIORS:
        case = kumaraswamy_case(*q)

        def integrand(v, q=q, p=(prior_a, prior_b)):
            return kumaraswamy.log_density(np.log(v), *q)[0] - kumaraswamy.log_density(np.log(v), *p)[0]

        closed = stick_divergence.kl(*(np.array([value]) for value in (*q, prior_a, prior_b)))[0]
        reports.append(expectation_matches(closed, integrand, case.log_density, case.support, case.sample,
                                           points=case.points, rtol=1e-6, seed=seed, name=case.label))
    return joined(reports)


def check_mean_log(seed):
    r""":math:`E[\log v] = -(\gamma + \psi(b + 1)) / a`."""
    reports = []
    for a, b in ((31.0, 2.0), (2.0, 3.0)):
        case = kumaraswamy_case(a, b)
        reports.append(expectation_matches(-(np.euler_gamma + digamma(b + 1)) / a, np.log, case.log_density,
                                           case.support, case.sample, points=case.points, seed=seed, name=case.label))
    return joined(reports)


def check_mean(seed):
    r""":math:`E[v] = b\, B(1 + 1/a, b)`."""
    case = kumaraswamy_case(2.0, 5.0)
    return joined([expectation_matches(5.0 * beta_function(1.5, 5.0), lambda v: v, case.log_density, case.support,
                                       case.sample, points=case.points, seed=seed, name=case.label)])


def check_weibull(name, seed):
    """The means of alpha and log alpha under a Weibull; its divergence from a Gamma; the sticks' divergence over it."""
    k, scale, shape, rate = np.array([3.0]), np.array([12.0]), 2.0, 0.2
    sticks = np.array([31.0, 8.0]), np.array([2.0, 0.7])
    (mean, mean_log), _ = weibull.moments(k, scale)
    case = weibull_case(3.0, 12.0)

    def log_ratio(x):
        log_prior = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x
        return weibull.log_density(x, 3.0, 12.0)[0] - log_prior

    def divergence(alpha):
        return np.reshape([kumaraswamy.kl_to_beta(*sticks, value)[0] for value in np.ravel(alpha)], np.shape(alpha))

    forms = {"weibull.moments": ((mean[0], lambda x: x), (mean_log[0], np.log)),
             "weibull.kl_to_gamma": ((weibull.kl_to_gamma(k, scale, shape, rate)[0], log_ratio),),
             "kumaraswamy.expected_kl_to_beta": (
                 (kumaraswamy.expected_kl_to_beta(*sticks, mean[0], mean_log[0])[0], divergence),)}
    return joined([expectation_matches(closed, integrand, case.log_density, case.support, case.sample, size=20_000,
                                       points=case.points, seed=seed, name=f"{name}, {i}")
                   for i, (closed, integrand) in enumerate(forms[name])])


def one(logit_theta, logit_pi):
    """Shape the log-odds of a single mask for the divergences."""
    return np.full((1, 1, 1), logit_theta), np.full((1, 1), logit_pi)


def check_concrete(seed):
    """D coth(D/2) - 2 against the relaxed divergence, at several temperatures."""
    reports = []
    for delta, tau in zip(DELTAS, (0.25, 0.5, 1.0, 2.0, 10.0), strict=True):
        case = logit_case(delta - 0.4, tau)
        reports.append(expectation_matches(
            concrete.kl(*one(delta - 0.4, -0.4))[0][0],
            lambda y, d=delta, t=tau: (concrete.log_density_logit(y, d - 0.4, t)[0]
                                       - concrete.log_density_logit(y, -0.4, t)[0]),
            case.log_density, (-60 / tau, 80 / tau), case.sample, points=case.points, seed=seed, name=case.label))
    return joined(reports)


def check_bound(seed):
    """The relaxed divergence is at least the Bernoulli's, on a grid of log-odds."""
    grid = np.linspace(-6, 6, 49)
    theta, pi = (part.ravel() for part in np.meshgrid(grid, grid))
    relaxed, discrete = (module.kl(theta[:, None, None], pi[:, None])[0] for module in (concrete, bernoulli))
    gap = float(np.min(relaxed - discrete))
    return Outcome(gap >= -1e-12, f"concrete - Bernoulli >= 0 at {grid.size**2} points", {"smallest_gap": gap})


def check_free_of_sticks(seed):
    """With logit theta = rho + logit pi the relaxed divergence depends on rho alone: rho coth(rho/2) - 2."""
    rng = np.random.default_rng(seed)
    rho, logit_pi = rng.normal(size=(1, 5, 4)), rng.normal(size=(3, 4))
    value, cache = concrete.kl(rho + logit_pi[:, None, :], logit_pi)
    dlogit_theta, dlogit_pi = concrete.kl_vjp(np.ones(3), cache)
    exact = (rho / np.tanh(rho / 2) - 2).sum()
    gap = max(np.abs(value - exact).max(), np.abs(dlogit_theta.sum(axis=1) + dlogit_pi).max())
    return Outcome(gap < 1e-9, f"rho coth(rho/2) - 2 = {exact:.5g} for any v, to {gap:.0e}", {"gap": gap})


def check_bernoulli(seed):
    """The closed form against its definition and against Monte Carlo."""
    rng, worst, words = np.random.default_rng(seed), 0.0, ""
    ok, numbers = True, {}
    for theta, pi in ((0.5, 0.1), (0.9, 0.1), (0.01, 0.3)):
        closed = bernoulli.kl(*one(logit(theta), logit(pi)))[0][0]
        exact = theta * np.log(theta / pi) + (1 - theta) * np.log((1 - theta) / (1 - pi))
        z = (draw("uniform", rng, 100_000) < theta).astype(float)
        log_ratio = bernoulli.log_density(z, logit(theta))[0] - bernoulli.log_density(z, logit(pi))[0]
        mean, error = monte_carlo(lambda values: values, lambda *_, r=log_ratio: r, seed, len(z))
        worst = max(worst, abs(closed - exact))
        ok &= bool(abs(closed - exact) < 1e-12 and abs(mean - closed) < STANDARD_ERRORS * error)
        words = words or columns(closed, exact, mean, error)
        numbers[f"theta {theta}, pi {pi}"] = {"closed_form": closed, "definition": exact, "monte_carlo": mean,
                                              "standard_error": error}
    return Outcome(ok, words, numbers)


def check_bernoulli_gradient(seed):
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


def check_expected(name, seed):
    """The expected numbers of weights and of active units under the prior, against draws."""
    alpha, units, inputs, draws = 3.0, 12, 20, 3000
    rng = np.random.default_rng(seed)
    mask, _ = stick_breaking.sample_prior(draw("uniform", rng, draws, units),
                                          draw("uniform", rng, draws, inputs, units), alpha)
    if name == "expected_weights":
        closed, drawn = stick_breaking.expected_weights(alpha, units), mask.sum(axis=(1, 2)) / inputs
    else:
        closed, drawn = stick_breaking.expected_active_units(alpha, units, inputs), mask.any(axis=1).sum(axis=1)
    mean, error = float(drawn.mean()), float(drawn.std() / np.sqrt(draws))
    return Outcome(abs(mean - closed) < STANDARD_ERRORS * error, f"{closed:>11.6g} {'':11} {mean:>9.4g} +- {error:.0e}",
                   {"closed_form": closed, "monte_carlo": mean, "standard_error": error})


def checks():
    """Return the checks."""
    functions = {
        "gaussian.kl": check_gaussian, "latent.kl": check_codes, "kumaraswamy.kl_to_beta": check_sticks,
        "kumaraswamy.kl_to_general_beta": check_general_sticks, "stick_divergence.kl": check_posterior_sticks,
        "kumaraswamy.mean-log": check_mean_log,
        "kumaraswamy.mean": check_mean, "concrete.kl": check_concrete, "concrete.kl.bound": check_bound,
        "concrete.kl.free-of-sticks": check_free_of_sticks, "bernoulli.kl": check_bernoulli,
        "bernoulli.kl.gradient": check_bernoulli_gradient,
        **{name: lambda seed, n=name: check_weibull(n, seed) for name in
           ("weibull.moments", "weibull.kl_to_gamma", "kumaraswamy.expected_kl_to_beta")},
        "stick_breaking.expected_weights": lambda seed: check_expected("expected_weights", seed),
        "stick_breaking.expected_active": lambda seed: check_expected("expected_active_units", seed),
    }
    return [Check("divergences", name, run) for name, run in functions.items()]
