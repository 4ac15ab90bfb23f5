"""Parts of a gradient step, each as a function that can be timed alone on realistic inputs."""

import numpy as np

from ibpcl.adam import start
from ibpcl.bench.problem import TAU
from ibpcl.models.layers import Pass


def parts(problem):
    """Return the parts of a step; the rest of the step is Python and copying.

    Parameters
    ----------
    problem : ibpcl.bench.problem.Problem
        The problem.

    Returns
    -------
    parts : dict of str to callable
        Functions without arguments, by name.
    """
    kernels = problem.backend
    model = problem.model
    noise = problem.noise()
    views = model.layout.layers(problem.vector)
    hidden = views["hidden0"]
    head = model.layers["head"]
    drawn = noise["hidden0"]
    S = problem.sizes.S
    N = problem.sizes.N
    K = problem.sizes.K
    C = problem.sizes.C
    logit_pi = np.zeros((S, K), problem.x.dtype)
    of_weights = (
        drawn["weight"],
        drawn["mask"],
        hidden["weight.mu"],
        hidden["weight.log_sigma"],
        hidden["rho"],
        logit_pi,
        TAU,
    )
    sampled, weights_cache = kernels.masked_weights.sample(*of_weights)
    x = problem.read
    bias = np.zeros((S, K), problem.x.dtype)
    h, linear_cache = kernels.linear.apply(x, sampled[0], bias)
    dh = np.ones_like(h)
    gaussian = (
        problem.vector[model.layout.block("mu")],
        problem.vector[model.layout.block("log_sigma")],
        problem.prior.mu,
        problem.prior.log_sigma,
    )
    gradient = np.zeros_like(problem.vector)
    vector = problem.vector.copy()
    state = start(problem.vector)

    def outputs():
        on, activation_cache = kernels.activations.relu(h)
        (logits, _), head_cache = head.forward(views, on, noise, Pass(kernels, {}))
        log_p, cache = kernels.likelihoods.categorical(logits, problem.labels)
        dlogits = kernels.likelihoods.categorical_vjp(np.full_like(log_p, 1 / (S * N)), cache)
        kernels.activations.relu_vjp(
            head.forward_vjp((dlogits, {}), head_cache)[0], activation_cache
        )

    def divergence():
        kernels.gaussian.kl_vjp(1.0, kernels.gaussian.kl(*gaussian)[1])

    return {
        "noise": problem.noise,
        "masked weights": lambda: kernels.masked_weights.sample(*of_weights),
        "product x w": lambda: kernels.linear.apply(x, sampled[0], bias),
        f"activation, head of {C}, likelihood": outputs,
        "product x' dh": lambda: kernels.linear.apply_vjp(dh, linear_cache, False),
        "gradient of masked weights": lambda: kernels.masked_weights.sample_vjp(
            sampled, weights_cache
        ),
        "divergence of weights": divergence,
        "Adam": lambda: kernels.adam.update(vector, gradient, state, problem.rates),
    }
