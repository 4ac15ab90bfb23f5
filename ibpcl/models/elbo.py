r"""The ELBO of one task, by parts and with its gradient: of a classifier, a regressor, an
autoencoder.

.. math:: \mathcal L = \frac{N}{|b|}\,\frac1S \sum_s \sum_{n \in b}
          \bigl(\log p(y_n | x_n, V^s, B^s) - KL[q(z_n | x_n, V^s, B^s) \| p(z)]\bigr)
          - \frac1S \sum_s KL[q(B | v^s) \| p(B | v^s)] - KL[q(V) \| p(V)] - KL[q(v) \| p(v)]

Kumar et al. (2021), Eqs. 8 and 10 (printed without the N / \|b\| that a minibatch needs).  The
divergence of codes z is there where the network has some, that of masks B and sticks v while masks
are sampled: with given ones ("Selective Finetuning", Sec. 4.5) both are constant, so 0.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import Pass


class Elbo(NamedTuple):
    r"""The parts of the ELBO, in nats and for the whole task.

    ``log_likelihood`` and ``kl_latent`` (of codes) are scaled by N / batch; the divergences of
    weights, masks, sticks and a learned alpha are unscaled.  The ELBO is the first minus the
    others; what a network does not have is 0.
    """

    log_likelihood: float
    kl_weights: float = 0.0
    kl_masks: float = 0.0
    kl_sticks: float = 0.0
    kl_alpha: float = 0.0
    kl_latent: float = 0.0

    @property
    def total(self):
        """The ELBO with every divergence at weight one."""
        return self.log_likelihood - sum(self[1:])


# The cotangent of the parts that gives the gradient of the ELBO.
GRADIENT = Elbo(1.0, -1.0, -1.0, -1.0, -1.0, -1.0)


class Flat:
    r"""The flat prior: up to a constant, the divergence of Gaussians from it is
    :math:`-\sum\log\sigma`.
    """

    @staticmethod
    def kl(mu, log_sigma):
        """Return the divergence up to a constant, in nats, and its cache."""
        return -log_sigma.sum(), log_sigma

    @staticmethod
    def kl_vjp(dkl, log_sigma):
        """Pull the gradient back to both."""
        return np.zeros_like(log_sigma), np.full_like(log_sigma, -dkl)


class Prior(NamedTuple):
    """The prior of one task.

    ``mu`` and ``log_sigma``: the Gaussian block, element by element.  ``sticks``: the prior of each
    layer's sticks, as its ``kl_sticks`` asks.  ``informative``: the indices of those elements of
    the Gaussian block that have a Gaussian prior; None for all of them.  ``others``: the prior of
    the others, which have none if it is None: :class:`Flat`, or any object with ``kl(mu, log_sigma)
    -> (nats, cache)`` and ``kl_vjp(dkl, cache) -> (dmu, dlog_sigma)``.
    """

    mu: np.ndarray
    log_sigma: np.ndarray
    sticks: dict
    informative: np.ndarray | None = None
    others: object = None

    @classmethod
    def at(cls, layout, vector, sticks=None, informative=None, others=None):
        """Return the prior whose Gaussian block is that of a vector."""
        return cls(
            vector[layout.block("mu")],
            vector[layout.block("log_sigma")],
            sticks or {},
            informative,
            others,
        )


def elbo(network, vector, prior, x, targets, noise, examples, backend, masks=None, tau=None):
    r"""Estimate the ELBO of a task from one minibatch: its parts, nats for the whole task, and what
    its gradient needs.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        What the parameters mean.
    vector : ndarray, shape (P,)
        The variational parameters, in the order of the network's ``layout``.
    prior : Prior or None
        The prior of this task; None for a network of plain layers.
    x : ndarray, shape (N, D)
        Inputs of the minibatch.
    targets : ndarray, shape (N,) or (N, C)
        Its labels, or its targets; of an autoencoder the images.
    noise : dict of str to dict
        From ``network.noise``, with as many samples S as the estimate shall average.
    examples : int
        Number of examples of the whole task.
    backend : Backend
        The backend that computes: numba or numpy.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        The hard masks by layer, none where a layer is not named; all are sampled, relaxed, if this
        is None.
    tau : float, optional
        Temperature of the relaxed masks, > 0.
    """
    scale = examples / len(x)
    views = network.layout.layers(vector)
    (outputs, divergences), network_cache = network.forward(
        vector, x, noise, Pass(backend, masks, tau, scale)
    )
    log_p, likelihood_cache = network.likelihood.log_density(views, outputs, targets, backend)
    parts = {name: values.mean() for name, values in divergences.items()}
    kl_weights, weights_cache = _kl_weights(network.layout, vector, prior, backend)
    kl_sticks = 0.0
    kl_alpha = 0.0
    stick_caches = {}
    if masks is None:
        for name, layer_prior in prior.sticks.items() if prior is not None else ():
            (kl, kl_of_alpha), stick_caches[name] = network.layers[name].kl_sticks(
                views[name], layer_prior, backend
            )
            kl_sticks = kl_sticks + kl
            kl_alpha = kl_alpha + kl_of_alpha
    likelihood = scale / len(log_p) * log_p.sum()  # N / |b| and 1 / S
    cache = (
        network,
        network_cache,
        likelihood_cache,
        weights_cache,
        stick_caches,
        scale,
        log_p,
        divergences,
    )
    return Elbo(likelihood, kl_weights, kl_sticks=kl_sticks, kl_alpha=kl_alpha, **parts), cache


def elbo_vjp(dparts, cache):
    """Pull the gradients at the parts of the ELBO, an :class:`Elbo`, back to ``vector``.

    The cotangent :data:`GRADIENT` gives the gradient of the ELBO; other weights that of a weighted
    objective.
    """
    (
        network,
        network_cache,
        likelihood_cache,
        weights_cache,
        stick_caches,
        scale,
        log_p,
        divergences,
    ) = cache
    dparts = Elbo(*dparts)
    samples = len(log_p)
    doutputs, extra = network.likelihood.log_density_vjp(
        np.full_like(log_p, dparts.log_likelihood * (scale / samples)), likelihood_cache
    )
    ddivergences = {
        name: np.full(samples, getattr(dparts, name) / samples, log_p.dtype) for name in divergences
    }
    gradient = network.forward_vjp((doutputs, ddivergences), network_cache)
    views = network.layout.layers(gradient)
    for name, cache in stick_caches.items():
        extra[name] = network.layers[name].kl_sticks_vjp((dparts.kl_sticks, dparts.kl_alpha), cache)
    for layer, names in extra.items():
        for name, value in names.items():
            views[layer][name] += value
    _add_kl_weights_vjp(network.layout, gradient, dparts.kl_weights, weights_cache)
    return gradient


def _kl_weights(layout, vector, prior, backend):
    """Compute the divergence of the weights from their prior; return it, and what its gradient
    needs.
    """
    if prior is None or "mu" not in layout.blocks:
        return 0.0, None
    mu, log_sigma = (vector[layout.block(name)] for name in ("mu", "log_sigma"))
    known = slice(None) if prior.informative is None else prior.informative
    kl, cache = backend.gaussian.kl(
        mu[known], log_sigma[known], prior.mu[known], prior.log_sigma[known]
    )
    found = [(known, backend.gaussian, cache)]
    if prior.others is not None and prior.informative is not None:
        others = np.delete(np.arange(len(mu)), known)
        kl_others, cache = prior.others.kl(mu[others], log_sigma[others])
        kl = kl + kl_others
        found = [*found, (others, prior.others, cache)]
    return kl, found


def _add_kl_weights_vjp(layout, gradient, dkl_weights, found):
    """Add the gradient at the weights' divergence to that of the vector, in place."""
    for places, density, cache in found or ():
        for name, dvalue in zip(
            ("mu", "log_sigma"), density.kl_vjp(dkl_weights, cache), strict=False
        ):
            # a Gaussian prior's own gradients are left out
            gradient[layout.block(name)][places] += dvalue
