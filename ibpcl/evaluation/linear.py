r"""Factor analysis: a latent variable model whose log p(x) is known exactly, to hold estimators
against.

.. math::

    z \sim N\bigl(m, \operatorname{diag}(s^2)\bigr), \qquad x \mid z \sim N(z W + b, \sigma^2 I)

so that x is Gaussian, and so is z given x.  With orthogonal rows of W the posterior's coordinates
are independent, and the q below is exact.
"""

import numpy as np

from ibpcl.evaluation.latent import LOG_2PI


class LinearModel:
    """A :class:`~ibpcl.evaluation.latent.LatentModel` that is linear and Gaussian.

    Its q(z | x) has the posterior's mean and, of all factorized Gaussians, the least divergence
    from it.

    Parameters
    ----------
    weights : array_like, shape (L, D)
        W.
    noise : float, > 0
        The standard deviation of each pixel.
    offset : array_like, shape (D,)
        b.
    prior_mean, prior_sigma : array_like, shape (L,)
        m and s.

    Examples
    --------
    >>> model = LinearModel([[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    >>> model.encode(np.array([[2.0,
    ...     0.0]]))[0], round(float(model.exact(np.array([[2.0, 0.0]]))[0]), 4)
    (array([[1., 0.]]), -3.531)
    """

    def __init__(self, weights, noise=1.0, offset=0.0, prior_mean=0.0, prior_sigma=1.0):
        self.weights = np.asarray(weights, float)
        self.latent, self.pixels = self.weights.shape
        self.noise = float(noise)
        self.offset = np.broadcast_to(np.asarray(offset, float), (self.pixels,))
        self.mean, self.sigma = (
            np.broadcast_to(np.asarray(part, float), (self.latent,))
            for part in (prior_mean, prior_sigma)
        )
        # The precision of z given x.
        self.precision = np.diag(self.sigma**-2.0) + self.weights @ self.weights.T / self.noise**2

    def encode(self, x):
        """Return mean and log standard deviation of q(z | x)."""
        pull = (
            np.asarray(x, float) - self.offset
        ) @ self.weights.T / self.noise**2 + self.mean / self.sigma**2
        mean = np.linalg.solve(self.precision, pull.T).T
        return mean, np.broadcast_to(-np.log(np.diag(self.precision)) / 2, mean.shape)

    def prior(self):
        """Return mean and log standard deviation of p(z)."""
        return self.mean, np.log(self.sigma)

    def decode(self, z):
        """Return the means of x given z."""
        return np.asarray(z) @ self.weights + self.offset

    def log_likelihood(self, x, z):
        """Return log p(x | z), (K, N)."""
        error = (np.asarray(x, float) - self.decode(z)) / self.noise
        return -np.sum(error**2, axis=-1) / 2 - self.pixels * (np.log(self.noise) + LOG_2PI / 2)

    def exact(self, x):
        r"""Return log p(x), (N,): that of :math:`N(m W + b,\; W^T \operatorname{diag}(s^2) W +
        \sigma^2 I)`.
        """
        covariance = (self.weights.T * self.sigma**2) @ self.weights + self.noise**2 * np.eye(
            self.pixels
        )
        error = np.asarray(x, float) - self.decode(self.mean)
        distance = np.sum(error * np.linalg.solve(covariance, error.T).T, axis=1)
        return -(distance + np.linalg.slogdet(covariance)[1] + self.pixels * LOG_2PI) / 2

    def gap(self):
        r"""Return KL(q || p(z | x)), the same for every x: how far the ELBO lies below log p(x).

        .. math::

            \tfrac12 \Bigl(\sum_i \log P_{ii} - \log\det P\Bigr), \quad
            P \text{ the posterior's precision}
        """
        return (
            float(np.log(np.diag(self.precision)).sum() - np.linalg.slogdet(self.precision)[1]) / 2
        )
