r"""Every gradient that is estimated by sampling: its mean against the derivative of the expectation by quadrature."""

import numpy as np

from ibpcl.numerics import sigmoid
from ibpcl.primitives import concrete, gaussian, kumaraswamy, local_linear, masked_weights, weibull
from ibpcl.proofs.distributions import draw, gaussian_case, kumaraswamy_case, logit_case, weibull_case
from ibpcl.proofs.errata.masks import relaxed_divergence
from ibpcl.proofs.outcome import Check, Outcome
from ibpcl.verify import reparameterization_unbiased
from ibpcl.verify.distributions import monte_carlo, quadrature

# One sample, one weight a draw: parameters repeated along the last axis give one gradient for each draw.


def outcome(report):
    """Show the mean of the gradient beside the derivative."""
    n = report.numbers
    return Outcome(report.ok, f"mean {n['mean']:.5g}+-{n['standard_error']:.0e}, derivative {n['derivative']:.5g}",
                   n, str(report))


def expectation(g, case):
    """Integrate g under a case's density."""
    return quadrature(lambda x: g(x) * np.exp(case.log_density(x)), case.support, case.points)[0]


def check_gaussian(which, seed):
    """E[v^2 + sin v] of a Gaussian weight, with respect to its mean or log standard deviation."""
    parameters = {"mu": 0.7, "log_sigma": -0.4}

    def estimator(value, rng, n):
        here = {**parameters, which: value}
        v, cache = gaussian.sample(draw("normal", rng, 1, n), np.full(n, here["mu"]), np.full(n, here["log_sigma"]))
        return gaussian.sample_vjp(2 * v + np.cos(v), cache)[which == "log_sigma"]

    def exact(value):
        here = {**parameters, which: value}
        return expectation(lambda x: x * x + np.sin(x), gaussian_case(here["mu"], here["log_sigma"]))

    return outcome(reparameterization_unbiased(estimator, exact, parameters[which], seed=seed))


def check_kumaraswamy(which, seed):
    """E[v^2] of a stick, with respect to a or b."""
    parameters = {"a": 3.0, "b": 1.7}

    def estimator(value, rng, n):
        here = {**parameters, which: value}
        log_v, cache = kumaraswamy.sample(draw("uniform", rng, 1, n), np.full(n, here["a"]), np.full(n, here["b"]))
        return kumaraswamy.sample_vjp(2 * np.exp(2 * log_v), cache)[which == "b"]

    def exact(value):
        here = {**parameters, which: value}
        return expectation(lambda v: v * v, kumaraswamy_case(here["a"], here["b"]))

    return outcome(reparameterization_unbiased(estimator, exact, parameters[which], seed=seed))


def check_weibull(which, seed):
    """E[log(1 + alpha)] of a learned concentration, with respect to its shape k or its scale."""
    parameters = {"k": 3.0, "scale": 12.0}

    def estimator(value, rng, n):
        here = {**parameters, which: value}
        alpha, cache = weibull.sample(draw("uniform", rng, 1, n), np.full(n, here["k"]), np.full(n, here["scale"]))
        return weibull.sample_vjp(1 / (1 + alpha), cache)[which == "scale"]

    def exact(value):
        here = {**parameters, which: value}
        return expectation(np.log1p, weibull_case(here["k"], here["scale"]))

    return outcome(reparameterization_unbiased(estimator, exact, parameters[which], seed=seed))


def check_concrete(seed):
    """E[z^2] of a relaxed mask, with respect to its log-odds."""
    tau = 0.6

    def estimator(value, rng, n):
        z, cache = concrete.sample(draw("logistic", rng, n), np.full(n, value), tau)
        return concrete.sample_vjp(2 * z, cache)

    def exact(value):
        case = logit_case(value, tau)
        return quadrature(lambda y: sigmoid(y)**2 * np.exp(case.log_density(y)), (-60 / tau, 60 / tau), case.points)[0]

    return outcome(reparameterization_unbiased(estimator, exact, 0.4, seed=seed))


