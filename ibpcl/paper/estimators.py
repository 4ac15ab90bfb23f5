r"""Checks of sampled gradients: their mean against the derivative of the expectation."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ibpcl.numerics import sigmoid
from ibpcl.paper.cases import (
    draw,
    gaussian_case,
    kumaraswamy_case,
    logit_case,
    weibull_case,
)
from ibpcl.paper.checks import Outcome, verifies
from ibpcl.paper.errata.masks import relaxed_divergence
from ibpcl.paper.integrals import integral
from ibpcl.primitives import (
    binary_gradients,
    concrete,
    gaussian,
    horseshoe,
    kumaraswamy,
    local_linear,
    masked_weights,
    weibull,
)
from ibpcl.verify import reparameterization_unbiased
from ibpcl.verify.distributions.statistics import STANDARD_ERRORS, monte_carlo

# One sample, one weight a draw: parameters repeated along the last axis give one gradient for each
# draw.


def outcome(report):
    """Show the mean of the gradient beside the derivative.

    Parameters
    ----------
    report : ibpcl.verify.distributions.statistics.DistributionReport
        Verdict on an estimator of a gradient.

    Returns
    -------
    outcome : ibpcl.paper.checks.Outcome
    """
    n = report.numbers
    return Outcome(
        report.ok,
        f"mean {n['mean']:.5g} +- {n['standard_error']:.0e}, exact {n['derivative']:.5g}",
        n,
        str(report),
    )


def expectation(g, case):
    """Integrate g under a case's density.

    Parameters
    ----------
    g : callable
        The function of one variable.
    case : ibpcl.paper.cases.Case
        Has the density and its support.

    Returns
    -------
    value : float
    """
    return integral(lambda x: g(x) * np.exp(case.log_density(x)), case.support, case.points)[0]


class Pathwise(NamedTuple):
    """A sampler, and the mean of a function of its draws, which is differentiated.

    Attributes
    ----------
    module : module
        Has the functions ``sample`` and ``sample_vjp``.
    noise : str
        The kind of noise that the sampler takes, such as "normal".
    parameters : dict
        Parameters of the sampler, by name.
    case : callable
        Returns the :class:`~ibpcl.paper.cases.Case` of parameters.
    function : callable
        The function of a draw.
    slope : callable
        The function's derivative with respect to what the sampler returns: a draw, or for a stick
        its logarithm.
    """

    module: ModuleType
    noise: str
    parameters: dict
    case: Callable
    function: Callable
    slope: Callable


PATHWISE = {
    "gaussian": Pathwise(
        gaussian,
        "normal",
        {"mu": 0.7, "log_sigma": -0.4},
        gaussian_case,
        lambda v: v * v + np.sin(v),
        lambda v: 2 * v + np.cos(v),
    ),
    "kumaraswamy": Pathwise(
        kumaraswamy,
        "uniform",
        {"a": 3.0, "b": 1.7},
        kumaraswamy_case,
        lambda v: v * v,
        lambda log_v: 2 * np.exp(2 * log_v),
    ),
    "horseshoe": Pathwise(
        horseshoe,
        "normal",
        {"mu": 0.7, "log_sigma": -0.4},
        gaussian_case,  # of the log variance
        lambda x: np.logaddexp(0, x / 2),
        lambda scale: 1 / (1 + scale),
    ),
    "weibull": Pathwise(
        weibull,
        "uniform",
        {"k": 3.0, "scale": 12.0},
        weibull_case,
        np.log1p,
        lambda alpha: 1 / (1 + alpha),
    ),
}


@verifies(
    "estimators",
    "{}",
    *(f"{name}.sample.{which}" for name, one in PATHWISE.items() for which in one.parameters),
)
def pathwise(choice, seed):
    """The mean of a sampler's gradient is the gradient of the mean, for each parameter."""
    name, _, which = choice.split(".")
    one = PATHWISE[name]

    def estimator(value, rng, n):
        here = {**one.parameters, which: value}
        drawn, cache = one.module.sample(
            draw(one.noise, rng, 1, n), *(np.full(n, here[key]) for key in here)
        )
        return one.module.sample_vjp(one.slope(drawn), cache)[list(here).index(which)]

    def exact(value):
        return expectation(one.function, one.case(*{**one.parameters, which: value}.values()))

    return outcome(reparameterization_unbiased(estimator, exact, one.parameters[which], seed=seed))


