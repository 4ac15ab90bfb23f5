"""Solutions to the exercises of tutorial 5.

`ibpcl check tutorials/solutions/05_buffet.py` proves the pair; run as a script, the file prints what comes out.
"""

import numpy as np
from scipy.special import betaln

from ibpcl.primitives import stick_breaking

# Exercise 1: how many weights does alpha buy?  With log r = log(alpha) - log(alpha + 1), d log r / d alpha =
#    1 / (alpha (alpha + 1)), so the derivative is 1 - r^K - K r^K / (alpha + 1).  K = 200 is all but infinity for
#    alpha = 30, and far from it for alpha = 200.

UNITS = 200


def expected_weights(alpha):
    """Return the expected number of weights that are on in a row of K = 200 units."""
    power = np.exp(UNITS * (np.log(alpha) - np.log(alpha + 1)))
    return alpha * (1 - power), (alpha, power)


def expected_weights_vjp(dexpected, cache):
    """Pull the gradient back to ``alpha``."""
    alpha, power = cache
    return dexpected * (1 - power - UNITS * power / (alpha + 1))


# Exercise 2: empty units.  E[(1 - v)^D] = alpha B(alpha, D + 1).


def first_unit_is_empty(alpha, inputs):
    """Return the probability that the first unit has no weight."""
    return alpha * np.exp(betaln(alpha, inputs + 1))


# Exercise 3: in another order.  The two probabilities are equal: the customers are exchangeable.


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


def check_inputs():
    return {"alpha": 30.0}


def main():
    for alpha in (30.0, 200.0):
        value, cache = expected_weights(alpha)
        print(
            f"1. alpha {alpha:g}: {value:.2f} weights of {alpha:g}, {expected_weights_vjp(1.0, cache):.3f} more for "
            "each unit of alpha"
        )
    rng = np.random.default_rng(5)
    log_pi, _ = stick_breaking.log_probabilities(
        np.log(rng.uniform(size=(20_000, UNITS))) / 30.0
    )
    last = np.mean((1 - np.exp(log_pi[:, -1])) ** 784)
    print(
        f"2. the first unit is empty with probability {first_unit_is_empty(30.0, 784):.1e}, "
        f"the last with {last:.2f}"
    )
    drawn = [buffet(3, 2.0, rng) for _ in range(20_000)]
    for one, other in ((0, 2), (1, 2)):
        share = np.mean([(B[one] & B[other]).sum() == 1 for B in drawn])
        print(
            f"3. customers {one + 1} and {other + 1} share exactly one dish: {share:.3f}"
        )


if __name__ == "__main__":
    main()
