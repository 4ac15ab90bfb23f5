"""Solutions to the exercises of tutorial 17.

`ibpcl check tutorials/solutions/17_how_deep.py` checks the pairs of functions. Run as a
script, the file prints the numbers that the comments refer to.
"""

import numpy as np
from scipy.stats import poisson

from ibpcl.primitives import gaussian

# Exercise 1: A residual block as a pair.
#
# The input gets the gradient of the sum directly, and the gradient through the block.
# The bias was broadcast over examples, the switch over examples and units.


def block(h, w, b, z):
    """Return h + z max(0, h W + b)."""
    a = h @ w + b
    f = np.where(a > 0, a, 0)
    return h + z * f, (h, w, z, f)


def block_vjp(dy, cache):
    """Pull the gradient back to the input, the weights, the biases and the switch."""
    h, w, z, f = cache
    da = z * dy * (f > 0)
    return dy + da @ w.T, h.T @ da, da.sum(axis=0), np.sum(f * dy)


# Exercise 2: The expected depth as a pair.
#
# With r = alpha / (alpha + 1) the derivative is 1 - r^L - alpha L r^L / (alpha (alpha
# + 1)). Newton's method from alpha = 3 needs a few steps.


def expected_depth(alpha, limit):
    """Return the expected number of blocks that are on, of ``limit`` blocks."""
    power = (alpha / (alpha + 1)) ** limit
    return alpha * (1 - power), (alpha, limit, power)


def expected_depth_vjp(dout, cache):
    """Pull the gradient back to alpha."""
    alpha, limit, power = cache
    return dout * (1 - power - limit * power / (alpha + 1))


# Exercise 3: Poisson or not?
#
# With thirty blocks the two agree to the error of the draws. With a limit of three the
# depths above three are missing, and their mass lies on the depths below.


def depth_frequencies(alpha, limit, draws, rng):
    """Return the frequencies of the depths 0 .. limit under the prior."""
    log_v = np.log(rng.uniform(size=(draws, limit))) / alpha
    z = rng.random((draws, limit)) < np.exp(np.cumsum(log_v, axis=1))
    return np.bincount(z.sum(axis=1), minlength=limit + 1) / draws


# Exercise 4: Gaps.
#
# Given the sticks the switches are independent, so gaps happen. They do no harm: the
# block after the gap reads the sum of the blocks before it, whichever these are.


def share_with_gaps(alpha, limit, draws, rng):
    """Return how often a switch is on behind one that is off."""
    log_v = np.log(rng.uniform(size=(draws, limit))) / alpha
    z = rng.random((draws, limit)) < np.exp(np.cumsum(log_v, axis=1))
    return np.mean((z[:, 1:] & ~z[:, :-1]).any(axis=1))


# Exercise 5: The price of a block.
#
# There are 6 * 6 weights and 6 biases. The price does not depend on the number of
# examples, and the gain does. So with more data, networks become deeper.


def price(width, mean, sigma):
    """Return the KL divergence in nats of all weights and biases of a block."""
    count = width * width + width
    kl, _ = gaussian.kl(
        np.full(count, mean),
        np.full(count, np.log(sigma)),
        np.zeros(count),
        np.zeros(count),
    )
    return kl


def check_inputs():
    rng = np.random.default_rng(17)
    return {
        "h": rng.standard_normal((5, 3)),
        "w": rng.standard_normal((3, 3)),
        "b": rng.standard_normal(3),
        "z": np.array(0.6),
        "alpha": np.array(2.0),
        "limit": 8,
    }


def main():
    rng = np.random.default_rng(17)
    inputs = check_inputs()
    y, cache = block(*(inputs[name] for name in ("h", "w", "b", "z")))
    print(f"1. gradient at the switch {block_vjp(np.ones_like(y), cache)[3]:.3f}")

    alpha = 3.0
    for _ in range(20):
        depth, cache = expected_depth(alpha, 8)
        alpha -= (depth - 3.0) / expected_depth_vjp(1.0, cache)
    print(f"2. alpha = {alpha:.4f} expects {expected_depth(alpha, 8)[0]:.6f} blocks")
    assert np.isclose(expected_depth(alpha, 8)[0], 3.0)

    for limit in (3, 30):
        found = depth_frequencies(2.0, limit, 100_000, rng)
        away = np.abs(found - poisson.pmf(np.arange(limit + 1), 2.0)).max()
        print(f"3. {limit} blocks: largest difference to the Poisson {away:.4f}")
        assert (away < 0.01) == (limit == 30)

    print(f"4. gaps in {share_with_gaps(1.0, 4, 100_000, rng):.3f} of all draws")

    cost = price(6, 0.5, 0.3)
    print(
        f"5. a block costs {cost:.1f} nats, as much as {cost / 0.01:.0f} examples gain"
    )


if __name__ == "__main__":
    main()
