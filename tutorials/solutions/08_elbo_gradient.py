"""Solutions to the exercises of tutorial 8.

`ibpcl check tutorials/solutions/08_elbo_gradient.py` proves the pairs; run as a script, the file prints what comes out.
"""

import numpy as np

from ibpcl.numerics import logit, sigmoid
from ibpcl.primitives import activations, concrete, gaussian, likelihoods, linear, local_linear

# Exercise 1: the other divergence.  It depends on the difference of the log-odds alone, which is rho: what reaches the
#    sticks through the posterior cancels what reaches them as the prior, and their gradient is zero.


def mask_divergence(rho, logit_pi):
    """Return the concrete divergence of masks with log-odds rho + logit pi from their prior, one value per sample."""
    return concrete.kl(rho + logit_pi[:, None, :], logit_pi)


def mask_divergence_vjp(dkl, cache):
    """Pull the gradient back to ``rho`` and ``logit_pi``, on both paths of the latter."""
    dlogit_theta, dlogit_pi = concrete.kl_vjp(dkl, cache)
    return dlogit_theta.sum(axis=0), dlogit_pi + dlogit_theta.sum(axis=1)


# Exercise 2: a second hidden layer.  The second layer has to return the gradient at its input, which for the first one
#    are the data; it goes through the activation into the first layer.


def two_layers(logistic_one, logistic_two, x, mu_one, rho_one, mu_two, rho_two):
    """Return the pre-activations of a second masked layer, one sample, widths zero."""
    z_one, z_two = (sigmoid((rho + logistic) / 0.5) for rho, logistic in ((rho_one, logistic_one),
                                                                        (rho_two, logistic_two)))
    none = np.zeros((1, 4))
    h, c_one = linear.apply(x, (z_one * mu_one)[None], none)
    hidden, c_relu = activations.relu(h)
    out, c_two = linear.apply(hidden, (z_two * mu_two)[None], none[:, :3])
    return out, (z_one, z_two, mu_one, mu_two, c_one, c_relu, c_two)


def two_layers_vjp(dout, cache):
    """Pull the gradient back to the noise, the data and the parameters of both layers."""
    z_one, z_two, mu_one, mu_two, c_one, c_relu, c_two = cache
    dhidden, dw_two, _ = linear.apply_vjp(dout, c_two)
    dx, dw_one, _ = linear.apply_vjp(activations.relu_vjp(dhidden, c_relu), c_one)
    drho_one, drho_two = (dw[0] * mu * z * (1 - z) / 0.5 for dw, mu, z in ((dw_one, mu_one, z_one),
                                                                           (dw_two, mu_two, z_two)))
    return drho_one, drho_two, dx, dw_one[0] * z_one, drho_one, dw_two[0] * z_two, drho_two


# Exercise 3: where the noise comes from.  That of rho grows as the temperature falls, as 1 / tau does; that of mu tends
#    to the variance of a coin's gradient and stays there.


def variances(tau, samples=100_000):
    """Return the variances of the gradients at mu and rho of one weight in log N(1; w, 1)."""
    rng = np.random.default_rng(8)
    v = 0.5 + 0.3 * rng.standard_normal(samples)
    z = sigmoid((0.3 + logit(rng.uniform(size=samples))) / tau)
    dw = 1 - z * v
    return np.var(dw * z), np.var(dw * v * z * (1 - z) / tau)


# Exercise 4: sampling the head like a hidden layer.  The means agree; the variance is several times as large, for all
#    examples share one matrix.


def head_gradients(local, draws=2000):
    """Return gradients at the head's means, (draws, K C), sampled at the outputs or at the weights."""
    rng = np.random.default_rng(8)
    x, labels, mu = rng.standard_normal((40, 5)), rng.integers(0, 3, 40), rng.normal(0, 0.5, (5, 3))
    log_sigma, found = np.full((5, 3), -1.0), []
    for _ in range(draws):
        if local:
            outputs, cache = local_linear.apply(rng.standard_normal((1, 40, 3)), x, mu, np.exp(log_sigma), np.zeros(3),
                                                np.zeros(3))
        else:
            w, of_w = gaussian.sample(rng.standard_normal((1, 5, 3)), mu, log_sigma)
            outputs, cache = linear.apply(x, w, np.zeros((1, 3)))
        log_p, inner = likelihoods.categorical(outputs, labels)
        doutputs = likelihoods.categorical_vjp(np.ones_like(log_p), inner)
        if local:
            found.append(local_linear.apply_vjp(doutputs, cache)[1].ravel())
        else:
            found.append(gaussian.sample_vjp(linear.apply_vjp(doutputs, cache)[1], of_w)[0].ravel())
    return np.array(found)


def check_inputs():
    rng = np.random.default_rng(8)
    return {"rho": rng.standard_normal((4, 3)), "logit_pi": rng.standard_normal((2, 3)),
            "logistic_one": rng.standard_normal((5, 4)), "logistic_two": rng.standard_normal((4, 3)),
            "x": rng.standard_normal((6, 5)), "mu_one": rng.standard_normal((5, 4)),
            "rho_one": rng.standard_normal((5, 4)), "mu_two": rng.standard_normal((4, 3)),
            "rho_two": rng.standard_normal((4, 3))}


def main():
    inputs = check_inputs()
    _, cache = mask_divergence(inputs["rho"], inputs["logit_pi"])
    print(f"1. largest gradient at logit pi: {np.abs(mask_divergence_vjp(np.ones(2), cache)[1]).max():.1e}")
    named = {name: inputs[name] for name in ("logistic_one", "logistic_two", "x", "mu_one", "rho_one", "mu_two",
                                             "rho_two")}
    out, cache = two_layers(**named)
    print("2. gradient at the first layer's masks:", two_layers_vjp(np.ones_like(out), cache)[4][0].round(3))
    for tau in (5.0, 0.5, 0.05):
        print("3. tau = {:g}: variance at mu {:.3f}, at rho {:.4f}".format(tau, *variances(tau)))
    at_outputs, at_weights = head_gradients(True), head_gradients(False)
    gap = np.abs(at_outputs.mean(axis=0) - at_weights.mean(axis=0)).max()
    print(f"4. largest difference of the means {gap:.2f}; variance at the outputs {at_outputs.var(axis=0).sum():.1f}, "
          f"at the weights {at_weights.var(axis=0).sum():.1f}")


if __name__ == "__main__":
    main()
