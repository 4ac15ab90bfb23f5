r"""The classifier of one task: a masked network under the softmax, its ELBO by parts and gradient, its predictions.

Kumar et al. (2021), Sec. 3.  The network's weights are shared by all tasks; the masks and the head are the task's own.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models import layers
from ibpcl.models.mlp import MaskedMLP
from ibpcl.numerics import logsumexp
from ibpcl.primitives import kumaraswamy, likelihoods


class Elbo(NamedTuple):
    r"""The parts of the ELBO, in nats and for the whole task.

    ``log_likelihood`` is scaled by N / batch; ``kl_weights``, ``kl_masks`` and ``kl_sticks`` are unscaled.  The ELBO is
    the first minus the others.  Kumar et al. (2021), Eqs. 6 to 8.
    """

    log_likelihood: float
    kl_weights: float
    kl_masks: float
    kl_sticks: float

    @property
    def total(self):
        """The true ELBO: every divergence at weight one."""
        return self.log_likelihood - self.kl_weights - self.kl_masks - self.kl_sticks


class Prior(NamedTuple):
    """The prior of one task: Gaussian, element by element of its block, and the IBP's alpha for each hidden layer."""

    mu: np.ndarray
    log_sigma: np.ndarray
    alpha: np.ndarray


class Prediction(NamedTuple):
    r"""What the network predicts, and how sure it is.

    ``probabilities`` (N, C): the mean over samples.  ``entropy`` (N,): of that mean, in nats.  ``mutual_information``
    (N,): the part of the entropy that more knowledge of the weights would remove,
    :math:`H[\bar p] - \frac1S \sum_s H[p^s]` (Houlsby et al., 2011).
    """

    probabilities: np.ndarray
    entropy: np.ndarray
    mutual_information: np.ndarray


