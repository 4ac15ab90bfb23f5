r"""Checks of the closed forms of divergences against quadrature and Monte Carlo.

A few points are compared with both. Random points from the range in which the forms are used,
including its corners, are compared with quadrature only.
"""

import itertools

import numpy as np
from scipy.special import betaln

from ibpcl.numerics import log1mexp, logit, sigmoid
from ibpcl.paper.cases import draw, gaussian_case, kumaraswamy_case, logit_case
from ibpcl.paper.checks import Outcome, verifies
from ibpcl.paper.densities import inverse_gamma
from ibpcl.paper.errata.sticks import divergence_by_quadrature
from ibpcl.paper.expectations import columns, joined, matches
from ibpcl.paper.integrals import integral
from ibpcl.primitives import (
    bernoulli,
    concrete,
    gaussian,
    horseshoe,
    kumaraswamy,
    latent,
    stick_divergence,
)
from ibpcl.verify import expectation_matches
from ibpcl.verify.distributions.statistics import STANDARD_ERRORS, monte_carlo

GAUSSIANS = ((0.7, -0.4, 0.0, 0.3), (-1.0, 1.0, 2.0, -0.5))  # mu and log sigma of q, then of p
STICKS = (
    (2.0, 3.0, 1.5),
    (31.0, 2.0, 30.0),
    (57.0, 0.74, 30.0),
    (30.0, 1.0, 30.0),
    (5.0, 0.5, 30.0),
)
GENERAL = ((2.0, 3.0, 1.5, 2.5), (31.0, 2.0, 30.0, 3.0), (1.0, 2.0, 1.0, 3.0))
# Whole, small and large shapes, for the error that the series states.
SERIES = (
    *GENERAL,
    (0.4, 0.6, 2.0, 0.5),
    (8.0, 0.3, 8.0, 4.0),
    (2.0, 3.0, 1.5, 1.0),
    (2.0, 200.0, 1.5, 2.5),
    (31, 2, 30, 3),
)
POSTERIORS = (
    (31.0, 2.0, 30.0, 3.0),
    (57.0, 0.74, 30.0, 1.3),
    (5.0, 8.0, 20.0, 2.0),
    (2.0, 3.0, 2.0, 1.0),
    (2.0, 3.0, 1.5, 2.5),
    (30.0, 1.0, 45.0, 0.5),
)
DELTAS = (0.5, 1.0, 2.197, 4.394, 8.0)


def between_gaussians(kl, seed):
    """Compare a divergence of two Gaussians at the points of :data:`GAUSSIANS`, at corners and at
    random points.

    Parameters
    ----------
    kl : callable
        Closed form of the divergence, a function of ``mu``, ``log_sigma``, ``prior_mu`` and
        ``prior_log_sigma``, which returns it with a cache.
    seed : int
        Determines the random points and the Monte-Carlo samples.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """

    def closed(*point):
        return kl(*(np.array([value]) for value in point))[0]

    reports = [
        matches(
            closed(*point),
            lambda x, q=point[:2], p=point[2:]: (
                gaussian.log_density(x, *q)[0] - gaussian.log_density(x, *p)[0]
            ),
            gaussian_case(*point[:2]),
            seed,
            rule=integral,
        )
        for point in GAUSSIANS
    ]
    corners = itertools.product((-3.0, 3.0), (-1.5, 1.5), (-3.0, 3.0), (-1.5, 1.5))
    drawn = np.random.default_rng(seed).uniform((-3, -1.5, -3, -1.5), (3, 1.5, 3, 1.5), (16, 4))
    for mu, log_sigma, prior_mu, prior_log_sigma in (*corners, *drawn):
        case = gaussian_case(mu, log_sigma)
        sigma = np.exp(log_sigma)
        reports.append(
            expectation_matches(
                closed(mu, log_sigma, prior_mu, prior_log_sigma),
                lambda x, q=case, mean=prior_mu, log_scale=prior_log_sigma: (
                    q.log_density(x) - log_normal(x, mean, log_scale)
                ),
                case.log_density,
                (mu - 12 * sigma, mu + 12 * sigma),
                points=case.points,
                rtol=1e-8,
                rule=integral,
                name=f"{case.label} from mu {prior_mu:g}, log sigma {prior_log_sigma:g}",
            )
        )
    return joined(reports)


def log_normal(x, mean, log_scale):
    """Evaluate the log density of N(mean, exp(log_scale)^2), written out.

    Parameters
    ----------
    x : float or ndarray
        Where to evaluate it.
    mean, log_scale : float
        Its mean and the logarithm of its scale.

    Returns
    -------
    log_density : float or ndarray
    """
    return -0.5 * ((x - mean) / np.exp(log_scale)) ** 2 - log_scale - 0.5 * np.log(2 * np.pi)


