r"""A network with a likelihood: the ELBO of one task, by parts and with its gradient.

Kumar et al. (2021), Sec. 3.  The network's weights are shared by all tasks; the masks and the head are the task's own.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models import layers
from ibpcl.models.mlp import MaskedMLP
from ibpcl.primitives import kumaraswamy, weibull


class Elbo(NamedTuple):
    r"""The parts of the ELBO, in nats and for the whole task.

    ``log_likelihood`` is scaled by N / batch; ``kl_weights``, ``kl_masks``, ``kl_sticks`` and ``kl_alpha`` (0 unless
    alpha is learned) are unscaled.  The ELBO is the first minus the others.  Kumar et al. (2021), Eqs. 6 to 8.
    """

    log_likelihood: float
    kl_weights: float
    kl_masks: float
    kl_sticks: float
    kl_alpha: float = 0.0

    @property
    def total(self):
        """The true ELBO: every divergence at weight one."""
        return self.log_likelihood - sum(self[1:])


class Prior(NamedTuple):
    r"""The prior of one task.

    ``mu`` and ``log_sigma``: the Gaussian block, element by element.  ``alpha`` (L,): the IBP's concentration in each
    hidden layer, or, where alpha is learned, ``alpha_prior``: shape and rate of its Gamma prior.  ``informative``:
    the indices of those elements of the Gaussian block that have a Gaussian prior; None for all of them.  ``flat``: the
    others have a flat one, whose divergence is :math:`-\sum\log\sigma` up to a constant; else they have none at all.
    """

    mu: np.ndarray
    log_sigma: np.ndarray
    alpha: np.ndarray
    alpha_prior: tuple[float, float] | None = None
    informative: np.ndarray | None = None
    flat: bool = False


@dataclass(frozen=True)
class Supervised(MaskedMLP):
    """A masked network with a likelihood of its outputs; parameters as in :class:`MaskedMLP`.

    A kind of network says what its outputs mean: ``likelihood(vector, outputs, targets, backend) -> (log_p (S, N),
    cache)`` (the primitives compute it if no backend is given) and
    ``likelihood_vjp(dlog_p, cache) -> (doutputs, gradients of its extra entries by name)``.
    """

    def elbo(self, vector, prior, x, targets, noise, tau, examples, backend):
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
        targets : ndarray, shape (N,) or (N, C)
            Its labels, or its targets.
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
        (outputs, divergence), network_cache = self.relaxed(vector, x, noise, tau, backend)
        log_p, likelihood_cache = self.likelihood(vector, outputs, targets, backend)
        kl_weights, weights_cache = _kl_weights(self.layout, vector, prior, backend)
        (kl_sticks, kl_alpha), stick_caches = self._kl_sticks(vector, prior, backend)
        scale = examples / log_p.size                        # N / |b| and 1 / S
        parts = Elbo(scale * log_p.sum(), kl_weights, divergence.mean(), kl_sticks, kl_alpha)
        return parts, (network_cache, likelihood_cache, weights_cache, stick_caches, scale, log_p, backend)

    def elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``.

        The cotangent (1, -1, -1, -1, -1) gives the gradient of the ELBO; other weights that of a weighted objective.
        """
        network_cache, likelihood_cache, weights_cache, stick_caches, scale, log_p, backend = cache
        dlikelihood, dkl_weights, dkl_masks, dkl_sticks, dkl_alpha = dparts
        samples = log_p.shape[0]
        doutputs, extra = self.likelihood_vjp(np.full_like(log_p, dlikelihood * scale), likelihood_cache)
        gradient = self.relaxed_vjp((doutputs, np.full(samples, dkl_masks / samples, log_p.dtype)), network_cache)
        self._add_extra(gradient, extra)
        _add_kl_weights_vjp(self.layout, gradient, dkl_weights, weights_cache, backend)
        self._add_kl_sticks_vjp(gradient, dkl_sticks, dkl_alpha, stick_caches, backend)
        return gradient

    def fixed_elbo(self, vector, prior, masks, x, targets, noise, examples, backend):
        r"""Estimate the ELBO of a task whose masks are fixed; the divergences of masks and sticks are constant, so 0.

        Kumar et al. (2021), Sec. 4.5, "Selective Finetuning".  Arguments as in :meth:`elbo`, with ``masks`` a tuple of
        boolean arrays (D, K), one a hidden layer, and ``noise`` from ``fixed_noise``.
        """
        outputs, network_cache = self.fixed(vector, masks, x, noise, backend)
        log_p, likelihood_cache = self.likelihood(vector, outputs, targets, backend)
        kl_weights, weights_cache = _kl_weights(self.layout, vector, prior, backend)
        scale = examples / log_p.size
        parts = Elbo(scale * log_p.sum(), kl_weights, 0.0, 0.0)
        return parts, (network_cache, likelihood_cache, weights_cache, scale, log_p, backend)

    def fixed_elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``; masks and sticks get none."""
        network_cache, likelihood_cache, weights_cache, scale, log_p, backend = cache
        doutputs, extra = self.likelihood_vjp(np.full_like(log_p, dparts[0] * scale), likelihood_cache)
        gradient = self.fixed_vjp(doutputs, network_cache)
        self._add_extra(gradient, extra)
        _add_kl_weights_vjp(self.layout, gradient, dparts[1], weights_cache, backend)
        return gradient

    def _add_extra(self, gradient, extra):
        for name, value in extra.items():
            self.layout.view(gradient, name)[...] += value

    def _kl_sticks(self, vector, prior, backend):
        """Add up the divergences of all layers' sticks, and of alpha where it is learned."""
        kl_sticks, kl_alpha, caches = 0, 0.0, []
        for i, parameters in enumerate(self.layers(vector)[:-1]):
            if self.learns_alpha:
                (kl, layer_kl_alpha), cache = _kl_sticks_and_alpha(parameters, prior)
                kl_alpha = kl_alpha + layer_kl_alpha
            else:
                kl, cache = backend.stick_divergence(parameters["raw_a"], parameters["raw_b"], prior.alpha[i])
            kl_sticks = kl_sticks + kl
            caches.append(cache)
        return (kl_sticks, kl_alpha), caches

    def _add_kl_sticks_vjp(self, gradient, dkl_sticks, dkl_alpha, caches, backend):
        for views, cache in zip(self.layers(gradient), caches, strict=False):
            if self.learns_alpha:
                found = _kl_sticks_and_alpha_vjp((dkl_sticks, dkl_alpha), cache)
            else:
                draw_a, draw_b, _ = backend.stick_divergence_vjp(dkl_sticks, cache)
                found = {"raw_a": draw_a, "raw_b": draw_b}
            for name, value in found.items():
                views[name] += value


