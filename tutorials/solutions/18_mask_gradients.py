"""Solutions to the exercises of tutorial 18.

`ibpcl check tutorials/solutions/18_mask_gradients.py` checks the pairs of functions.
Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.numerics import sigmoid, softplus

# Exercise 1: The mean of a loss as a pair.
#
# The gradient at the log-odds is that of one mask, the difference of the two losses
# times theta (1 - theta). No noise is drawn.


def mean_loss(phi, f0, f1):
    """Return theta f1 + (1 - theta) f0, elementwise."""
    theta = sigmoid(phi)
    return theta * f1 + (1 - theta) * f0, (theta, f0, f1)


def mean_loss_vjp(dmean, cache):
    """Pull the gradient back to the log-odds and both losses."""
    theta, f0, f1 = cache
    return (dmean * theta * (1 - theta) * (f1 - f0), dmean * (1 - theta), dmean * theta)


# Exercise 2: A relaxed mask given the binary one.
#
# For b = 1 the logit is a softplus, so it is positive and z is above one half. For
# b = 0 it is minus a softplus. The two signs of the chain rule cancel.


def relaxed_given(logistic, mask, phi, tau):
    """Return the relaxed mask that rounds to a binary one."""
    s = 2.0 * mask - 1
    inner = s * logistic + softplus(s * phi)
    z = sigmoid(s * softplus(inner) / tau)
    return z, (z, inner, s, phi, tau)


def relaxed_given_vjp(dz, cache):
    """Pull the gradient back to the noise and to the log-odds."""
    z, inner, s, phi, tau = cache
    dlogistic = dz * z * (1 - z) / tau * sigmoid(inner)
    dphi = dlogistic * sigmoid(s * phi)
    return dlogistic, dphi


# Exercise 3: DisARM.
#
# The mean for one mask is theta (1 - theta) (f1 - f0): the masks differ with the
# probability 2 min(theta, 1 - theta), and the estimate is then half the larger of
# both, times the difference.


def disarm(first, second, b, opposite, phi):
    """Return the estimates (S, n) from losses (S,) and masks (S, n)."""
    gap = (first - second)[:, None]
    return gap * (b - opposite) / 2 * sigmoid(np.abs(phi))


# Exercise 4: The best constant.
#
# (f1 - c) (1 - theta) = -(f0 - c) theta gives c = (1 - theta) f1 + theta f0: each loss
# has the weight of the *other* mask.


def best_constant(theta, f0, f1):
    """Return the baseline that removes all variance for one mask."""
    return (1 - theta) * f1 + theta * f0


# Exercise 5: Silent draws.
#
# The masks differ only if u or 1 - u is in the smaller part: with the probability
# 2 min(theta, 1 - theta). Otherwise both are on, for a theta above one half.


def silent(theta):
    """Return the probability that both masks are equal."""
    return abs(1 - 2 * theta)


def check_inputs():
    rng = np.random.default_rng(18)
    return {
        "phi": rng.normal(size=4),
        "f0": rng.normal(size=4),
        "f1": rng.normal(size=4),
        "logistic": rng.logistic(size=4),
        "mask": np.array([0.0, 1.0, 1.0, 0.0]),
        "tau": 0.5,
    }


def main():
    rng = np.random.default_rng(18)
    inputs = check_inputs()
    _, cache = mean_loss(inputs["phi"], inputs["f0"], inputs["f1"])
    slopes = mean_loss_vjp(np.ones(4), cache)[0]
    print("1. gradient at the log-odds", slopes.round(3))

    draws = rng.logistic(size=(100_000, 4))
    z, _ = relaxed_given(draws, inputs["mask"], inputs["phi"], 0.5)
    rounds = np.all((z > 0.5) == (inputs["mask"] == 1))
    print(f"2. every relaxed mask rounds to its binary one: {rounds}")
    assert rounds

    phi, f0, f1 = np.array([-0.7]), 1.0, 3.0
    u = rng.random((400_000, 1))
    b, opposite = (1.0 * (u > sigmoid(-phi)), 1.0 * (u < sigmoid(phi)))
    losses = (np.where(mask[:, 0] == 1, f1, f0) for mask in (b, opposite))
    g = disarm(*losses, b, opposite, phi)
    exact = sigmoid(phi) * sigmoid(-phi) * (f1 - f0)
    print(f"3. mean of DisARM {g.mean():.4f}, exact {exact.item():.4f}")
    assert abs(g.mean() - exact.item()) < 0.01

    c = best_constant(0.2, f0, f1)
    values = (f1 - c) * 0.8, -(f0 - c) * 0.2
    print(f"4. the best constant {c:.2f}, the two values of g {values}")
    assert np.isclose(*values)

    print(f"5. silent draws {silent(0.9):.2f}")


if __name__ == "__main__":
    main()