@verifies("divergences", "gaussian.kl")
def gaussian_kl(seed):
    """KL[N || N]."""
    return between_gaussians(gaussian.kl, seed)


@verifies("divergences", "latent.kl")
def codes_kl(seed):
    """KL[N || N] of one code of one example."""

    def kl(*values):
        posterior = (value[None, None] for value in values[:2])
        prior = values[2:]
        divergence, cache = latent.kl(*posterior, *prior)
        return divergence[0, 0], cache

    return between_gaussians(kl, seed)


def stick_report(a, b, alpha, beta, closed, seed, rtol=1e-7):
    """Compare one closed form of KL[Kumaraswamy(a, b) || Beta(alpha, beta)].

    Parameters
    ----------
    a, b : float
        Parameters of the Kumaraswamy distribution, > 0.
    alpha, beta : float
        Parameters of the Beta distribution, > 0.
    closed : float
        The closed form, in nats.
    seed : int
        Determines the Monte-Carlo samples.
    rtol : float
        Relative tolerance against quadrature.

    Returns
    -------
    report : ibpcl.verify.distributions.statistics.DistributionReport
    """
    case = kumaraswamy_case(a, b)

    def integrand(v):
        log_v = np.log(v)
        log_p = (
            (alpha - 1) * log_v
            + ((beta - 1) * log1mexp(log_v) if beta != 1 else 0.0)
            - betaln(alpha, beta)
        )
        return kumaraswamy.log_density(log_v, a, b)[0] - log_p

    return matches(
        closed,
        integrand,
        case,
        seed,
        rtol=rtol,
        name=f"{case.label}, alpha {alpha:g}, beta {beta:g}",
    )


@verifies("divergences", "kumaraswamy.kl_to_beta")
def sticks_kl(seed):
    """KL[Kumaraswamy(a, b) || Beta(alpha, 1)], the IBP's case."""
    return joined(
        [
            stick_report(
                a,
                b,
                alpha,
                1.0,
                kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0],
                seed,
                1e-8,
            )
            for a, b, alpha in STICKS
        ]
    )


@verifies("divergences", "kumaraswamy.kl_to_general_beta")
def general_sticks_kl(seed):
    """KL[Kumaraswamy(a, b) || Beta(alpha, beta)], by its series, within its stated error."""
    outcome = joined(
        [stick_report(*point, kumaraswamy.kl_to_general_beta(*point)[0], seed) for point in GENERAL]
    )
    far = []
    for point in SERIES:
        value, error = kumaraswamy.kl_to_general_beta(*point, tolerance=1e-9)
        apart = abs(value - divergence_by_quadrature(*point))
        if error > 1e-9 or apart > max(3 * error, 2e-9):
            far.append(f"{point}: {apart:.1e} away, stated {error:.1e}")
    return Outcome(False, "; ".join(far), outcome.numbers, outcome.text) if far else outcome


@verifies("divergences", "stick_divergence.kl")
def posterior_sticks_kl(seed):
    """KL[Kumaraswamy(a, b) || Kumaraswamy(a0, b0)]: the previous posterior is the prior."""
    reports = []
    for *q, prior_a, prior_b in POSTERIORS:

        def integrand(v, q=q, p=(prior_a, prior_b)):
            return (
                kumaraswamy.log_density(np.log(v), *q)[0]
                - kumaraswamy.log_density(np.log(v), *p)[0]
            )

        closed = stick_divergence.kl(*(np.array([value]) for value in (*q, prior_a, prior_b)))[0]
        reports.append(matches(closed, integrand, kumaraswamy_case(*q), seed, rtol=1e-6))
    return joined(reports)