@dataclass(frozen=True)
class Classifier(MaskedMLP):
    """A masked network whose outputs are the logits of ``outputs`` classes; parameters as in :class:`MaskedMLP`."""

    def elbo(self, vector, prior, x, labels, noise, tau, examples, backend):
        r"""Estimate the ELBO of a task from one minibatch.

        .. math:: \mathcal L = \frac{N}{|b|}\,\frac1S \sum_s \log p(Y_b | V^s, B^s, v^s)
                  - \frac1S \sum_s KL[q(B | v^s) \| p(B | v^s)] - KL[q(V) \| p(V)] - KL[q(v) \| p(v)]

        Kumar et al. (2021), Eq. 8 (printed without the N / \|b\| that a minibatch needs).

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The variational parameters, in the order of ``layout``.
        prior : Prior
            The prior of this task.
        x : ndarray, shape (N, D)
            Inputs of the minibatch.
        labels : ndarray of int, shape (N,)
            Its classes.
        noise : ibpcl.models.mlp.Noise
            From ``noise``, with as many samples S as the estimate shall average.
        tau : float
            Temperature of the relaxed masks, > 0.
        examples : int
            Number of examples of the whole task.
        backend : Backend
            Who computes.

        Returns
        -------
        parts : Elbo
            Nats, for the whole task.
        cache : tuple
            What :meth:`elbo_vjp` needs.
        """
        (logits, divergence), network_cache = self.relaxed(vector, x, noise, tau, backend)
        log_p, likelihood_cache = likelihoods.categorical(logits, labels)
        kl_weights, weights_cache = self._kl_weights(vector, prior, backend)
        kl_sticks, stick_caches = 0, []
        for parameters, alpha in zip(self.layers(vector), prior.alpha, strict=False):
            (a, b), raw_cache = layers.sticks(parameters["raw_a"], parameters["raw_b"])
            kl, kl_cache = kumaraswamy.kl_to_beta(a, b, alpha)
            kl_sticks = kl_sticks + kl
            stick_caches.append((raw_cache, kl_cache))
        scale = examples / log_p.size                        # N / |b| and 1 / S
        parts = Elbo(scale * log_p.sum(), kl_weights, divergence.mean(), kl_sticks)
        return parts, (network_cache, likelihood_cache, weights_cache, stick_caches, scale, log_p, backend)

    def elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``.

        The cotangent (1, -1, -1, -1) gives the gradient of the ELBO; other weights give that of a weighted objective.
        """
        network_cache, likelihood_cache, weights_cache, stick_caches, scale, log_p, backend = cache
        dlikelihood, dkl_weights, dkl_masks, dkl_sticks = dparts
        samples = log_p.shape[0]
        dlogits = likelihoods.categorical_vjp(np.full_like(log_p, dlikelihood * scale), likelihood_cache)
        ddivergence = np.full(samples, dkl_masks / samples, log_p.dtype)
        gradient = self.relaxed_vjp((dlogits, ddivergence), network_cache)
        self._add_kl_weights_vjp(gradient, dkl_weights, weights_cache, backend)
        for views, (raw_cache, kl_cache) in zip(self.layers(gradient), stick_caches, strict=False):
            da, db, _ = kumaraswamy.kl_to_beta_vjp(dkl_sticks, kl_cache)
            draw_a, draw_b = layers.sticks_vjp((da, db), raw_cache)
            views["raw_a"] += draw_a
            views["raw_b"] += draw_b
        return gradient

    def fixed_elbo(self, vector, prior, masks, x, labels, noise, examples, backend):
        r"""Estimate the ELBO of a task whose masks are fixed; the divergences of masks and sticks are constant, so 0.

        Kumar et al. (2021), Sec. 4.5, "Selective Finetuning".  Arguments as in :meth:`elbo`, with ``masks`` a tuple of
        boolean arrays (D, K), one a hidden layer, and ``noise`` from ``fixed_noise``.
        """
        logits, network_cache = self.fixed(vector, masks, x, noise)
        log_p, likelihood_cache = likelihoods.categorical(logits, labels)
        kl_weights, weights_cache = self._kl_weights(vector, prior, backend)
        scale = examples / log_p.size
        parts = Elbo(scale * log_p.sum(), kl_weights, 0.0, 0.0)
        return parts, (network_cache, likelihood_cache, weights_cache, scale, log_p, backend)

    def fixed_elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``; masks and sticks get none."""
        network_cache, likelihood_cache, weights_cache, scale, log_p, backend = cache
        dlikelihood, dkl_weights, _, _ = dparts
        dlogits = likelihoods.categorical_vjp(np.full_like(log_p, dlikelihood * scale), likelihood_cache)
        gradient = self.fixed_vjp(dlogits, network_cache)
        self._add_kl_weights_vjp(gradient, dkl_weights, weights_cache, backend)
        return gradient

    def _kl_weights(self, vector, prior, backend):
        block = self.layout.block
        return backend.gaussian_kl(vector[block("mu")], vector[block("log_sigma")], prior.mu, prior.log_sigma)

    def _add_kl_weights_vjp(self, gradient, dkl_weights, cache, backend):
        dmu, dlog_sigma, _, _ = backend.gaussian_kl_vjp(dkl_weights, cache)
        gradient[self.layout.block("mu")] += dmu
        gradient[self.layout.block("log_sigma")] += dlog_sigma

    def predict(self, vector, masks, x, samples, key, backend, chunk=16384):
        r"""Predict with fixed masks, averaging over samples of the weights.

        .. math:: p(y | x) = \frac1S \sum_s \mathrm{softmax}(f(x; V^s, B))

        Kumar et al. (2021), Sec. 4.5 and supplement (100 samples at test time).  Every example has samples of its own,
        drawn at the pre-activations, so memory is bounded by ``chunk`` rows (sample times example) at once.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The variational parameters.
        masks : tuple of ndarray of bool, shape (D, K)
            The task's masks, one a hidden layer.
        x : ndarray, shape (N, D)
            Inputs.
        samples : int
            Number of samples S.
        key : Key
            Of the noise; the result is a function of it and the inputs.
        backend : Backend
            Who draws the noise.
        chunk : int
            Rows evaluated at once.

        Returns
        -------
        prediction : Prediction
            Mean probabilities, entropy and mutual information.
        """
        rows = max(1, chunk // samples)
        probabilities = np.empty((len(x), self.outputs), vector.dtype)
        mean_entropy = np.empty(len(x), vector.dtype)
        for i, start in enumerate(range(0, len(x), rows)):
            part = slice(start, start + rows)
            noise = self.fixed_noise(key._replace(step=i), samples, len(x[part]), backend, vector.dtype)
            logits, _ = self.fixed(vector, masks, x[part], noise)
            log_p = logits - logsumexp(logits, axis=-1, keepdims=True)
            p = np.exp(log_p)
            probabilities[part] = p.mean(axis=0)
            mean_entropy[part] = -(p * log_p).sum(axis=-1).mean(axis=0)
        # 0 log 0 = 0: the smallest positive float in its place.
        log_mean = np.log(np.maximum(probabilities, np.finfo(vector.dtype).tiny))
        entropy = -(probabilities * log_mean).sum(axis=-1)
        return Prediction(probabilities, entropy, np.maximum(entropy - mean_entropy, 0))
