r"""Likelihood of images under a latent variable model: importance sampling, and two other scores.

The model of a task consists of :math:`p(z)`, :math:`p(x \mid z)` and an approximation
:math:`q(z \mid x)` of the posterior (:class:`LatentModel`).  The likelihood is :math:`\log p(x) =
\log \int p(x \mid z)\, p(z)\, dz`.  :func:`importance_sampled` estimates it and, with the same
samples, the ELBO, which lies below it.  :func:`reconstruction_score` is the quantity that the
released code of Kumar et al. (2021) reports as a log-likelihood.  It does not contain
:math:`p(z)`, lies above the ELBO, and must not be compared with the other two.

All are in nats per image, summed over pixels.
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import logsumexp

# Images decoded at a time: 6 MB per array for 784 pixels.
CHUNK = 2048
ROWS = 128  # different images among them
LOG_2PI = float(np.log(2 * np.pi))
# Mean pixels are clipped this far from 0 and 1.
SMALLEST = 1e-6


class LatentModel(Protocol):
    """Interface of a task's generative model with fixed weights and masks.

    Everything is a deterministic function of z.

    Attributes
    ----------
    latent : int
        Number L of latent variables.
    """

    latent: int

    def encode(self, x):
        """Return the parameters of q(z | x).

        Parameters
        ----------
        x : ndarray, shape (N, D)
            Images.

        Returns
        -------
        mean, log_sigma : ndarray, shape (N, L)
            Means and log standard deviations.
        """

    def prior(self):
        """Return the mean and the log standard deviation of p(z), (L,) each."""

    def decode(self, z):
        """Return the mean images for latent codes.

        Parameters
        ----------
        z : ndarray, shape (..., L)
            Codes.

        Returns
        -------
        images : ndarray, shape (..., D)
            Bernoulli probabilities or Gaussian means.
        """

    def log_likelihood(self, x, z):
        """Return log p(x | z).

        Parameters
        ----------
        x : ndarray, shape (N, D)
            Images.
        z : ndarray, shape (K, N, L)
            K codes per image.

        Returns
        -------
        log_likelihood : ndarray, shape (K, N)
            Nats, summed over pixels.
        """


class Likelihood(NamedTuple):
    """Result of importance sampling, for each image.

    Attributes
    ----------
    log_likelihood : ndarray, shape (N,)
        Estimate of log p(x), in nats: unbiased for p, so too low on average for log p.
    elbo : ndarray, shape (N,)
        Mean log weight, in nats: an unbiased estimate of the ELBO.
    effective_samples : ndarray, shape (N,)
        Effective sample size in 1..K, the number of equal weights with the same variance.
    monte_carlo_error : ndarray, shape (N,)
        Standard error of ``log_likelihood``, in nats, by the delta method; NaN for one sample.  It
        is too small when ``effective_samples`` is near 1, because unseen large weights are missing.
        It is also too small when q is so much narrower than the posterior that the weights hardly
        vary; ``effective_samples / K`` then falls with K.
    """

    log_likelihood: np.ndarray
    elbo: np.ndarray
    effective_samples: np.ndarray
    monte_carlo_error: np.ndarray


def importance_sampled(model, x, samples, seed=0, chunk=CHUNK, advance=None):
    r"""Estimate log p(x) of each image by importance sampling from q(z | x).

    .. math:: \hat p(x) = \frac1K \sum_k w_k, \qquad
              w_k = \frac{p(x \mid z_k)\, p(z_k)}{q(z_k \mid x)}, \quad z_k \sim q(z \mid x)

    Burda, Grosse and Salakhutdinov (2016), "Importance weighted autoencoders", Sec. 3.  Nguyen et
    al. (2018), "Variational continual learning", Sec. 6.2, use this estimator with K = 5,000.
    :math:`E[\hat p(x)] = p(x)` for every K; :math:`E[\log \hat p(x)]` is the ELBO for K = 1 and
    rises towards :math:`\log p(x)`.  With :math:`\mathrm{ESS} = (\sum w)^2 / \sum w^2`, the
    variance of :math:`\log \hat p` is approximately :math:`(K / \mathrm{ESS} - 1) / (K - 1)`.

    Parameters
    ----------
    model : LatentModel
        Model of a task.
    x : ndarray, shape (N, D)
        Images.
    samples : int
        Number of samples K per image, at least 1.
    seed : int
        Seed; the noise of image n depends only on (seed, n).
    chunk : int
        Largest number of images decoded at a time.  It limits the memory and does not change the
        result.  All log weights are stored, 8 bytes per image and sample.
    advance : callable, optional
        Called with the number of samples drawn since the last call, ``N * samples`` in all; for a
        progress bar.

    Returns
    -------
    likelihood : Likelihood
        Estimates for each image.

    Raises
    ------
    ValueError
        If ``x`` is empty, ``samples`` or ``chunk`` is below 1, or the model returns non-finite
        values.

    Examples
    --------
    >>> from ibpcl.evaluation.linear import LinearModel
    >>> model = LinearModel(np.ones((1, 2)), noise=1.0)
    >>> importance_sampled(model, np.zeros((1, 2)),
    ...     4).log_likelihood.round(4), model.exact(np.zeros((1, 2))).round(4)
    (array([-2.3872]), array([-2.3872]))
    """
    x = _images(x, "latent.importance_sampled")
    if samples < 1 or chunk < 1:
        raise ValueError(
            f"latent.importance_sampled: samples and chunk must be at least 1, got {samples} and "
            f"{chunk}"
        )
    prior = [np.asarray(part, float) for part in model.prior()]
    blocks = []
    for rows, noise in _blocks(len(x), seed, chunk):
        posterior = [np.asarray(part, float) for part in model.encode(x[rows])]
        weights = []
        for count in _pieces(samples, chunk // len(x[rows])):
            eps = noise(count, model.latent)
            weights.append(_log_weights(model, x[rows], eps, posterior, prior))
            if advance is not None:
                advance(eps.shape[0] * eps.shape[1])
        blocks.append(np.concatenate(weights))  # (K, images of the block)
    log_weights = np.concatenate(blocks, axis=1)
    if not np.isfinite(log_weights).all():
        raise ValueError(
            "latent.importance_sampled: the model's log densities must be finite, got "
            f"{np.count_nonzero(~np.isfinite(log_weights))} NaN or infinite"
        )
    total = logsumexp(log_weights, axis=0)
    effective = np.exp(2 * total - logsumexp(2 * log_weights, axis=0))  # (sum w)^2 / sum w^2
    error = np.full(len(x), np.nan)
    if samples > 1:
        error = np.sqrt(np.maximum(samples / effective - 1, 0) / (samples - 1))
    return Likelihood(total - np.log(samples), log_weights.mean(axis=0), effective, error)


def mean_and_errors(likelihood):
    r"""Return means over images, and their standard errors.

    Parameters
    ----------
    likelihood : Likelihood
        Result of importance sampling for N images.

    Returns
    -------
    summary : dict of str to float
        ``log_likelihood`` and ``elbo``: means, in nats per image.  ``standard_error``: error of the
        mean log-likelihood as an estimate for the population of images, :math:`s / \sqrt N`, which
        includes the Monte Carlo error; NaN for one image.  ``monte_carlo_error``: Monte Carlo error
        alone, for these images.  ``effective_samples``: median over images.

    Examples
    --------
    >>> two = Likelihood(np.array([-1.0, -3.0]), np.array([-2.0, -4.0]), np.array([5.0, 5.0]),
    ...     np.array([0.3, 0.4]))
    >>> for name, value in mean_and_errors(two).items():
    ...     print(name, round(value, 3))
    log_likelihood -2.0
    elbo -3.0
    standard_error 1.0
    monte_carlo_error 0.25
    effective_samples 5.0
    """
    values = likelihood.log_likelihood
    N = len(values)
    return {
        "log_likelihood": float(values.mean()),
        "elbo": float(likelihood.elbo.mean()),
        "standard_error": float(values.std(ddof=1) / np.sqrt(N)) if N > 1 else float("nan"),
        "monte_carlo_error": float(np.sqrt(np.sum(likelihood.monte_carlo_error**2)) / N),
        "effective_samples": float(np.median(likelihood.effective_samples)),
    }


def reconstruction_score(model, x, samples=100, seed=0, chunk=CHUNK):
    r"""Return the score of the mean reconstruction of each image.

    .. math:: \sum_d x_d \log \bar x_d + (1 - x_d) \log (1 - \bar x_d), \qquad
              \bar x = \frac1K \sum_k E[x \mid z_k], \quad z_k \sim q(z \mid x)

    The released code of the paper calls it a log-likelihood.

    .. warning:: This is not a likelihood: z is chosen after seeing x, without the cost of this
       information.  The released code also averages over samples of the weights; here they are
       fixed.

    Parameters
    ----------
    model : LatentModel
        Model of a task, with mean images in 0..1; they are clipped to 1e-6 .. 1 - 1e-6.
    x : ndarray, shape (N, D)
        Images, pixels in 0..1.
    samples : int
        Number of samples K per image, at least 1.
    seed : int
        Seed; the noise of image n depends only on (seed, n).
    chunk : int
        Largest number of images decoded at a time.

    Returns
    -------
    score : ndarray, shape (N,)
        Nats, at most 0.

    Raises
    ------
    ValueError
        If ``x`` is empty or not of shape (N, D).
    """
    x = _images(x, "latent.reconstruction_score")
    scores = []
    for rows, noise in _blocks(len(x), seed, chunk):
        mean, log_sigma = (np.asarray(part, float) for part in model.encode(x[rows]))
        total = np.zeros(x[rows].shape)
        for count in _pieces(samples, chunk // len(x[rows])):
            total += model.decode(
                _as(x, mean + np.exp(log_sigma) * noise(count, model.latent))
            ).sum(axis=0)
        image = np.clip(total / samples, SMALLEST, 1 - SMALLEST)
        scores.append(np.sum(x[rows] * np.log(image) + (1 - x[rows]) * np.log1p(-image), axis=1))
    return np.concatenate(scores)


def reconstructions(model, x):
    """Return the mean images decoded at the means of q(z | x).

    Parameters
    ----------
    model : LatentModel
        Model of a task.
    x : ndarray, shape (N, D)
        Images.

    Returns
    -------
    images : ndarray, shape (N, D)
        Mean pixels.

    Raises
    ------
    ValueError
        If ``x`` is empty or not of shape (N, D).
    """
    return np.asarray(model.decode(model.encode(_images(x, "latent.reconstructions"))[0]))


def prior_samples(model, count, seed=0):
    """Return the mean images decoded at samples of the prior p(z).

    Parameters
    ----------
    model : LatentModel
        Model of a task.
    count : int
        Number of images.
    seed : int
        Seed of the samples.

    Returns
    -------
    images : ndarray, shape (count, D)
        Mean pixels.
    """
    mean, log_sigma = (np.asarray(part) for part in model.prior())
    eps = np.random.default_rng(seed).standard_normal((count, model.latent))
    return np.asarray(model.decode(_as(mean, mean + np.exp(log_sigma) * eps)))


def _log_weights(model, x, eps, posterior, prior):
    """Return log p(x|z) + log p(z) - log q(z|x), (K, N).

    The constants of the two Gaussians cancel.
    """
    mean, log_sigma = posterior
    z = _as(x, mean + np.exp(log_sigma) * eps)
    deviation = (z - prior[0]) * np.exp(-prior[1])
    log_ratio = (eps**2 - deviation**2).sum(axis=-1) / 2 + log_sigma.sum(axis=-1) - prior[1].sum()
    return np.asarray(model.log_likelihood(x, z), float) + log_ratio


def _blocks(images, seed, chunk):
    """Yield blocks of images, rows of one matrix product, each with its source of noise."""
    size = min(chunk, ROWS)
    for first in range(0, images, size):
        rows = slice(first, min(first + size, images))
        sources = [np.random.default_rng((seed, n)) for n in range(rows.start, rows.stop)]

        def noise(count, latent, sources=sources):
            return np.stack([source.standard_normal((count, latent)) for source in sources], axis=1)

        yield rows, noise


def _pieces(samples, most):
    """Yield the sizes of pieces of at most ``most`` samples."""
    yield from (min(most, samples - first) for first in range(0, samples, most))


def _images(x, caller):
    """Return the images as an array, or raise ValueError if there are none."""
    x = np.asarray(x)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"{caller}: x must have shape (N, D), N and D at least 1, got {x.shape}")
    return x


def _as(like, z):
    """Return z in the precision of the images: a float32 network remains in float32."""
    return z.astype(like.dtype) if like.dtype.kind == "f" else z
