"""Solutions to the exercises of tutorial 0.

`ibpcl check tutorials/solutions/00_prerequisites.py` checks the pairs of exercises 1
and 5. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

# Exercise 1: A vector-Jacobian product.
#
# The VJP is dx_j = sum_i dy_i y_i (1[i = j] - y_j) = y_j (dy_j - sum_i dy_i y_i). It
# needs one sum instead of a matrix.


def softmax(logits):
    """Return the softmax of a vector."""
    e = np.exp(logits - logits.max())
    y = e / e.sum()
    return y, y


def softmax_vjp(dy, y):
    """Pull the gradient back to ``logits``."""
    return y * (dy - np.sum(dy * y))


# Exercise 2: A sum of Gaussians.
#
# The mean is 0.5 (1 - 2 + 2) = 0.5. The variance is 0.1^2 (1 + 4 + 4) = 0.09, so the
# standard deviation is 0.3.


def output_moments(x, mu, sigma):
    """Return mean and standard deviation of sum_d x_d w_d."""
    return np.sum(x * mu), np.sqrt(np.sum(x**2 * sigma**2))


# Exercise 3: Two directions of KL.
#
# KL[q | p] = log((1/2) / (1/4)) = log 2 nats: q halves the number of outcomes. KL[p |
# q] is infinite, because p has mass where q has none.


def categorical_kl(q, p):
    """Return KL[q | p] of two vectors of probabilities, in nats."""
    support = q > 0
    with np.errstate(divide="ignore"):
        return np.sum(q[support] * np.log(q[support] / p[support]))


# Exercise 4: An error bar.
#
# One point is in the quarter disc with probability p = pi / 4. The estimate of pi is
# 4 times the mean, so its standard error is 4 sqrt(p (1 - p) / S), or 0.016 for
# 10,000 points. An error of 0.001 needs about 2.7 million points.


def estimate_pi(points, rng):
    """Return an estimate of pi and its standard error."""
    inside = np.sum(rng.uniform(size=(points, 2)) ** 2, axis=1) < 1
    return 4 * inside.mean(), 4 * inside.std(ddof=1) / np.sqrt(points)


# Exercise 5: Undoing a broadcast.
#
# m and s are repeated for every row, so their gradients are sums over the rows.


def standardize(x, m, s):
    """Return (x - m) / s for a matrix x (N, K) and vectors m, s (K,)."""
    y = (x - m) / s
    return y, (y, s)


def standardize_vjp(dy, cache):
    """Pull the gradient back to ``x``, ``m`` and ``s``."""
    y, s = cache
    dx = dy / s
    return dx, -dx.sum(axis=0), -(dx * y).sum(axis=0)


def check_inputs():
    rng = np.random.default_rng(0)
    return {
        "logits": rng.standard_normal(5), "x": rng.standard_normal((6, 3)),
        "m": rng.standard_normal(3), "s": rng.uniform(0.5, 2.0, 3),
    }  # fmt: skip


def main():
    x = np.array([0.0, np.log(2), np.log(3)])
    y, cache = softmax(x)
    print("1. softmax:", y.round(4), " VJP of (1, 0, 0):", end=" ")
    print(softmax_vjp(np.array([1.0, 0, 0]), cache).round(4))
    assert np.allclose(y, [1 / 6, 2 / 6, 3 / 6])

    mean, sigma = output_moments(
        np.array([1.0, -2, 2]), np.full(3, 0.5), np.full(3, 0.1)
    )
    print(f"2. mean {mean:.2f}, standard deviation {sigma:.2f}")
    assert np.isclose(mean, 0.5) and np.isclose(sigma, 0.3)

    q, p = np.array([0.5, 0.5, 0, 0]), np.full(4, 0.25)
    forward, backward = categorical_kl(q, p), categorical_kl(p, q)
    print(f"3. KL[q | p] = {forward:.4f} nats, KL[p | q] = {backward}")
    assert np.isclose(forward, np.log(2)) and backward == np.inf

    value, error = estimate_pi(10_000, np.random.default_rng(0))
    needed = np.pi * (4 - np.pi) / 0.001**2
    print(f"4. pi is {value:.3f} +- {error:.3f}; points needed: {needed:.2e}")
    assert abs(value - np.pi) < 4 * error and round(needed / 1e6, 1) == 2.7

    rng = np.random.default_rng(5)
    data = rng.normal(3.0, 2.0, (100, 2))
    y, cache = standardize(data, data.mean(axis=0), data.std(axis=0))
    _, dm, ds = standardize_vjp(np.ones_like(y), cache)
    print("5. gradient of the sum of y at m:", dm.round(2), " at s:", ds.round(2))
    assert np.allclose(dm, -100 / data.std(axis=0)) and np.allclose(ds, 0)


if __name__ == "__main__":
    main()
