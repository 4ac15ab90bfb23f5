"""Solutions to the exercises of tutorial 5.

`ibpcl check tutorials/solutions/05_buffet.py` checks the pair of exercise 1. Run as a
script, the file prints the numbers that the comments refer to.
"""

import numpy as np
from scipy.special import betaln

from ibpcl.primitives import stick_breaking

# Exercise 1: The number of weights.
#
# With log r = log(alpha) - log(alpha + 1), d log r / d alpha = 1 / (alpha (alpha +
# 1)). So the derivative is 1 - r^K - K r^K / (alpha + 1). For alpha = 30, K = 200 is
# practically infinite. For alpha = 200 it is far from infinite: a third of the
# expected weights is missing.

UNITS = 200


def expected_weights(alpha):
    """Return the expected number of weights that are on in a row of K = 200 units."""
    power = np.exp(UNITS * (np.log(alpha) - np.log(alpha + 1)))
    return alpha * (1 - power), (alpha, power)


def expected_weights_vjp(dexpected, cache):
    """Pull the gradient back to ``alpha``."""
    alpha, power = cache
    return dexpected * (1 - power - UNITS * power / (alpha + 1))


# Exercise 2: Empty units.
#
# E[(1 - v)^D] = alpha B(alpha, D + 1). The first unit is practically never empty. The
# last of 200 units is empty in a third of the draws.


def first_unit_is_empty(alpha, inputs):
    """Return the probability that the first unit has no weight."""
    return alpha * np.exp(betaln(alpha, inputs + 1))


# Exercise 3: In another order.
#
# The two probabilities are equal, because the customers are exchangeable.


def buffet(customers, alpha, rng):
    """Draw a binary matrix (customers, dishes) from the IBP."""
    taken = np.zeros((customers, 0), bool)
    for n in range(1, customers + 1):
        popular = taken.sum(axis=0) / n
        taken[n - 1] = rng.uniform(size=popular.size) < popular
        new = np.zeros((customers, rng.poisson(alpha / n)), bool)
        new[n - 1] = True
        taken = np.hstack([taken, new])
    return taken


# Exercise 4: Truncating the finite model.
#
# The finite model expects K (alpha / K) / (alpha / K + 1) = alpha / (1 + alpha / K) =
# 4 weights. The truncated limit expects alpha (1 - r^K), which is close to alpha = 5.


def check_inputs():
    return {"alpha": 30.0}


def main():
    for alpha in (30.0, 200.0):
        value, cache = expected_weights(alpha)
        slope = expected_weights_vjp(1.0, cache)
        print(
            f"1. alpha {alpha:g}: {value:.2f} weights expected, derivative {slope:.3f}"
        )
    assert 0.6 < expected_weights(200.0)[0] / 200 < 0.7

    rng = np.random.default_rng(5)
    u = rng.uniform(size=(20_000, UNITS))
    log_pi, _ = stick_breaking.log_probabilities(np.log(u) / 30.0)
    first = first_unit_is_empty(30.0, 784)
    last = np.mean((1 - np.exp(log_pi[:, -1])) ** 784)
    print(f"2. probability of an empty unit: first {first:.1e}, last {last:.2f}")
    assert first < 1e-20 and 0.3 < last < 0.4

    drawn = [buffet(3, 2.0, rng) for _ in range(20_000)]
    for one, other in ((0, 2), (1, 2)):
        share = np.mean([(B[one] & B[other]).sum() == 1 for B in drawn])
        print(f"3. customers {one + 1} and {other + 1} share one dish: {share:.3f}")

    alpha, size = 5.0, 20
    finite = size * rng.beta(alpha / size, 1, size=(100_000, size)).mean()
    limit = stick_breaking.expected_weights(alpha, size)
    print(f"4. finite model {finite:.2f} weights, truncated limit {limit:.2f}")
    assert abs(finite - 4) < 0.02 and 4.8 < limit < 5


if __name__ == "__main__":
    main()
