"""The log likelihood of a minibatch in the objective, as the paper prints it in Eq. 8.

A minibatch of one example out of N stands for the sum over all N.  As printed, it is not scaled by
N over the size of the minibatch, so the prior weighs N times too much.
"""

import numpy as np

Y = np.array([0.3, -1.2, 0.8, 2.1, -0.4, 0.9, 1.7, -0.6, 0.1, 1.1, -1.9, 0.5])


def expectation(mu):
    """The log likelihood of all N examples, N(y; mu, 1)."""
    return np.sum(-0.5 * (Y - mu) ** 2 - 0.5 * np.log(2 * np.pi))


def estimator(u, mu):
    """The log likelihood of the example that uniform noise u chooses, as printed."""
    y = Y[np.floor(len(Y) * np.asarray(u)).astype(int)]
    return -0.5 * (y - mu) ** 2 - 0.5 * np.log(2 * np.pi)