def _kl_sticks_and_alpha(parameters, prior):
    """Return the divergences of a layer's sticks, on average over alpha, and of alpha."""
    (a, b), raw_cache = layers.sticks(parameters["raw_a"], parameters["raw_b"])
    (k, scale), raw_alpha = layers.sticks(parameters["raw_shape"], parameters["raw_scale"])
    (mean, mean_log), moments_cache = weibull.moments(k, scale)
    kl, cache = kumaraswamy.expected_kl_to_beta(a, b, mean, mean_log)
    kl_alpha, gamma_cache = weibull.kl_to_gamma(k, scale, *prior.alpha_prior)
    return (kl, kl_alpha), (raw_cache, cache, raw_alpha, moments_cache, gamma_cache)


def _kl_sticks_and_alpha_vjp(dout, cache):
    """Pull the gradients back to the layer's parameters, a dict."""
    dkl, dkl_alpha = dout
    raw_cache, inner, raw_alpha, moments_cache, gamma_cache = cache
    da, db, dmean, dmean_log = kumaraswamy.expected_kl_to_beta_vjp(dkl, inner)
    by_sticks = weibull.moments_vjp((dmean, dmean_log), moments_cache)
    by_prior = weibull.kl_to_gamma_vjp(dkl_alpha, gamma_cache)
    dalpha = [one + other for one, other in zip(by_sticks, by_prior, strict=True)]
    values = (*layers.sticks_vjp((da, db), raw_cache), *layers.sticks_vjp(dalpha, raw_alpha))
    return dict(zip(("raw_a", "raw_b", "raw_shape", "raw_scale"), values, strict=True))


def _kl_weights(layout, vector, prior, backend):
    arrays = (vector[layout.block("mu")], vector[layout.block("log_sigma")], prior.mu, prior.log_sigma)
    if prior.informative is None:
        kl, cache = backend.gaussian_kl(*arrays)
        return kl, (cache, prior)
    known = tuple(array[prior.informative] for array in arrays)
    kl, cache = backend.gaussian_kl(*known)
    if prior.flat:                                           # what the entropy of all others leaves of the divergence
        kl = kl - (arrays[1].sum() - known[1].sum())
    return kl, (cache, prior)


def _add_kl_weights_vjp(layout, gradient, dkl_weights, cache, backend):
    inner, prior = cache
    if prior.informative is None:
        onto = tuple(gradient[layout.block(block)] for block in ("mu", "log_sigma"))
        backend.add_gaussian_kl_gradient(dkl_weights, inner, onto)
        return
    dmu, dlog_sigma, _, _ = backend.gaussian_kl_vjp(dkl_weights, inner, needs_dprior=False)
    gradient[layout.block("mu")][prior.informative] += dmu
    dlog_sigmas = gradient[layout.block("log_sigma")]
    if prior.flat:
        dlog_sigmas -= dkl_weights
        dlog_sigma = dlog_sigma + dkl_weights
    dlog_sigmas[prior.informative] += dlog_sigma
