"""Solutions to the exercises of tutorial 12.

`ibpcl check tutorials/solutions/12_continual_autoencoder.py` checks the pair of
functions. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.evaluation.codes import knn_error
from ibpcl.evaluation.latent import importance_sampled, mean_and_errors
from ibpcl.evaluation.linear import LinearModel

# Exercise 1: The KL divergence of the codes.
#
# The KL divergence is (m^2 + s^2 - 1) / 2 - log s, summed over the width of a code.
# The gradients are m and, at log s, s^2 - 1.


def code_divergence(z_mean, z_log_sigma):
    """Return KL[N(m, s^2) | N(0, 1)] of each image, (N,), in nats."""
    kl = (z_mean * z_mean + np.exp(2 * z_log_sigma) - 1) / 2 - z_log_sigma
    return kl.sum(axis=-1), (z_mean, z_log_sigma)


def code_divergence_vjp(dkl, cache):
    """Pull the gradient back to means and log-widths."""
    z_mean, z_log_sigma = cache
    return dkl[:, None] * z_mean, dkl[:, None] * (np.exp(2 * z_log_sigma) - 1)


# Exercise 2: How many samples?
#
# One. With orthogonal rows the posterior of the codes is a product of independent
# Gaussians. So the q of the model is exact, and all weights are equal.


def orthogonal(rng):
    """Return a linear model whose weight matrix has orthogonal rows."""
    q, _ = np.linalg.qr(rng.standard_normal((8, 4)))
    return LinearModel(q.T, noise=0.7)


# Exercise 3: A bound in one line.
#
# By Jensen's inequality: the log of the mean of the K + 1 leave-one-out averages is
# at least the mean of their logs, and each of those is an estimate with K samples.


def bounds(log_weights, counts):
    """Return the mean of log (1/K sum w) over groups of K samples, for each K."""
    found = []
    for count in counts:
        groups = log_weights[: len(log_weights) // count * count].reshape(-1, count)
        largest = groups.max(axis=1)
        found.append(
            np.mean(
                largest + np.log(np.mean(np.exp(groups - largest[:, None]), axis=1))
            )
        )
    return found


# Exercise 4: Make a label leak.
#
# With the oracle the error is zero: the mean of the codes reveals the class. Without
# it, with one encoder for all classes, the error is at chance level, two thirds.


def leak(rng, classes=3, each=100, width=6):
    """Return the 3-NN error on uninformative codes, with the oracle and without."""
    labels = np.repeat(np.arange(classes), each)
    means = 8 * rng.standard_normal((classes, width))[labels]
    known, asked = rng.standard_normal((2, classes * each, width))
    with_oracle = knn_error(known + means, labels, asked + means, labels, (3,))[0]
    return with_oracle, knn_error(known, labels, asked, labels, (3,))[0]


def check_inputs():
    rng = np.random.default_rng(12)
    return {
        "z_mean": rng.standard_normal((5, 3)),
        "z_log_sigma": rng.standard_normal((5, 3)),
    }


def main():
    print(
        "1. at the prior:",
        code_divergence(np.zeros((1, 3)), np.zeros((1, 3)))[0],
        "one step away:",
        code_divergence(np.ones((1, 3)), np.zeros((1, 3)))[0],
    )
    rng = np.random.default_rng(12)
    for name, model in (
        ("random rows", LinearModel(0.3 * rng.standard_normal((4, 8)), noise=0.7)),
        ("orthogonal rows", orthogonal(rng)),
    ):
        x = model.decode(rng.standard_normal((50, 4))) + 0.7 * rng.standard_normal(
            (50, 8)
        )
        told = mean_and_errors(importance_sampled(model, x, 100))
        print(f"2. {name}: 100 samples are worth {told['effective_samples']:.1f}")
    found = bounds(rng.standard_normal(120_000) * 1.5, (1, 2, 4, 8))
    print(
        "3. estimates with 1, 2, 4 and 8 samples: "
        + ", ".join(f"{value:.3f}" for value in found)
        + f"; the limit is {1.5**2 / 2:.3f}"
    )
    with_oracle, without = np.mean([leak(rng) for _ in range(40)], axis=0)
    print(f"4. 3-NN error with the oracle {with_oracle:.1%}, without {without:.1%}")
    assert with_oracle == 0 and abs(without - 2 / 3) < 0.02


if __name__ == "__main__":
    main()