def scales_by_quadrature(mu, log_sigma, a, b, scale):
    """Integrate the divergence of a log-normal scale and its auxiliary variable from the hierarchy.

    Parameters
    ----------
    mu, log_sigma : float
        Mean and log standard deviation of the log variance.
    a, b : float
        Shape and rate of the auxiliary variable's inverse Gamma posterior.
    scale : float
        Median of the half-Cauchy prior.

    Returns
    -------
    divergence : float
        In nats, by Gauss-Hermite nodes for the log variance and quadrature for the other.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    x = mu + np.exp(log_sigma) * nodes

    def over_auxiliary(x):
        squared = np.exp(x)

        def integrand(nu):
            log_q = inverse_gamma(nu, a, b)
            # log variance and squared scale differ by a Jacobian, squared
            log_p = inverse_gamma(squared, 0.5, 1 / nu) + x + inverse_gamma(nu, 0.5, scale**-2)
            return np.exp(log_q) * (log_q + log_normal(x, mu, log_sigma) - log_p)

        mode = b / (a + 1)
        return integral(integrand, (0.0, np.inf), (mode / 5, mode, 5 * mode, 50 * mode))[0]

    values = np.array([over_auxiliary(at) for at in x])
    return float(weights @ values / np.sqrt(2 * np.pi))


@verifies("divergences", "horseshoe.{}", "kl", "hierarchy_kl")
def scales_kl(name, seed):
    """The divergence of a scale from the half-Cauchy hierarchy, at its optimal auxiliary variable
    and at any other.
    """
    rng = np.random.default_rng(seed)
    # fixed points, then random ones
    q = np.concatenate([[[0.7, -0.4], [-6.0, 0.3]], rng.uniform((-8, -2), (4, 0.5), (4, 2))])
    gaps = []
    words = ""
    for mu, log_sigma in q:
        scale = float(np.exp(rng.normal()))
        if name == "kl":
            a = 1.0
            b = np.exp(np.exp(2 * log_sigma) / 2 - mu) + scale**-2
            closed = horseshoe.kl(np.array([mu]), np.array([log_sigma]), scale)[0]
        else:
            a, b = np.exp(rng.uniform((-0.5, -1.0), (1.0, 1.0)))
            closed = horseshoe.hierarchy_kl(
                *(np.array([value]) for value in (mu, log_sigma, a, b)), scale
            )[0]
        exact = scales_by_quadrature(mu, log_sigma, a, b, scale)
        words = words or f"{closed:>11.6g} {exact:>11.6g}"
        gaps.append(abs(closed - exact) / (1 + abs(exact)))
    return Outcome(max(gaps) < 1e-7, words, {"gaps": gaps})


@verifies("divergences", "horseshoe.kl.minimum")
def scales_kl_minimum(seed):
    """It is the least over all auxiliary posteriors, and above the divergence from the half-Cauchy
    itself by the gap of Jensen's inequality.
    """
    rng = np.random.default_rng(seed)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    smallest = np.inf
    gaps = []
    for _ in range(20):
        mu = rng.uniform(-3, 3)
        log_sigma = rng.uniform(-2, 0.5)
        scale = np.exp(rng.normal())
        at = np.array([mu]), np.array([log_sigma])
        least = horseshoe.kl(*at, scale)[0]
        others = np.exp(rng.normal(size=(2, 50)))
        smallest = min(
            smallest,
            *(
                horseshoe.hierarchy_kl(*at, np.array([a]), np.array([b]), scale)[0] - least
                for a, b in others.T
            ),
        )
        x = mu + np.exp(log_sigma) * nodes
        log_ratio = log_normal(x, mu, log_sigma) - horseshoe.log_density(x, scale)[0]
        odds = scale**2 * np.exp(-x)
        means = [weights @ values / np.sqrt(2 * np.pi) for values in (odds, np.log1p(odds))]
        gaps.append(
            least - weights @ log_ratio / np.sqrt(2 * np.pi) - np.log1p(means[0]) + means[1]
        )
    gap = float(np.abs(gaps).max())
    return Outcome(
        smallest > 0 and gap < 1e-9,
        f"the least of 1000; Jensen's gap to {gap:.0e}",
        {"smallest": smallest, "gap": gap},
    )


@verifies("divergences", "concrete.kl")
def relaxed_kl(seed):
    """D coth(D/2) - 2 against the relaxed divergence, at several temperatures."""
    reports = []
    for delta, tau in zip(DELTAS, (0.25, 0.5, 1.0, 2.0, 10.0), strict=True):
        reports.append(
            matches(
                concrete.kl(*one(delta - 0.4, -0.4))[0][0],
                lambda y, d=delta, t=tau: (
                    concrete.log_density_logit(y, d - 0.4, t)[0]
                    - concrete.log_density_logit(y, -0.4, t)[0]
                ),
                logit_case(delta - 0.4, tau),
                seed,
                support=(-60 / tau, 80 / tau),
                rule=integral,
            )
        )
    return joined(reports)


def one(logit_theta, logit_pi):
    """Shape the log-odds of a single mask for the divergences.

    Parameters
    ----------
    logit_theta, logit_pi : float
        Log-odds of the posterior and of the prior.

    Returns
    -------
    logit_theta : ndarray, shape (1, 1, 1)
    logit_pi : ndarray, shape (1, 1)
    """
    return np.full((1, 1, 1), logit_theta), np.full((1, 1), logit_pi)


@verifies("divergences", "concrete.kl.bound")
def relaxed_kl_bound(seed):
    """The relaxed divergence is at least the Bernoulli's, on a grid of log-odds."""
    grid = np.linspace(-6, 6, 49)
    theta, pi = (part.ravel() for part in np.meshgrid(grid, grid))
    relaxed, discrete = (
        module.kl(theta[:, None, None], pi[:, None])[0] for module in (concrete, bernoulli)
    )
    gap = float(np.min(relaxed - discrete))
    return Outcome(
        gap >= -1e-12, f"concrete - Bernoulli >= 0 at {grid.size**2} points", {"smallest_gap": gap}
    )


