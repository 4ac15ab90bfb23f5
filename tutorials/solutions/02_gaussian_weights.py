"""Solutions to the exercises of tutorial 2.

`ibpcl check tutorials/solutions/02_gaussian_weights.py` checks the pairs of
functions. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np
from scipy.special import ndtr

from ibpcl.primitives import gaussian

# Exercise 1: Another width.
#
# The chain rule adds a factor of one half, since sigma = exp(log_variance / 2).
# Without it the report says "constant factor 2".


def sample(eps, mu, log_variance):
    """Draw weights from their mean and log variance."""
    sigma = np.exp(log_variance / 2)
    return mu + sigma * eps, (eps, sigma)


def sample_vjp(dv, cache):
    """Pull the gradient back to ``eps``, ``mu`` and ``log_variance``."""
    eps, sigma = cache
    return dv * sigma, dv.sum(axis=0), (dv * sigma * eps / 2).sum(axis=0)


# Exercise 2: The other direction.
#
# KL[q | p] punishes a q that is too wide: it has mass where p has none. KL[p | q]
# punishes a q that is too narrow.


def both_directions(log_sigma):
    """Return KL[q | p] and KL[p | q] of a q with mean 0 and the prior p = N(0, 1)."""
    zero, width = np.zeros(1), np.full(1, log_sigma)
    return gaussian.kl(zero, width, zero, zero)[0], gaussian.kl(
        zero, zero, zero, width
    )[0]


# Exercise 3: A slope of zero.
#
# The score function still works. The reparameterized estimate is always 0, because
# the slope of a step is 0 wherever it exists. The proof breaks where the derivative
# is taken under the integral: this is not allowed, because f jumps.


def step_estimates(mu, sigma, samples, rng):
    """Return the gradient of E[v > 0] at mu: exact, by score, and reparameterized."""
    eps = rng.standard_normal(samples)
    exact = (
        np.exp(-((mu / sigma) ** 2) / 2) / np.sqrt(2 * np.pi) / sigma
    )  # of ndtr(mu / sigma)
    return exact, np.mean((mu + sigma * eps > 0) * eps / sigma), np.mean(0.0 * eps)


def check_inputs():
    rng = np.random.default_rng(2)
    return {
        "eps": rng.standard_normal((6, 4)),
        "mu": rng.standard_normal(4),
        "log_variance": rng.standard_normal(4),
    }


def main():
    inputs = check_inputs()
    v, cache = sample(**inputs)
    print(
        "1. gradient at log_variance:", sample_vjp(np.ones_like(v), cache)[2].round(4)
    )
    for name, log_sigma in (("half as wide", -np.log(2)), ("twice as wide", np.log(2))):
        print(
            "2. q {}: KL[q | p] {:.3f}, KL[p | q] {:.3f}".format(
                name, *both_directions(log_sigma)
            )
        )
    exact, score, reparameterized = step_estimates(
        0.5, 1.0, 100_000, np.random.default_rng(3)
    )
    print(
        f"3. E[f] {ndtr(0.5):.4f}, its gradient {exact:.4f}; score function "
        f"{score:.4f}, "
        f"reparameterized {reparameterized:.4f}"
    )


if __name__ == "__main__":
    main()
