"""Solutions to the exercises of tutorial 3.

`ibpcl check tutorials/solutions/03_checking_a_gradient.py` checks the pair of
functions. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.verify import check

EPSILON = np.finfo(float).eps

# Exercise 1: The best step.
#
# Forward difference: h = 2 sqrt(epsilon |f| / |f''|), with an error of 2 sqrt(epsilon
# |f f''|). Half of the digits are right. Central difference: the truncation error is
# h^2 / 6 |f'''| and the rounding error epsilon |f| / h. This gives h = (3 epsilon |f|
# / |f'''|)^(1/3), and two thirds of the digits are right.


def best_steps(f, second, third):
    """Return the best step of both differences, with the error that each has there."""
    forward = 2 * np.sqrt(EPSILON * abs(f) / abs(second))
    central = np.cbrt(3 * EPSILON * abs(f) / abs(third))
    return (
        (forward, forward / 2 * abs(second) + 2 * EPSILON * abs(f) / forward),
        (central, central**2 / 6 * abs(third) + EPSILON * abs(f) / central),
    )


# Exercise 2: A remainder of higher order.
#
# The even terms cancel, h^2 among them, so a right gradient leaves h^3: slope three.
# A wrong gradient leaves its error times h: slope one.


def central_remainder_slope(f, gradient, x, steps):
    """Return the slope of log |f(x + h) - f(x - h) - 2 h g| over log h."""
    remainders = np.abs([f(x + h) - f(x - h) - 2 * h * gradient for h in steps])
    return np.polyfit(np.log(steps), np.log(remainders), 1)[0]


# Exercise 3: A complex-safe absolute value.
#
# The check confirms this pair by the complex step. For np.abs it reports that the
# forward is not complex-safe, and uses finite differences instead.


def smooth_abs(x, delta):
    """Return sqrt(x^2 + delta^2), close to |x| where |x| is much larger than delta."""
    y = np.sqrt(x * x + delta * delta)
    return y, (x, delta, y)


def smooth_abs_vjp(dy, cache):
    """Pull the gradient back to ``x`` and ``delta``, a number that was broadcast."""
    x, delta, y = cache
    return dy * x / y, np.sum(dy * delta / y)


def check_inputs():
    return {"x": np.random.default_rng(3).standard_normal(7), "delta": 0.1}


def main():
    x = 1.0
    for name, (h, error), measured in zip(
        ("forward", "central"),
        best_steps(np.exp(x), np.exp(x), np.exp(x)),
        (
            lambda h: (np.exp(x + h) - np.exp(x)) / h,
            lambda h: (np.exp(x + h) - np.exp(x - h)) / (2 * h),
        ),
        strict=True,
    ):
        print(
            f"1. {name}: h = {h:.0e}, error at most {error:.0e}, measured "
            f"{abs(measured(h) - np.exp(x)):.0e}"
        )
    steps = 0.5 ** np.arange(2, 9)
    right, wrong = (
        central_remainder_slope(np.exp, g, x, steps)
        for g in (np.exp(x), 1.1 * np.exp(x))
    )
    print(f"2. slope of a right gradient {right:.2f}, of a wrong one {wrong:.2f}")
    of_abs = check(
        lambda x: (np.abs(x), x), lambda dy, x: dy * np.sign(x), (check_inputs()["x"],)
    )
    print(f"3. np.abs: {of_abs}")


if __name__ == "__main__":
    main()