def check_masked_weights(name, which, seed):
    """E[w^2] of a masked weight w = z v: both factors are independent; with respect to rho or mu.

    ``sample`` adds the sticks' log-odds to rho, ``sample_mean_field`` does not.
    """
    parameters, logit_pi, log_sigma, tau = {"mu": 0.7, "rho": 0.3}, -0.5, -0.4, 0.6
    offset = logit_pi if name == "sample" else 0.0

    def estimator(value, rng, n):
        here = {**parameters, which: value}
        (w, activity, divergence), cache = getattr(masked_weights, name)(
            draw("normal", rng, 1, 1, n), draw("logistic", rng, 1, 1, n), np.full((1, n), here["mu"]),
            np.full((1, n), log_sigma), np.full((1, n), here["rho"]), np.full((1, n), logit_pi), tau)
        dout = (2 * w, np.zeros_like(activity), np.zeros_like(divergence))
        return getattr(masked_weights, f"{name}_vjp")(dout, cache)[2 if which == "rho" else 0]

    def exact(value):
        here = {**parameters, which: value}
        case = logit_case(here["rho"] + offset, tau)
        squared_mask = quadrature(lambda y: sigmoid(y)**2 * np.exp(case.log_density(y)), (-60 / tau, 60 / tau),
                                  case.points)[0]
        return squared_mask * expectation(np.square, gaussian_case(here["mu"], log_sigma))

    return outcome(reparameterization_unbiased(estimator, exact, parameters[which], seed=seed))


def check_local_linear(seed):
    """E[sin h] of a locally sampled pre-activation, with respect to sigma: as if the weights had been drawn."""
    x, mu = 1.3, 0.4

    def estimator(value, rng, n):
        h, cache = local_linear.apply(draw("normal", rng, 1, 1, n), np.array([[x]]), np.full((1, n), mu),
                                      np.full((1, n), value), np.zeros(n), np.zeros(n))
        return local_linear.apply_vjp(np.cos(h), cache)[2]

    def exact(value):
        return expectation(lambda v: np.sin(x * v), gaussian_case(mu, np.log(value)))

    return outcome(reparameterization_unbiased(estimator, exact, 0.8, seed=seed))


def check_monte_carlo_divergence(seed):
    """The sampled divergence of masks at unequal temperatures: its mean, by quadrature."""
    logit_theta, logit_pi, tau, prior_tau = 0.8, -0.9, 0.7, 0.4

    def sample(rng, n):
        return concrete.kl_monte_carlo(draw("logistic", rng, n, 1, 1), np.full((n, 1, 1), logit_theta),
                                       np.full((n, 1), logit_pi), tau, prior_tau)[0]

    mean, error = monte_carlo(lambda values: values, sample, seed, 100_000)
    exact = relaxed_divergence(logit_theta, logit_pi, tau, prior_tau)
    return Outcome(abs(mean - exact) < 4 * error, f"mean {mean:.5g}+-{error:.0e}, quadrature {exact:.5g}",
                   {"mean": mean, "standard_error": error, "quadrature": exact})


def check_monte_carlo_gradient(seed):
    """The gradient of that estimate with respect to logit theta, which also moves the sample."""
    logit_pi, tau, prior_tau = -0.9, 0.7, 0.4

    def estimator(value, rng, n):
        _, cache = concrete.kl_monte_carlo(draw("logistic", rng, n, 1, 1), np.full((n, 1, 1), value),
                                           np.full((n, 1), logit_pi), tau, prior_tau)
        return concrete.kl_monte_carlo_vjp(np.ones(n), cache)[0]

    return outcome(reparameterization_unbiased(
        estimator, lambda value: relaxed_divergence(value, logit_pi, tau, prior_tau), 0.8, seed=seed))


def checks():
    """Return the checks."""
    functions = {
        **{f"gaussian.sample.{which}": lambda seed, w=which: check_gaussian(w, seed) for which in ("mu", "log_sigma")},
        **{f"kumaraswamy.sample.{which}": lambda seed, w=which: check_kumaraswamy(w, seed) for which in ("a", "b")},
        **{f"weibull.sample.{which}": lambda seed, w=which: check_weibull(w, seed) for which in ("k", "scale")},
        "concrete.sample": check_concrete,
        **{f"masked_weights.{name}.{which}": lambda seed, n=name, w=which: check_masked_weights(n, w, seed)
           for name in ("sample", "sample_mean_field") for which in ("mu", "rho")},
        "local_linear.apply.sigma": check_local_linear,
        "concrete.kl_monte_carlo": check_monte_carlo_divergence,
        "concrete.kl_monte_carlo.gradient": check_monte_carlo_gradient,
    }
    return [Check("estimators", name, run) for name, run in functions.items()]