@verifies("divergences", "concrete.kl.free-of-sticks")
def relaxed_kl_free_of_sticks(seed):
    """With logit theta = rho + logit pi the relaxed divergence depends on rho alone: rho
    coth(rho/2) - 2.
    """
    rng = np.random.default_rng(seed)
    rho = rng.normal(size=(1, 5, 4))
    logit_pi = rng.normal(size=(3, 4))
    value, cache = concrete.kl(rho + logit_pi[:, None, :], logit_pi)
    dlogit_theta, dlogit_pi = concrete.kl_vjp(np.ones(3), cache)
    exact = (rho / np.tanh(rho / 2) - 2).sum()
    gap = max(np.abs(value - exact).max(), np.abs(dlogit_theta.sum(axis=1) + dlogit_pi).max())
    return Outcome(
        gap < 1e-9, f"rho coth(rho/2) - 2 = {exact:.5g} for any v, to {gap:.0e}", {"gap": gap}
    )


@verifies("divergences", "bernoulli.kl")
def bernoulli_kl(seed):
    """The closed form against its definition, also at random log-odds, and against Monte Carlo."""
    rng = np.random.default_rng(seed)
    words = ""
    ok = True
    numbers = {}
    for theta, pi in ((0.5, 0.1), (0.9, 0.1), (0.01, 0.3)):
        closed = bernoulli.kl(*one(logit(theta), logit(pi)))[0][0]
        exact = bernoulli_definition(theta, pi)
        z = (draw("uniform", rng, 100_000) < theta).astype(float)
        log_ratio = (
            bernoulli.log_density(z, logit(theta))[0] - bernoulli.log_density(z, logit(pi))[0]
        )
        mean, error = monte_carlo(lambda values: values, lambda *_, r=log_ratio: r, seed, len(z))
        ok &= bool(abs(closed - exact) < 1e-12 and abs(mean - closed) < STANDARD_ERRORS * error)
        words = words or columns(closed, exact, mean, error)
        numbers[f"theta {theta}, pi {pi}"] = {
            "closed_form": closed,
            "definition": exact,
            "monte_carlo": mean,
            "standard_error": error,
        }
    log_odds = rng.uniform(-6, 6, (2, 500))
    closed = bernoulli.kl(log_odds[0][:, None, None], log_odds[1][:, None])[0]
    apart = float(np.abs(closed - bernoulli_definition(*sigmoid(log_odds))).max())
    return Outcome(ok and apart < 1e-12, words, {**numbers, "apart_at_random_points": apart})


def bernoulli_definition(theta, pi):
    """Evaluate KL[Bernoulli(theta) || Bernoulli(pi)] as it is defined.

    Parameters
    ----------
    theta, pi : ndarray
        Probabilities of the posterior and of the prior, in (0, 1).

    Returns
    -------
    divergence : ndarray
        In nats.
    """
    return theta * np.log(theta / pi) + (1 - theta) * np.log((1 - theta) / (1 - pi))


@verifies("divergences", "bernoulli.kl.gradient")
def bernoulli_kl_gradient(seed):
    """With logit theta = rho + logit pi its gradients are theta (1 - theta) rho, and that plus pi -
    theta.
    """
    rng = np.random.default_rng(seed)
    rho = rng.normal(size=(1, 5, 4))
    logit_pi = rng.normal(size=(3, 4))
    logit_theta = rho + logit_pi[:, None, :]
    dlogit_theta, dlogit_pi = bernoulli.kl_vjp(np.ones(3), bernoulli.kl(logit_theta, logit_pi)[1])
    theta = sigmoid(logit_theta)
    pi = sigmoid(logit_pi)
    slope = theta * (1 - theta) * rho
    gap = max(
        np.abs(dlogit_theta - slope).max(),
        np.abs(
            dlogit_pi + dlogit_theta.sum(axis=1) - (slope + pi[:, None] - theta).sum(axis=1)
        ).max(),
    )
    return Outcome(gap < 1e-12, f"theta (1 - theta) rho, to {max(gap, 1e-17):.0e}", {"gap": gap})