@verifies("estimators", "concrete.sample")
def mask_sample(seed):
    """E[z^2] of a relaxed mask, with respect to its log-odds."""
    tau = 0.6

    def estimator(value, rng, n):
        z, cache = concrete.sample(draw("logistic", rng, n), np.full(n, value), tau)
        return concrete.sample_vjp(2 * z, cache)

    def exact(value):
        case = logit_case(value, tau)
        return integral(
            lambda y: sigmoid(y) ** 2 * np.exp(case.log_density(y)),
            (-60 / tau, 60 / tau),
            case.points,
        )[0]

    return outcome(reparameterization_unbiased(estimator, exact, 0.4, seed=seed))


@verifies("estimators", "binary_gradients.{}", "sample.score", "sample.arm", "sample.disarm")
def binary_mask(choice, seed):
    """E[f(b)] of a binary mask with f(1) = 2 and f(0) = 0.5, with respect to its log-odds."""
    name = choice.partition(".")[2]

    def loss(b):
        return 0.5 + 1.5 * b

    def estimator(value, rng, n):
        logit_theta = np.full(n, value)
        logistic = draw("logistic", rng, n)
        b = binary_gradients.sample(logistic, logit_theta)
        opposite = binary_gradients.sample(-logistic, logit_theta)
        gap = loss(b) - loss(opposite)
        return {
            "score": lambda: binary_gradients.score(loss(b) - 1.0, b, logit_theta),
            "arm": lambda: binary_gradients.arm(gap, sigmoid(logistic)),
            "disarm": lambda: binary_gradients.disarm(gap, b, opposite, logit_theta),
        }[name]()

    return outcome(
        reparameterization_unbiased(
            estimator, lambda value: 0.5 + 1.5 * sigmoid(value), 0.4, seed=seed
        )
    )


@verifies("estimators", "concrete.sample_given")
def mask_sample_given(seed):
    """E[z^2] of a relaxed mask given its binary one, which is on, with respect to its log-odds."""
    tau = 0.6

    def estimator(value, rng, n):
        z, cache = concrete.sample_given(
            draw("logistic", rng, n), np.ones(n), np.full(n, value), tau
        )
        return concrete.sample_given_vjp(2 * z, cache)

    def exact(value):
        case = logit_case(value, tau)
        above = integral(
            lambda y: sigmoid(y) ** 2 * np.exp(case.log_density(y)), (0, 60 / tau), case.points
        )[0]
        return above / sigmoid(value)  # the logit is positive with this probability

    return outcome(reparameterization_unbiased(estimator, exact, 0.4, seed=seed))


@verifies(
    "estimators",
    "masked_weights.{}",
    "sample.mu",
    "sample.rho",
    "sample_mean_field.mu",
    "sample_mean_field.rho",
)
def masked_weight(choice, seed):
    """E[w^2] of a masked weight w = z v: both factors are independent; with respect to rho or mu.

    ``sample`` adds the sticks' log-odds to rho, ``sample_mean_field`` does not.
    """
    name, which = choice.split(".")
    parameters = {"mu": 0.7, "rho": 0.3}
    logit_pi = -0.5
    log_sigma = -0.4
    tau = 0.6
    offset = logit_pi if name == "sample" else 0.0

    def estimator(value, rng, n):
        here = {**parameters, which: value}
        (w, activity, divergence), cache = getattr(masked_weights, name)(
            draw("normal", rng, 1, 1, n),
            draw("logistic", rng, 1, 1, n),
            np.full((1, n), here["mu"]),
            np.full((1, n), log_sigma),
            np.full((1, n), here["rho"]),
            np.full((1, n), logit_pi),
            tau,
        )
        dout = (2 * w, np.zeros_like(activity), np.zeros_like(divergence))
        return getattr(masked_weights, f"{name}_vjp")(dout, cache)[2 if which == "rho" else 0]

    def exact(value):
        here = {**parameters, which: value}
        case = logit_case(here["rho"] + offset, tau)
        squared_mask = integral(
            lambda y: sigmoid(y) ** 2 * np.exp(case.log_density(y)),
            (-60 / tau, 60 / tau),
            case.points,
        )[0]
        return squared_mask * expectation(np.square, gaussian_case(here["mu"], log_sigma))

    return outcome(reparameterization_unbiased(estimator, exact, parameters[which], seed=seed))


