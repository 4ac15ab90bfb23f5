r"""The autoencoder: two networks with codes between them and a likelihood of pixels; the ELBO of one task by parts.

Kumar et al. (2021), Sec. 3.3 and supplement G.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models.codec import Codec
from ibpcl.primitives import likelihoods

LIKELIHOODS = ("bernoulli", "gaussian")


class Elbo(NamedTuple):
    r"""The parts of the ELBO, in nats and for the whole task.

    ``log_likelihood`` and ``kl_latent`` are scaled by N / batch; the divergences of weights, masks and sticks are
    unscaled.  The ELBO is the first minus the others.  Kumar et al. (2021), Eq. 10.
    """

    log_likelihood: float
    kl_latent: float
    kl_weights: float
    kl_masks: float
    kl_sticks: float

    @property
    def total(self):
        """The true ELBO: every divergence at weight one."""
        return self.log_likelihood - sum(self[1:])


@dataclass(frozen=True)
class Autoencoder(Codec):
    """Encoder and decoder with a likelihood; the first parameters are those of :class:`ibpcl.models.codec.Codec`.

    Parameters
    ----------
    likelihood : {"bernoulli", "gaussian"}
        Of the pixels: Bernoulli with logistic link, for pixels in 0 .. 1 (grey ones are mean fields), or Gaussian.
    pixel_sigma : float
        Standard deviation of Gaussian pixels.
    """

    likelihood: str = "bernoulli"
    pixel_sigma: float = 0.1

    def __post_init__(self):
        super().__post_init__()
        if self.likelihood not in LIKELIHOODS:
            raise ValueError(f"Autoencoder: likelihood must be one of {', '.join(LIKELIHOODS)}, "
                             f"got {self.likelihood!r}")
        if not 0 < self.pixel_sigma < np.inf:
            raise ValueError(f"Autoencoder: pixel_sigma must be finite and above 0, got {self.pixel_sigma}")

    def log_density(self, outputs, x, backend=None):
        """Evaluate the log density of images (N, D) under the decoder's outputs (S, N, D): (S, N), nats; and a cache.

        See :mod:`ibpcl.primitives.likelihoods`, which computes it if no backend is given.
        """
        if self.likelihood == "bernoulli":
            functions = likelihoods if backend is None else backend.likelihoods
            log_p, cache = functions.bernoulli_logistic(outputs, x)
            return log_p, (functions.bernoulli_logistic_vjp, cache)
        log_sigma = np.full(self.inputs, np.log(self.pixel_sigma), outputs.dtype)
        log_p, cache = likelihoods.gaussian(outputs, log_sigma, x)
        return log_p, (likelihoods.gaussian_vjp, cache)

    def log_density_vjp(self, dlog_p, cache):
        """Pull the gradient back to the decoder's outputs."""
        pull_back, inner = cache
        found = pull_back(dlog_p, inner)
        return found if self.likelihood == "bernoulli" else found[0]

    def elbo(self, vector, prior, x, noise, examples, backend, masks=None, tau=None, targets=None):
        r"""Estimate the ELBO of a task from one minibatch.

        .. math:: \mathcal L = \frac{N}{|b|}\,\frac1S \sum_s \sum_{n \in b}
                  \bigl(\log p(x_n | z_n^s, V^s, B^s) - KL[q(z_n | x_n, V^s, B^s) \| p(z)]\bigr)
                  - \frac1S \sum_s KL[q(B | v^s) \| p(B | v^s)] - KL[q(V) \| p(V)] - KL[q(v) \| p(v)]

        Kumar et al. (2021), Eq. 10, with a minibatch's N / \|b\|.

        Parameters
        ----------
        vector, x, noise, backend, masks, tau
            As in :meth:`evaluate`; with given masks the divergences of masks and sticks are constant, so 0.
        prior : ibpcl.models.supervised.Prior
            ``mu`` and ``log_sigma`` of the Gaussian block, and ``alpha`` of each masked layer.
        examples : int
            Number of images of the whole task.
        targets : ndarray, shape (N, D), optional
            The whole images, where the encoder does not read all of their pixels.

        Returns
        -------
        parts : Elbo
            Nats, for the whole task.
        cache : tuple
            What :meth:`elbo_vjp` needs.
        """
        (outputs, z_mean, z_log_sigma, divergence), network_cache = self.evaluate(vector, x, noise, backend, masks, tau)
        log_p, likelihood_cache = self.log_density(outputs, x if targets is None else targets, backend)
        kl_latent, latent_cache = backend.latent_kl(z_mean, z_log_sigma, *self.latent_prior(vector))
        kl_weights, weights_cache = self._kl_weights(vector, prior, backend)
        kl_sticks, stick_caches = self._kl_sticks(vector, prior, backend) if masks is None else (0.0, [])
        scale = examples / log_p.size                        # N / |b| and 1 / S
        parts = Elbo(scale * log_p.sum(), scale * kl_latent.sum(), kl_weights, divergence.mean(), kl_sticks)
        return parts, (network_cache, likelihood_cache, latent_cache, weights_cache, stick_caches, scale, log_p,
                       backend)

    def elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``.

        The cotangent (1, -1, -1, -1, -1) gives the gradient of the ELBO; other weights that of a weighted objective.
        """
        network_cache, likelihood_cache, latent_cache, weights_cache, stick_caches, scale, log_p, backend = cache
        dlikelihood, dkl_latent, dkl_weights, dkl_masks, dkl_sticks = dparts
        samples = log_p.shape[0]
        doutputs = self.log_density_vjp(np.full_like(log_p, dlikelihood * scale), likelihood_cache)
        dmean, dscale, dprior_mu, dprior_log_sigma = backend.latent_kl_vjp(
            np.full_like(log_p, dkl_latent * scale), latent_cache)
        gradient = self.evaluate_vjp(
            (doutputs, dmean, dscale, np.full(samples, dkl_masks / samples, log_p.dtype)), network_cache)
        if self.learns_prior:
            for name, part in (("prior.mu", dprior_mu), ("prior.log_sigma", dprior_log_sigma)):
                self.layout.view(gradient, name)[...] = part
        if weights_cache is not None:
            onto = tuple(gradient[self.layout.block(block)] for block in ("mu", "log_sigma"))
            backend.add_gaussian_kl_gradient(dkl_weights, weights_cache, onto)
        for name, stick_cache in stick_caches:
            draw_a, draw_b, _ = backend.stick_divergence_vjp(dkl_sticks, stick_cache)
            for raw, value in (("raw_a", draw_a), ("raw_b", draw_b)):
                view = self.layout.view(gradient, f"{name}.{raw}")
                view += value
        return gradient

    def _kl_weights(self, vector, prior, backend):
        if "mu" not in self.layout.blocks:
            return 0.0, None
        return backend.gaussian_kl(vector[self.layout.block("mu")], vector[self.layout.block("log_sigma")],
                                   prior.mu, prior.log_sigma)

    def _kl_sticks(self, vector, prior, backend):
        """Add up the divergences of all layers' sticks."""
        total, caches = 0.0, []
        for name, alpha in zip(self.of_kind("masked"), prior.alpha, strict=True):
            raw = (self.layout.view(vector, f"{name}.{side}") for side in ("raw_a", "raw_b"))
            kl, cache = backend.stick_divergence(*raw, alpha)
            total = total + kl
            caches.append((name, cache))
        return total, caches
