r"""How probable images are under a model with latent variables: importance sampling, and two scores
that are not it.

A task's model knows :math:`p(z)`, :math:`p(x \mid z)` and an approximation :math:`q(z \mid x)` of
the posterior (:class:`LatentModel`).  What a likelihood shall be is :math:`\log p(x) = \log \int
p(x \mid z)\, p(z)\, dz`; :func:`importance_sampled` estimates it, and with the same samples the
ELBO, which lies below. :func:`reconstruction_score` is what the released code of Kumar et al.
(2021) reports as a log-likelihood: it has no :math:`p(z)` in it, lies above the ELBO, and must not
be compared with the other two.

All are in nats per image, summed over pixels.
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import logsumexp

# decoded images at a time: 6 MB an array at 784 pixels
CHUNK = 2048
ROWS = 128  # images of them that are different
LOG_2PI = float(np.log(2 * np.pi))
# of a mean pixel and of its distance to 1
SMALLEST = 1e-6


class LatentModel(Protocol):
    """A task's generative model, weights and masks fixed, so that everything is a function of z."""

    latent: int  # the number L of latent variables

    def encode(self, x):
        """Return mean and log standard deviation, (N, L) each, of q(z | x) for images (N, D)."""

    def prior(self):
        """Return mean and log standard deviation, (L,) each, of p(z)."""

    def decode(self, z):
        """Return the mean images (..., D) for z (..., L): Bernoulli probabilities, or Gaussian
        means.
        """

    def log_likelihood(self, x, z):
        """Return log p(x | z), (K, N), for images (N, D) and z (K, N, L); nats, summed over
        pixels.
        """


class Likelihood(NamedTuple):
    """What importance sampling gives for each image; arrays of shape (N,), nats.

    ``monte_carlo_error`` is the standard error of the estimate in log p, by the delta method; NaN
    for one sample.  It is too small when ``effective_samples`` is near 1, since weights that were
    not seen are missing in it, and where q is so much narrower than the posterior that the weights
    have no variance: ``effective_samples / K`` then falls with K.
    """

    # of log p(x): unbiased in p, so too low in log p
    log_likelihood: np.ndarray
    elbo: np.ndarray  # the mean log weight, unbiased
    # 1..K: how many equal weights would vary as much
    effective_samples: np.ndarray
    monte_carlo_error: np.ndarray


