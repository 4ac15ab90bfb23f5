"""Solutions to the exercises of tutorial 11.

`ibpcl check tutorials/solutions/11_other_methods.py` proves the pairs; run as a script, the file prints what comes out.
"""

import numpy as np

from ibpcl.numerics import sigmoid, softplus

# Exercise 1: the Fisher information of a softmax regression.  With two classes, one weight and f = x w, the loss of
#    label y is softplus(f) - y f, its slope x (p - y), and the slope's own slope x^2 p (1 - p), which knows no label: it
#    is the expected square of the slope, too, for E (p - y)^2 = p (1 - p).


def loss(w, x, y):
    """Return the mean loss of a logistic regression with a single weight."""
    f = x * w
    return np.mean(softplus(f) - y * f), (w, x, y)


def loss_vjp(dloss, cache):
    """Pull the gradient back to ``w``, ``x`` and ``y``."""
    w, x, y = cache
    slope = (sigmoid(x * w) - y) / x.size
    return dloss * np.sum(slope * x), dloss * slope * w, -dloss * x * w / x.size


# Exercise 2: SI without a way.  For L = theta^2 / 2 and steps from theta to -theta and back, the slope times the step is
#    the same both times: omega is 2 theta^2 for each of the two steps, although the loss has not changed at all, and the
#    denominator is xi alone: Omega is huge.  Steps that large are far from the integral that omega stands for.


def path_integral(positions):
    """Return omega of L = theta^2 / 2 along a path."""
    return -np.sum(positions[:-1] * np.diff(positions))


# Exercise 3: HAT's price.  A unit that an earlier task uses fully costs nothing.


def capacity(a, used):
    """Return the share of the unused units that gates open."""
    free = np.sum(1 - used)
    return np.sum(a * (1 - used)) / free, (a, used, free)


def capacity_vjp(dshare, cache):
    """Pull the gradient back to ``a`` and ``used``, which is in numerator and denominator."""
    a, used, free = cache
    share = np.sum(a * (1 - used)) / free
    return dshare * (1 - used) / free, dshare * (share - a) / free


# Exercise 4: one equation more.  L_t(theta) + sum_{s < t} (10 / N_t) L_s^kept(theta).  It is EWC's, with the true loss of
#    ten examples in the place of the parabola.


def check_inputs():
    rng = np.random.default_rng(11)
    return {
        "w": 0.7,
        "x": rng.standard_normal(9),
        "y": rng.integers(0, 2, 9).astype(float),
        "a": rng.uniform(size=6),
        "used": rng.uniform(size=6),
    }


def main():
    inputs = check_inputs()
    w, x, y = (inputs[name] for name in ("w", "x", "y"))
    curvature = loss_vjp(1.0, loss(w + 1e-20j, x, y)[1])[0].imag / 1e-20
    p = sigmoid(x * w)
    print(
        f"1. curvature of the loss {curvature:.12f}, mean of x^2 p (1 - p) {np.mean(x**2 * p * (1 - p)):.12f}"
    )
    print(
        f"2. large steps: omega {path_integral(np.array([1.0, -1.0, 1.0])):.1f}; the same way in small steps: "
        f"{path_integral(np.cos(np.linspace(0, 2 * np.pi, 10_001))):.4f}"
    )
    _, cache = capacity(np.ones(3), np.array([1.0, 0.0, 0.5]))
    print(
        "3. price of a gate for units used 1, 0 and 0.5:",
        capacity_vjp(1.0, cache)[0].round(3),
    )
    print(
        "4. L_t + sum over s < t of (10 / N_t) L_s on the kept examples; EWC is closest"
    )


if __name__ == "__main__":
    main()
