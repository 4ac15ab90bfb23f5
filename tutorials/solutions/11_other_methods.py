"""Solutions to the exercises of tutorial 11.

`ibpcl check tutorials/solutions/11_other_methods.py` checks the pairs of functions. Run
as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.numerics import sigmoid, softplus

# Exercise 1: The Fisher information of a softmax regression.
#
# With two classes, one weight and f = x w, the loss of label y is softplus(f) - y f.
# Its slope is x (p - y), and the slope of the slope is x^2 p (1 - p), for both
# labels. It is also the expected square of the slope, because E (p - y)^2 = p (1 -
# p).


def loss(w, x, y):
    """Return the mean loss of a logistic regression with a single weight."""
    f = x * w
    return np.mean(softplus(f) - y * f), (w, x, y)


def loss_vjp(dloss, cache):
    """Pull the gradient back to ``w``, ``x`` and ``y``."""
    w, x, y = cache
    slope = (sigmoid(x * w) - y) / x.size
    return dloss * np.sum(slope * x), dloss * slope * w, -dloss * x * w / x.size


# Exercise 2: SI without a net move.
#
# For L = theta^2 / 2, step from theta to -theta and back. Minus the slope times the
# step is 2 theta^2 for each of the two steps, although the loss has not changed at
# all. The denominator is xi alone, so Omega is huge. Such large steps are far from
# the integral that omega stands for: along the same path in small steps omega is
# almost zero.


def path_integral(positions):
    """Return omega of L = theta^2 / 2 along a path."""
    return -np.sum(positions[:-1] * np.diff(positions))


# Exercise 3: HAT's price.
#
# A unit that an earlier task uses fully costs nothing.


def capacity(a, used):
    """Return the share of the unused units that gates open."""
    free = np.sum(1 - used)
    return np.sum(a * (1 - used)) / free, (a, used, free)


def capacity_vjp(dshare, cache):
    """Pull the gradient back to ``a`` and ``used``, which is in both sums."""
    a, used, free = cache
    share = np.sum(a * (1 - used)) / free
    return dshare * (1 - used) / free, dshare * (share - a) / free


# Exercise 4: One more equation.
#
# L_t(theta) + sum_{s < t} (10 / N_t) L_s^kept(theta), where L_s^kept is the mean loss
# on the ten kept examples of task s. EWC is closest to it: it replaces the loss of
# the kept examples by a parabola.


# Exercise 5: The pull of the horseshoe.
#
# The derivative of log cosh(x / 2) is tanh(x / 2) / 2, at most one half nat per unit of
# x. A Gaussian pulls the more the further away a scale is, a horseshoe never more than
# that: data that need a large scale win easily. On the other side, a unit that only
# adds noise gains more than half a nat until its scale is almost 0.


def horseshoe(x):
    """Return minus the log density of x = log(lambda^2), summed over scales."""
    return np.sum(np.log(2 * np.pi * np.cosh(x / 2))), x


def horseshoe_vjp(dprice, cache):
    """Pull the gradient back to ``x``."""
    return dprice * np.tanh(cache / 2) / 2


# Exercise 6: A natural-gradient step.
#
# E[L] = a ((m - c)^2 + sigma^2) / 2, so the gradient at log sigma is a sigma^2. Divided
# by sigma^2 it is a. With the prior N(0, 1) the new precision is a + 1, and the new
# mean m - (a (m - c) + m) / (a + 1) = a c / (a + 1). Both are those of the posterior.


def expected_loss(m, log_sigma, c):
    """Return E[L] for a = 3, summed over weights."""
    value = 1.5 * np.sum((m - c) ** 2 + np.exp(2 * log_sigma))
    return value, (m, log_sigma, c)


def expected_loss_vjp(dvalue, cache):
    """Pull the gradient back to ``m``, ``log_sigma`` and ``c``."""
    m, log_sigma, c = cache
    slope = 3 * (m - c)
    return dvalue * slope, dvalue * 3 * np.exp(2 * log_sigma), -dvalue * slope


# Exercise 7: A step that an earlier task does not feel.
#
# Take out the part along h: d - h (h d) / (h h). Its product with h is 0, so a second
# projection changes nothing. Adam divides each entry by its own size. That turns a
# projected gradient out of the allowed space, but a projected step stays in it.


def unfelt(d, h):
    """Return the part of a step ``d`` that is orthogonal to the input ``h``."""
    share = np.sum(h * d) / np.sum(h * h)
    return d - share * h, (d, h, share)


def unfelt_vjp(dout, cache):
    """Pull the gradient back to ``d`` and ``h``."""
    d, h, share = cache
    dshare = -np.sum(dout * h) / np.sum(h * h)
    return dout + dshare * h, -share * dout + dshare * (d - 2 * share * h)


def check_inputs():
    rng = np.random.default_rng(11)
    return {
        "w": 0.7, "x": rng.standard_normal(9), "m": rng.standard_normal(4),
        "log_sigma": rng.standard_normal(4), "c": rng.standard_normal(4),
        "d": rng.standard_normal(5), "h": rng.standard_normal(5),
        "y": rng.integers(0, 2, 9).astype(float),
        "a": rng.uniform(size=6), "used": rng.uniform(size=6),
    }  # fmt: skip


def main():
    inputs = check_inputs()
    w, x, y = (inputs[name] for name in ("w", "x", "y"))
    curvature = loss_vjp(1.0, loss(w + 1e-20j, x, y)[1])[0].imag / 1e-20
    p = sigmoid(x * w)
    information = np.mean(x**2 * p * (1 - p))
    print(f"1. curvature of the loss {curvature:.12f}, Fisher {information:.12f}")
    assert np.isclose(curvature, information, rtol=1e-12)

    large = path_integral(np.array([1.0, -1.0, 1.0]))
    small = path_integral(np.cos(np.linspace(0, 2 * np.pi, 10_001)))
    print(f"2. omega with two large steps {large:.1f}, with small steps {small:.4f}")
    assert large == 4 and abs(small) < 0.01

    _, cache = capacity(np.ones(3), np.array([1.0, 0.0, 0.5]))
    price, _ = capacity_vjp(1.0, cache)
    print("3. price of a gate for units used 1, 0 and 0.5:", price.round(3))
    assert price[0] == 0

    print(
        "4. L_t + sum over s < t of (10 / N_t) L_s on the kept examples; EWC is closest"
    )

    scales = np.array([-30.0, 0.0, 2.0, 30.0])
    pull = horseshoe_vjp(1.0, horseshoe(scales)[1])
    print("5. pull on log(lambda^2) at -30, 0, 2 and 30:", pull.round(3))
    assert np.abs(pull).max() <= 0.5

    m, log_sigma, c = (inputs[name] for name in ("m", "log_sigma", "c"))
    dm, dlog_sigma, _ = expected_loss_vjp(1.0, expected_loss(m, log_sigma, c)[1])
    precision = dlog_sigma / np.exp(2 * log_sigma) + 1
    mean = m - (dm + m) / precision
    apart = np.abs(mean - 3 * c / 4).max()
    print(f"6. precision {precision[0]:.3f}, mean off by {apart:.0e}")
    assert np.allclose(precision, 4) and np.allclose(mean, 3 * c / 4)

    d, h = (inputs[name] for name in ("d", "h"))
    once = unfelt(d, h)[0]
    twice = unfelt(once, h)[0]
    turned = once / (np.abs(once) + 1)  # each entry divided by another number
    print(f"7. h d of the step {h @ once:.0e}, divided as by Adam {h @ turned:.2f}")
    assert np.allclose(once, twice) and abs(h @ once) < 1e-12 < abs(h @ turned)


if __name__ == "__main__":
    main()
