"""Solutions to the exercises of tutorial 13.

`ibpcl check tutorials/solutions/13_more_than_gradients.py` checks the functions. Run
as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl import check_distribution, check_value

support = (0, np.inf)

# Exercise 1: A log-normal density.
#
# Without the Jacobian the integral is E[e^z] = exp(mu + sigma^2 / 2), and the report
# says that it is the density of log x.


def lognormal_log_density(x, mu, sigma):
    """Return the log density of exp(z) for z ~ N(mu, sigma^2)."""
    z = (np.log(x) - mu) / sigma
    return -0.5 * z**2 - np.log(sigma) - 0.5 * np.log(2 * np.pi) - np.log(x)


def without_jacobian(x, mu, sigma):
    """Return the same without -log x."""
    return lognormal_log_density(x, mu, sigma) + np.log(x)


# Exercise 2: One number.
#
# 1 - log 2 is right. The same value in bits is recognized. The entropy for the rate
# 1/2 is not: 1 + log 2 is a different number, and no plain mistake leads to it.


def exponential_log_density(x, rate):
    """Return the log density of the exponential distribution."""
    return np.log(rate) - rate * x


def exponential_entropy(rate):
    """Return 1 - log rate."""
    return 1 - np.log(rate)


# Exercise 3: A mistake that the density cannot show.
#
# 1 - u is uniform like u, so both samplers are right. A quantile function must be
# right at each level, not only as a distribution: the quantile of 1 - p is the other
# tail.


def exponential_sample(u, rate):
    """Draw from the exponential distribution, with u in the place of 1 - u."""
    return -np.log(u) / rate


def exponential_quantile(p, rate):
    """Return the quantile, with 1 - p."""
    return -np.log1p(-p) / rate


def main():
    report = check_distribution(without_jacobian, support=support)
    print("1.", report.items[0].kind)
    right = exponential_entropy(2.0)
    for name, yours in (
        ("in nats", right),
        ("in bits", right / np.log(2)),
        ("rate 1/2", exponential_entropy(0.5)),
    ):
        print(f"2. {name}: {check_value(yours, right).kind}")
    for name, function in (
        ("with p", lambda p, rate: -np.log(p) / rate),
        ("with 1 - p", exponential_quantile),
    ):
        report = check_distribution(
            exponential_log_density, quantile=function, support=support
        )
        print(f"3. {name}: {report.items[-1].kind}")


if __name__ == "__main__":
    main()