@verifies("estimators", "local_linear.apply.sigma")
def local_preactivation(seed):
    """E[sin h] of a locally sampled pre-activation, with respect to sigma: as if the weights had
    been drawn.
    """
    x = 1.3
    mu = 0.4

    def estimator(value, rng, n):
        h, cache = local_linear.apply(
            draw("normal", rng, 1, 1, n),
            np.array([[x]]),
            np.full((1, n), mu),
            np.full((1, n), value),
            np.zeros(n),
            np.zeros(n),
        )
        return local_linear.apply_vjp(np.cos(h), cache)[2]

    def exact(value):
        return expectation(lambda v: np.sin(x * v), gaussian_case(mu, np.log(value)))

    return outcome(reparameterization_unbiased(estimator, exact, 0.8, seed=seed))


@verifies("estimators", "concrete.kl_monte_carlo")
def sampled_divergence(seed):
    """The mean of the sampled divergence of masks, at equal and unequal temperatures, against
    quadrature.
    """
    words = ""
    numbers = {}
    ok = True
    # equal at pi = 0.9, and still apart if tau is not tau_0
    same = np.log(9.0)
    for logit_theta, logit_pi, tau, prior_tau in (
        (0.8, -0.9, 0.7, 0.4),
        (0.8, -0.9, 0.25, 0.25),
        (0.8, -0.9, 1.0, 1.0),
        (0.8, -0.9, 10.0, 10.0),
        (same, same, 10.0, 0.05),
        (same, same, 0.3, 0.05),
    ):

        def sample(rng, n, at=(logit_theta, logit_pi, tau, prior_tau)):
            return concrete.kl_monte_carlo(
                draw("logistic", rng, n, 1, 1),
                np.full((n, 1, 1), at[0]),
                np.full((n, 1), at[1]),
                *at[2:],
            )[0]

        mean, error = monte_carlo(lambda values: values, sample, seed, 100_000)
        exact = relaxed_divergence(logit_theta, logit_pi, tau, prior_tau)
        ok &= bool(abs(mean - exact) < STANDARD_ERRORS * error)
        words = words or f"mean {mean:.5g} +- {error:.0e}, exact {exact:.5g}"
        numbers[f"temperatures {tau:g}, {prior_tau:g}"] = {
            "mean": mean,
            "standard_error": error,
            "quadrature": exact,
        }
    return Outcome(ok, words, numbers)


@verifies("estimators", "concrete.kl_monte_carlo.gradient")
def sampled_divergence_gradient(seed):
    """The gradient of that estimate with respect to logit theta, which also moves the sample."""
    logit_pi = -0.9
    tau = 0.7
    prior_tau = 0.4

    def estimator(value, rng, n):
        _, cache = concrete.kl_monte_carlo(
            draw("logistic", rng, n, 1, 1),
            np.full((n, 1, 1), value),
            np.full((n, 1), logit_pi),
            tau,
            prior_tau,
        )
        return concrete.kl_monte_carlo_vjp(np.ones(n), cache)[0]

    return outcome(
        reparameterization_unbiased(
            estimator,
            lambda value: relaxed_divergence(value, logit_pi, tau, prior_tau),
            0.8,
            seed=seed,
        )
    )
