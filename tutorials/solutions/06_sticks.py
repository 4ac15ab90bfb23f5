"""Solutions to the exercises of tutorial 6.

`ibpcl check tutorials/solutions/06_sticks.py` checks the pairs of functions. Run as a
script, the file prints the numbers that the comments refer to.
"""

import numpy as np
from scipy.special import digamma, polygamma
from scipy.stats import beta

from ibpcl.primitives import kumaraswamy
from ibpcl.verify import check

# Exercise 1: Kumaraswamy and Beta.
#
# They are equal where a or b is 1. Elsewhere they have a similar shape, but a
# different mode. The largest difference is an eighth of the height at (2, 2), and
# half of the height at (5, 3).


def largest_difference(a, b):
    """Return the largest difference of the densities, relative to the Beta's mode."""
    v = np.linspace(0.001, 0.999, 999)
    own = np.exp(kumaraswamy.log_density(np.log(v), np.array(a), np.array(b))[0])
    other = beta.pdf(v, a, b)
    return np.abs(own - other).max() / other.max()


# Exercise 2: The expected log-stick.
#
# At (alpha + 1, 2) with alpha = 30 it is -1.5 / 31, for the prior -1 / 30. The sticks
# are shorter, so fewer units are kept. The last of 200 units is e^{-3} times as
# likely. In general E[log v] = -(gamma + psi(b + 1)) / a. The derivative with respect
# to a is (gamma + psi(b + 1)) / a^2, with respect to b it is -psi'(b + 1) / a.


def expected_log_stick(a, b):
    """Return E_q[log v] under Kumaraswamy(a, b)."""
    total = np.euler_gamma + digamma(b) + 1 / b
    return -total / a, (a, b, total)


def expected_log_stick_vjp(dmean, cache):
    """Pull the gradient back to ``a`` and ``b``."""
    a, b, total = cache
    return dmean * total / a**2, -dmean * polygamma(1, b + 1) / a


# Exercise 3: Another mistake.
#
# The pair below, with E[log u] = 0, passes: a gradient check compares f_vjp with f,
# and both contain the mistake. An independent value finds it, such as the integral of
# the definition. It is *not* enough that the KL divergence of equal distributions is
# zero, because the wrong term has the factor b - 1: one known value is not enough.


def slipped_kl(a, b, alpha):
    """Return the divergence with E[log(1 - v^a)] = 0 in the place of -1 / b."""
    mean, cache = expected_log_stick(a, b)
    return np.sum(np.log(a * b / alpha) + (a - alpha) * mean), (
        a,
        b,
        alpha,
        mean,
        cache,
    )


def slipped_kl_vjp(dkl, cache):
    """Pull the gradient back to ``a``, ``b`` and ``alpha``."""
    a, b, alpha, mean, inner = cache
    da, db = expected_log_stick_vjp(dkl * (a - alpha), inner)
    return da + dkl * (1 / a + mean), db + dkl / b, -dkl * (1 / alpha + mean)


def check_inputs():
    return {
        "a": np.array([2.0, 31.0]),
        "b": np.array([3.0, 0.7]),
        "alpha": np.array([1.5, 30.0]),
    }


def main():
    for a, b in ((2.0, 2.0), (5.0, 3.0), (1.0, 3.0), (30.0, 1.0)):
        print(
            f"1. Kumaraswamy({a:g}, {b:g}): differs from the Beta by "
            f"{largest_difference(a, b):.1%} of its height"
        )
    for a, b in ((31.0, 2.0), (30.0, 1.0)):
        mean = expected_log_stick(a, b)[0]
        print(
            f"2. a = {a:g}, b = {b:g}: E[log v] = {mean:.4f}, E[log pi_200] = "
            f"{200 * mean:.2f}"
        )
    right, slipped = (
        check(f, vjp, check_inputs()).ok
        for f, vjp in (
            (kumaraswamy.kl_to_beta, kumaraswamy.kl_to_beta_vjp),
            (slipped_kl, slipped_kl_vjp),
        )
    )
    print(f"3. check passes: right {right}, slipped {slipped}")
    for case in ((30.0, 1.0, 30.0), (2.0, 3.0, 1.5)):
        one = tuple(np.array([value]) for value in case)
        t = np.linspace(1e-6, 40, 400_001)  # t = -log v
        log_q, log_p = (
            kumaraswamy.log_density(-t, *one[:2])[0],
            np.log(case[2]) - (case[2] - 1) * t,
        )
        integral = np.sum(np.exp(log_q - t) * (log_q - log_p)) * (t[1] - t[0])
        print(
            f"3. a, b, alpha = {case}: integral {integral:.3f}, right "
            f"{kumaraswamy.kl_to_beta(*one)[0]:.3f}, "
            f"slipped {slipped_kl(*one)[0]:.3f}"
        )


if __name__ == "__main__":
    main()
