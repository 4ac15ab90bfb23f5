"""Solutions to the exercises of tutorial 8.

`ibpcl check tutorials/solutions/08_elbo_gradient.py` checks the pairs of functions.
Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.numerics import logit, sigmoid
from ibpcl.primitives import (
    activations,
    concrete,
    gaussian,
    likelihoods,
    linear,
    local_linear,
)

# Exercise 1: The other divergence.
#
# The concrete divergence depends only on the difference of the two log-odds, which is
# rho. The gradient that reaches the sticks through the posterior cancels the gradient
# that reaches them through the prior. The gradient at the sticks is therefore zero.


def mask_divergence(rho, logit_pi):
    """Return the concrete KL of masks with log-odds rho + logit pi, one per sample."""
    return concrete.kl(rho + logit_pi[:, None, :], logit_pi)


def mask_divergence_vjp(dkl, cache):
    """Pull the gradient back to ``rho`` and, on both paths, to ``logit_pi``."""
    dlogit_theta, dlogit_pi = concrete.kl_vjp(dkl, cache)
    return dlogit_theta.sum(axis=0), dlogit_pi + dlogit_theta.sum(axis=1)


# Exercise 2: A second hidden layer.
#
# The second layer must return the gradient at its input. For the first layer this was
# the gradient at the data, which training does not need. Now it continues through the
# activation into the first layer.

TAU = 0.5


def two_layers(logistic_one, logistic_two, x, mu_one, rho_one, mu_two, rho_two):
    """Return the pre-activations of a second masked layer: one sample, widths zero."""
    z_one = sigmoid((rho_one + logistic_one) / TAU)
    z_two = sigmoid((rho_two + logistic_two) / TAU)
    no_bias = np.zeros((1, 4))
    h, c_one = linear.apply(x, (z_one * mu_one)[None], no_bias)
    hidden, c_relu = activations.relu(h)
    out, c_two = linear.apply(hidden, (z_two * mu_two)[None], no_bias[:, :3])
    return out, (z_one, z_two, mu_one, mu_two, c_one, c_relu, c_two)


def two_layers_vjp(dout, cache):
    """Pull the gradient back to noise, data and parameters of both layers."""
    z_one, z_two, mu_one, mu_two, c_one, c_relu, c_two = cache
    dhidden, dw_two, _ = linear.apply_vjp(dout, c_two)
    dx, dw_one, _ = linear.apply_vjp(activations.relu_vjp(dhidden, c_relu), c_one)
    drho_one = dw_one[0] * mu_one * z_one * (1 - z_one) / TAU
    drho_two = dw_two[0] * mu_two * z_two * (1 - z_two) / TAU
    dmu_one, dmu_two = dw_one[0] * z_one, dw_two[0] * z_two
    return drho_one, drho_two, dx, dmu_one, drho_one, dmu_two, drho_two


# Exercise 3: Where the noise comes from.
#
# As the temperature falls, the variance at rho grows like 1 / tau. The variance at mu
# tends to its value with a binary mask and stays there.


def variances(tau, samples=100_000):
    """Return the variances of the gradients of log N(1; w, 1) at mu and rho."""
    rng = np.random.default_rng(8)
    v = 0.5 + 0.3 * rng.standard_normal(samples)
    z = sigmoid((0.3 + logit(rng.uniform(size=samples))) / tau)
    dw = 1 - z * v
    return np.var(dw * z), np.var(dw * v * z * (1 - z) / tau)


# Exercise 4: Sampling the head like a hidden layer.
#
# The means of the gradients agree. With sampled outputs the variance grows about like
# N. With sampled weights it grows faster, towards N^2, because all examples share one
# matrix and their covariances add up.


def head_gradients(local, examples, draws=2000):
    """Return gradients at the head's means, (draws, K C).

    The outputs are sampled if ``local`` is true, else the weights.
    """
    rng = np.random.default_rng(8)
    x, labels = rng.standard_normal((examples, 5)), rng.integers(0, 3, examples)
    mu, log_sigma = rng.normal(0, 0.5, (5, 3)), np.full((5, 3), -1.0)
    gradients = []
    for _ in range(draws):
        if local:
            eps = rng.standard_normal((1, examples, 3))
            moments = mu, np.exp(log_sigma), np.zeros(3), np.zeros(3)
            outputs, cache = local_linear.apply(eps, x, *moments)
        else:
            w, w_cache = gaussian.sample(rng.standard_normal((1, 5, 3)), mu, log_sigma)
            outputs, cache = linear.apply(x, w, np.zeros((1, 3)))
        log_p, inner = likelihoods.categorical(outputs, labels)
        doutputs = likelihoods.categorical_vjp(np.ones_like(log_p), inner)
        if local:
            dmu = local_linear.apply_vjp(doutputs, cache)[1]
        else:
            dmu = gaussian.sample_vjp(linear.apply_vjp(doutputs, cache)[1], w_cache)[0]
        gradients.append(dmu.ravel())
    return np.array(gradients)


def check_inputs():
    rng = np.random.default_rng(8)
    return {
        "rho": rng.standard_normal((4, 3)),
        "logit_pi": rng.standard_normal((2, 3)),
        "logistic_one": rng.standard_normal((5, 4)),
        "logistic_two": rng.standard_normal((4, 3)),
        "x": rng.standard_normal((6, 5)),
        "mu_one": rng.standard_normal((5, 4)),
        "rho_one": rng.standard_normal((5, 4)),
        "mu_two": rng.standard_normal((4, 3)),
        "rho_two": rng.standard_normal((4, 3)),
    }


def main():
    inputs = check_inputs()
    _, cache = mask_divergence(inputs["rho"], inputs["logit_pi"])
    _, dlogit_pi = mask_divergence_vjp(np.ones(2), cache)
    print(f"1. largest gradient at logit pi: {np.abs(dlogit_pi).max():.1e}")
    assert np.abs(dlogit_pi).max() < 1e-12

    del inputs["rho"], inputs["logit_pi"]
    out, cache = two_layers(**inputs)
    drho_one = two_layers_vjp(np.ones_like(out), cache)[4]
    print("2. gradient at the first layer's masks:", drho_one[0].round(3))

    for tau in (5.0, 0.5, 0.05):
        at_mu, at_rho = variances(tau)
        print(f"3. tau = {tau:g}: variance at mu {at_mu:.3f}, at rho {at_rho:.4f}")
    assert variances(0.05)[1] > 5 * variances(0.5)[1]

    total = {}
    for examples in (10, 40, 160):
        local, shared = head_gradients(True, examples), head_gradients(False, examples)
        error = np.sqrt((local.var(axis=0) + shared.var(axis=0)) / len(local))
        gap = np.abs(local.mean(axis=0) - shared.mean(axis=0)) / error
        total[examples] = local.var(axis=0).sum(), shared.var(axis=0).sum()
        print(
            f"4. N = {examples}: means differ by at most {gap.max():.1f} standard "
            f"errors; variance with sampled outputs {total[examples][0]:.1f}, "
            f"with sampled weights {total[examples][1]:.1f}"
        )
    assert total[160][0] < 6 * total[40][0] and total[160][1] > 9 * total[40][1]


if __name__ == "__main__":
    main()
