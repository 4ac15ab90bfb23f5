"""Solutions to the exercises of tutorial 7.

`ibpcl check tutorials/solutions/07_masks.py` checks the pairs of functions. Run as a
script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.numerics import logistic_kl, logit, sigmoid, softplus
from ibpcl.primitives import concrete
from ibpcl.verify import check

# Exercise 1: A straight-through mask.
#
# The check reports that the true gradient is zero, and it is right: a rounded number
# does not move with its input, except where it jumps. The straight-through gradient
# is the gradient of another function. It is used on purpose, but it is not a
# derivative.


def rounded(logistic, logit_theta, tau):
    """Round a concrete mask."""
    z, cache = concrete.sample(logistic, logit_theta, tau)
    return np.round(z), cache


# (No rounded_vjp here: it would not be the gradient.)

# Exercise 2: Modes of the concrete density.
#
# At tau = 1 and theta = 1/2 the mask is uniform. For lower temperatures the density
# is lowest in the middle, for higher ones it is highest there.


def slope_right_of_the_middle(tau):
    """Return the slope of the log density of z just right of one half."""
    _, cache = concrete.log_density(np.array([0.51]), np.zeros(1), tau)
    return concrete.log_density_vjp(np.ones(1), cache)[0].item()


# Exercise 3: A bound, by hand.
#
# To first order theta = pi, so the gradient is pi (1 - pi) rho, and the KL divergence
# pi (1 - pi) rho^2 / 2. Its largest value is rho^2 / 8, at pi = 1/2. This comes
# closest to rho^2 / 6, the value for concrete masks.


def coin_kl(rho, log_odds):
    """Return the KL in nats of Bernoulli masks whose log-odds differ by rho."""
    theta = sigmoid(rho + log_odds)
    return theta * rho - softplus(rho + log_odds) + softplus(log_odds), (
        rho,
        log_odds,
        theta,
    )


def coin_kl_vjp(dkl, cache):
    """Pull the gradient back to ``rho`` and, on both paths, to ``log_odds``."""
    rho, log_odds, theta = cache
    through_theta = dkl * theta * (1 - theta) * rho
    return through_theta, through_theta + dkl * (sigmoid(log_odds) - theta)


# Exercise 4: The log link as a pair.
#
# With pi = 1/2, log pi = -0.69, so rho must exceed 0.69.


def log_link(rho, log_pi):
    """Return theta = sigmoid(rho + log pi) for rho (D, K) and log_pi (K,)."""
    theta = sigmoid(rho + log_pi)
    return theta, theta


def log_link_vjp(dtheta, theta):
    """Pull the gradient back to ``rho`` and ``log_pi``, which was broadcast over D."""
    drho = dtheta * theta * (1 - theta)
    return drho, drho.sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(7)
    return {
        "rho": rng.standard_normal((4, 3)),
        "log_odds": rng.standard_normal((4, 3)),
        "log_pi": np.log(rng.uniform(0.1, 0.9, 3)),
    }


def main():
    rng = np.random.default_rng(7)
    report = check(
        rounded,
        concrete.sample_vjp,
        (logit(rng.uniform(size=6)), rng.standard_normal(6), 0.5),
        wrt=("logit_theta",),
    )
    print("1.", report["logit_theta"].words)
    for tau in (0.5, 1.0, 2.0):
        print(
            f"2. tau = {tau:g}: slope right of the middle "
            f"{slope_right_of_the_middle(tau):+.3f}"
        )
    rho = 0.1
    for pi in (0.5, 0.1):
        print(
            f"3. pi = {pi:g}: coins {coin_kl(rho, logit(pi))[0]:.6f}, by the bound "
            f"{pi * (1 - pi) * rho**2 / 2:.6f}; "
            f"concrete {logistic_kl(rho):.6f}, {rho**2 / 6:.6f}"
        )
    for rho in (0.68, 0.70):
        print(
            f"4. rho = {rho}: theta = "
            f"{log_link(np.array([[rho]]), np.log([0.5]))[0].item():.4f}"
        )


if __name__ == "__main__":
    main()