def importance_sampled(model, x, samples, seed=0, chunk=CHUNK, advance=None):
    r"""Estimate log p(x) of each image with samples of its own approximate posterior.

    .. math:: \hat p(x) = \frac1K \sum_k w_k, \qquad
              w_k = \frac{p(x \mid z_k)\, p(z_k)}{q(z_k \mid x)}, \quad z_k \sim q(z \mid x)

    Burda, Grosse and Salakhutdinov (2016), "Importance weighted autoencoders", Sec. 3; the
    estimator of Nguyen et al. (2018), "Variational continual learning", Sec. 6.2, who take K =
    5,000.  :math:`E[\hat p(x)] = p(x)` for every K; :math:`E[\log \hat p(x)]` is the ELBO at K = 1
    and rises towards :math:`\log p(x)`.  With :math:`\mathrm{ESS} = (\sum w)^2 / \sum w^2`, the
    variance of :math:`\log \hat p` is about :math:`(K / \mathrm{ESS} - 1) / (K - 1)`.

    Parameters
    ----------
    model : LatentModel
    x : ndarray, shape (N, D)
    samples : int, at least 1
        K, for each image.
    seed : int
        The noise of image n is a function of (seed, n), whatever ``chunk`` is.
    chunk : int
        At most so many images are decoded at a time; it sets the memory and nothing else.  The log
        weights, 8 bytes for each image and sample, are all kept.
    advance : callable, optional
        Called with the number of samples that were drawn, for a progress bar; ``N * samples`` in
        all.

    Returns
    -------
    likelihood : Likelihood

    Raises
    ------
    ValueError
        If there are no images or no samples, or the model returns something that is not finite.

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
            f"{np.count_nonzero(~np.isfinite(log_weights))} that are not"
        )
    total = logsumexp(log_weights, axis=0)
    effective = np.exp(2 * total - logsumexp(2 * log_weights, axis=0))  # (sum w)^2 / sum w^2
    error = np.full(len(x), np.nan)
    if samples > 1:
        error = np.sqrt(np.maximum(samples / effective - 1, 0) / (samples - 1))
    return Likelihood(total - np.log(samples), log_weights.mean(axis=0), effective, error)


def mean_and_errors(likelihood):
    r"""Return the mean over images and how well it is known.

    Parameters
    ----------
    likelihood : Likelihood

    Returns
    -------
    dict of str to float
        ``log_likelihood`` and ``elbo``: means, nats per image.  ``standard_error`` of the first as
        an estimate for all images there could be: :math:`s / \sqrt N`, which holds the sampling's
        own.  ``monte_carlo_error``: the sampling's own alone, for these very images.
        ``effective_samples``: the median over images.

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
    r"""Score the mean reconstruction of each image: what the paper's released code calls a
    log-likelihood.

    .. math:: \sum_d x_d \log \bar x_d + (1 - x_d) \log (1 - \bar x_d), \qquad
              \bar x = \frac1K \sum_k E[x \mid z_k], \quad z_k \sim q(z \mid x)

    .. warning:: Not a likelihood: z is taken after having seen x, and that is not paid for.  The
        released code also averages over samples of the weights; here they are fixed.

    Parameters
    ----------
    model : LatentModel
        With mean images in 0..1, cut at 1e-6 from both ends.
    x : ndarray, shape (N, D)
    samples, seed, chunk
        As in :func:`importance_sampled`.

    Returns
    -------
    score : ndarray, shape (N,)
        Nats, at most 0.
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
        picture = np.clip(total / samples, SMALLEST, 1 - SMALLEST)
        scores.append(
            np.sum(x[rows] * np.log(picture) + (1 - x[rows]) * np.log1p(-picture), axis=1)
        )
    return np.concatenate(scores)


def reconstructions(model, x):
    """Return the mean images (N, D) at the means of q(z | x)."""
    return np.asarray(model.decode(model.encode(_images(x, "latent.reconstructions"))[0]))


def prior_samples(model, count, seed=0):
    """Return the mean images (count, D) at ``count`` samples of p(z)."""
    mean, log_sigma = (np.asarray(part) for part in model.prior())
    eps = np.random.default_rng(seed).standard_normal((count, model.latent))
    return np.asarray(model.decode(_as(mean, mean + np.exp(log_sigma) * eps)))


def _log_weights(model, x, eps, posterior, prior):
    """Return log p(x|z) + log p(z) - log q(z|x), (K, N); the constants of the two Gaussians
    cancel.
    """
    mean, log_sigma = posterior
    z = _as(x, mean + np.exp(log_sigma) * eps)
    deviation = (z - prior[0]) * np.exp(-prior[1])
    log_ratio = (eps**2 - deviation**2).sum(axis=-1) / 2 + log_sigma.sum(axis=-1) - prior[1].sum()
    return np.asarray(model.log_likelihood(x, z), float) + log_ratio


def _blocks(images, seed, chunk):
    """Cut the images into blocks, rows of one matrix product, and give each its source of noise."""
    size = min(chunk, ROWS)
    for first in range(0, images, size):
        rows = slice(first, min(first + size, images))
        sources = [np.random.default_rng((seed, n)) for n in range(rows.start, rows.stop)]

        def noise(count, latent, sources=sources):
            return np.stack([source.standard_normal((count, latent)) for source in sources], axis=1)

        yield rows, noise


def _pieces(samples, most):
    """Cut the samples of a block into pieces of at most ``most``."""
    yield from (min(most, samples - first) for first in range(0, samples, most))


def _images(x, caller):
    x = np.asarray(x)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"{caller}: x must have shape (N, D), N and D at least 1, got {x.shape}")
    return x


def _as(like, z):
    """Return z in the precision of the images: a network in float32 stays there."""
    return z.astype(like.dtype) if like.dtype.kind == "f" else z
