r"""Factor analysis: a latent variable model with a known log p(x), for testing estimators.

.. math::

    z \sim N\bigl(m, \operatorname{diag}(s^2)\bigr), \qquad x \mid z \sim N(z W + b, \sigma^2 I)

So x is Gaussian, and z given x is Gaussian, too.  If the rows of W are orthogonal, the coordinates
of the posterior are independent, and q below is exact.
"""

import numpy as np

from ibpcl.evaluation.latent import LOG_2PI


class LinearModel:
    """Linear Gaussian model with the interface of :class:`~ibpcl.evaluation.latent.LatentModel`.

    Its q(z | x) has the mean of the posterior.  Among all factorized Gaussians, it has the smallest
    KL divergence from the posterior.

    Parameters
    ----------
    weights : array_like, shape (L, D)
        Matrix W.
    noise : float
        Standard deviation sigma of each pixel, > 0.
    offset : float or array_like, shape (D,)
        Mean b of x at z = 0.
    prior_mean : float or array_like, shape (L,)
        Means m of the prior.
    prior_sigma : float or array_like, shape (L,)
        Standard deviations s of the prior, > 0.

    Attributes
    ----------
    weights : ndarray, shape (L, D)
        Matrix W.
    latent, pixels : int
        Numbers L and D.
    noise : float
        Standard deviation of each pixel.
    offset : ndarray, shape (D,)
        Mean of x at z = 0.
    mean, sigma : ndarray, shape (L,)
        Means and standard deviations of the prior.
    precision : ndarray, shape (L, L)
        Precision matrix of z given x.

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
        # precision matrix of z given x
        self.precision = np.diag(self.sigma**-2.0) + self.weights @ self.weights.T / self.noise**2

    def encode(self, x):
        """Return the parameters of q(z | x).

        Parameters
        ----------
        x : array_like, shape (N, D)
            Observations.

        Returns
        -------
        mean, log_sigma : ndarray, shape (N, L)
            Means and log standard deviations.
        """
        pull = (
            np.asarray(x, float) - self.offset
        ) @ self.weights.T / self.noise**2 + self.mean / self.sigma**2
        mean = np.linalg.solve(self.precision, pull.T).T
        return mean, np.broadcast_to(-np.log(np.diag(self.precision)) / 2, mean.shape)

    def prior(self):
        """Return the mean and the log standard deviation of p(z), (L,) each."""
        return self.mean, np.log(self.sigma)

    def decode(self, z):
        """Return the means of x given z.

        Parameters
        ----------
        z : array_like, shape (..., L)
            Codes.

        Returns
        -------
        mean : ndarray, shape (..., D)
            z W + b.
        """
        return np.asarray(z) @ self.weights + self.offset

    def log_likelihood(self, x, z):
        """Return log p(x | z).

        Parameters
        ----------
        x : array_like, shape (N, D)
            Observations.
        z : ndarray, shape (K, N, L)
            K codes per observation.

        Returns
        -------
        log_likelihood : ndarray, shape (K, N)
            Nats, summed over pixels.
        """
        error = (np.asarray(x, float) - self.decode(z)) / self.noise
        return -np.sum(error**2, axis=-1) / 2 - self.pixels * (np.log(self.noise) + LOG_2PI / 2)

    def exact(self, x):
        r"""Return log p(x), the density of a Gaussian.

        .. math:: x \sim N(m W + b,\; W^T \operatorname{diag}(s^2) W + \sigma^2 I)

        Parameters
        ----------
        x : array_like, shape (N, D)
            Observations.

        Returns
        -------
        log_likelihood : ndarray, shape (N,)
            Nats.
        """
        covariance = (self.weights.T * self.sigma**2) @ self.weights + self.noise**2 * np.eye(
            self.pixels
        )
        error = np.asarray(x, float) - self.decode(self.mean)
        distance = np.sum(error * np.linalg.solve(covariance, error.T).T, axis=1)
        return -(distance + np.linalg.slogdet(covariance)[1] + self.pixels * LOG_2PI) / 2

    def gap(self):
        r"""Return KL(q || p(z | x)), the distance of the ELBO from log p(x), in nats.

        .. math::

            \tfrac12 \Bigl(\sum_i \log P_{ii} - \log\det P\Bigr), \quad
            P \text{ the precision of the posterior}

        It is the same for every x.
        """
        return (
            float(np.log(np.diag(self.precision)).sum() - np.linalg.slogdet(self.precision)[1]) / 2
        )
