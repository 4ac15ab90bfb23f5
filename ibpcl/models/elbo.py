r"""The evidence lower bound (ELBO) of one task, by parts and with its gradient.

The same function serves classifiers, regressors and autoencoders:

.. math:: \mathcal L = \frac{N}{|b|}\,\frac1S \sum_s \sum_{n \in b}
          \bigl(\log p(y_n | x_n, V^s, B^s) - KL[q(z_n | x_n, V^s, B^s) \| p(z)]\bigr)
          - \frac1S \sum_s KL[q(B | v^s) \| p(B | v^s)] - KL[q(V) \| p(V)] - KL[q(v) \| p(v)]

Kumar et al. (2021), Eqs. 8 and 10, where the factor N / \|b\| that a minibatch needs is missing.

The divergence of the codes z is present only in autoencoders.  The divergences of the masks B and
the sticks v are present only while masks are sampled.  With given masks ("Selective Finetuning",
Sec. 4.5) both are constant and count as 0.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import Pass


class Elbo(NamedTuple):
    r"""The parts of the ELBO, in nats for the whole task; a part that a network lacks is 0.

    The ELBO is the first part minus the others.

    Attributes
    ----------
    log_likelihood : float
        Expected log likelihood of the targets, scaled by N / batch.
    kl_weights : float
        KL divergence of the Gaussian weights from their prior.
    kl_masks : float
        KL divergence of the masks from their prior.
    kl_sticks : float
        KL divergence of the sticks from their prior.
    kl_alpha : float
        KL divergence of a learned concentration alpha from its prior.
    kl_latent : float
        KL divergence of the codes from their prior, scaled by N / batch.
    """

    log_likelihood: float
    kl_weights: float = 0.0
    kl_masks: float = 0.0
    kl_sticks: float = 0.0
    kl_alpha: float = 0.0
    kl_latent: float = 0.0

    @property
    def total(self):
        """The ELBO with weight one for every divergence, in nats."""
        return self.log_likelihood - sum(self[1:])


# The gradient at each part for which elbo_vjp returns the gradient of the ELBO.
GRADIENT = Elbo(1.0, -1.0, -1.0, -1.0, -1.0, -1.0)


class ElboCache(NamedTuple):
    """Cache of :func:`elbo`.

    Attributes
    ----------
    network : ibpcl.models.network.Network
        The network.
    forward : tuple
        Cache of the network's forward pass.
    likelihood : tuple
        Cache of the likelihood.
    weights : list of tuple, or None
        Positions, distribution and cache of each part of the weights' divergence.
    sticks : dict of str to tuple
        Caches of the sticks' divergences, by layer.
    correlations : dict of str to tuple
        Caches of the additions to the weights' divergence by correlations, by layer.
    scale : float
        N / batch.
    log_p : ndarray, shape (S, N)
        Log density of the targets.
    divergences : dict of str to ndarray
        KL divergences from the forward pass, (S,) each.
    """

    network: object
    forward: tuple
    likelihood: tuple
    weights: list | None
    sticks: dict
    correlations: dict
    scale: float
    log_p: np.ndarray
    divergences: dict


class Flat:
    r"""The flat (improper) prior of Gaussian weights.

    Up to a constant, the KL divergence from it is :math:`-\sum\log\sigma`.
    """

    @staticmethod
    def kl(mu, log_sigma):
        """Compute the KL divergence up to a constant.

        Parameters
        ----------
        mu : ndarray, shape (M,)
            Means of the weights; not used.
        log_sigma : ndarray, shape (M,)
            Log standard deviations of the weights.

        Returns
        -------
        divergence : float
            Nats, summed over weights.
        cache : ndarray
            Input of :meth:`kl_vjp`.
        """
        return -log_sigma.sum(), log_sigma

    @staticmethod
    def kl_vjp(dkl, log_sigma):
        """Pull the gradient at the divergence, a float, back to ``mu`` and ``log_sigma``."""
        return np.zeros_like(log_sigma), np.full_like(log_sigma, -dkl)


class Prior(NamedTuple):
    """The prior of one task.

    Attributes
    ----------
    mu : ndarray, shape (M,)
        Prior means, in the order of the vector's block ``mu``.
    log_sigma : ndarray, shape (M,)
        Prior log standard deviations, in the order of the vector's block ``log_sigma``.
    sticks : dict of str to object
        Prior of each layer's sticks, by layer, in the form that the layer's ``kl_sticks`` takes.
        For a masked layer it is the concentration alpha, or the shape and rate of the Gamma prior
        of a learned alpha.  For a layer of masked units it is (a, b).
    informative : ndarray of int or None
        Indices of the elements of the blocks that have a Gaussian prior; None for all of them.
    others : object or None
        Prior of the remaining elements: :class:`Flat`, or any object with ``kl(mu, log_sigma) ->
        (nats, cache)`` and ``kl_vjp(dkl, cache) -> (dmu, dlog_sigma)``.  None if they have no
        prior, so that their divergence counts as 0.
    correlations : dict of str to dict of str to ndarray
        Prior of each layer with correlated weights (:mod:`ibpcl.models.correlated`): its parameters
        by name, by layer.  None if there are none.
    """

    mu: np.ndarray
    log_sigma: np.ndarray
    sticks: dict
    informative: np.ndarray | None = None
    others: object = None
    correlations: dict | None = None

    @classmethod
    def at(cls, layout, vector, sticks=None, informative=None, others=None):
        """Return the prior whose means and standard deviations are those of a parameter vector.

        Parameters
        ----------
        layout : ibpcl.models.parameters.Layout
            Order of the parameters; it has the blocks ``mu`` and ``log_sigma``.
        vector : ndarray, shape (P,)
            The parameters.
        sticks : dict of str to object, optional
            Prior of each layer's sticks; empty by default.
        informative : ndarray of int, optional
            Indices of the elements of the blocks that have a Gaussian prior; all of them by
            default.
        others : object, optional
            Prior of the remaining elements; none by default.

        Returns
        -------
        prior : Prior
            The prior; its arrays are views into ``vector``.
        """
        layers = layout.layers(vector)
        correlated = [
            entry.name.partition(".")[0] for entry in layout.entries if entry.block == "factor"
        ]
        return cls(
            vector[layout.block("mu")],
            vector[layout.block("log_sigma")],
            sticks or {},
            informative,
            others,
            {name: layers[name] for name in correlated},
        )


def elbo(
    network, vector, prior, x, targets, noise, examples, backend, masks=None, tau=None, draw=None
):
    r"""Estimate the ELBO of a task from one minibatch, by parts.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network, which defines the order and use of the parameters.
    vector : ndarray, shape (P,)
        The variational parameters, in the order of ``network.layout``.
    prior : Prior or None
        The prior of this task; None for a network of plain layers.
    x : ndarray, shape (N, D)
        Inputs of the minibatch.
    targets : ndarray, shape (N,) or (N, C)
        Labels or real targets of the minibatch; for an autoencoder, the images again.
    noise : dict of str to dict
        Result of ``network.noise``.  Its number of samples S is that of the estimate.
    examples : int
        Number of examples of the whole task.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Hard masks by layer; a layer that is missing has none.  By default, all masks are sampled
        and relaxed.
    tau : float, optional
        Temperature of the relaxed masks, > 0; needed if masks are sampled.  Gated layers have the
        scale 1 / ``tau``.
    draw : ibpcl.models.binary.Binary or ibpcl.models.binary.Conditional, optional
        What draws sampled masks; by default they are relaxed.

    Returns
    -------
    parts : Elbo
        The parts, in nats for the whole task.
    cache : ElboCache
        Input of :func:`elbo_vjp`.

    Examples
    --------
    >>> from ibpcl.inference.backend import backend
    >>> from ibpcl.models import likelihoods, masked, network, starts
    >>> from ibpcl.noise import Key
    >>> net = network.classifier(4, (3,), likelihoods.Softmax(), 2, masked.Masked)
    >>> vector = net.initial(starts.he(np.random.default_rng(0)), sigma=0.1, alpha=(2.0,))
    >>> prior = Prior.at(net.layout, vector, sticks={"hidden0": 2.0})
    >>> noise = net.noise(Key(0, 0, 0, 0), 5, 2, backend("numpy"))
    >>> parts, cache = elbo(net, vector, prior, np.ones((2, 4)), np.array([0, 1]), noise, 100,
    ...     backend("numpy"), tau=1.0)
    >>> bool(parts.log_likelihood < 0), float(parts.kl_weights)
    (True, 0.0)
    >>> elbo_vjp(GRADIENT, cache).shape == vector.shape
    True
    """
    scale = examples / len(x)
    views = network.layout.layers(vector)
    (outputs, divergences), network_cache = network.forward(
        vector, x, noise, Pass(backend, masks, tau, scale, draw, targets)
    )
    log_p, likelihood_cache = network.likelihood.log_density(views, outputs, targets, backend)
    parts = {name: values.mean() for name, values in divergences.items()}
    kl_weights, weights_cache = _kl_weights(network.layout, vector, prior, backend)
    correlation_caches = {}
    correlated = prior.correlations if prior is not None else None
    for name, layer_prior in (correlated or {}).items():
        added, correlation_caches[name] = network.layers[name].kl_correlations(
            views[name], layer_prior, backend
        )
        kl_weights = kl_weights + added
    kl_sticks = 0.0
    kl_alpha = 0.0
    stick_caches = {}
    if masks is None:
        for name, layer_prior in prior.sticks.items() if prior is not None else ():
            (kl, kl_of_alpha), stick_caches[name] = network.with_sticks(name).kl_sticks(
                views[name], layer_prior, backend
            )
            kl_sticks = kl_sticks + kl
            kl_alpha = kl_alpha + kl_of_alpha
    likelihood = scale / len(log_p) * log_p.sum()  # N / |b| and 1 / S
    cache = ElboCache(
        network,
        network_cache,
        likelihood_cache,
        weights_cache,
        stick_caches,
        correlation_caches,
        scale,
        log_p,
        divergences,
    )
    return Elbo(likelihood, kl_weights, kl_sticks=kl_sticks, kl_alpha=kl_alpha, **parts), cache


def sample_losses(dparts, cache):
    r"""Return what each sample contributes to a loss through its masks.

    .. math:: \ell_s = \frac1S \Bigl(w_1 \frac{N}{|b|} \sum_{n \in b} \log p(y_n | x_n, V^s, B^s)
              + w_2\, KL_s[z]\Bigr)

    with the weights w of ``dparts``.  The other divergences are functions of the parameters alone.

    Parameters
    ----------
    dparts : Elbo
        Weight of each part in the loss.
    cache : ElboCache
        From :func:`elbo`.

    Returns
    -------
    losses : ndarray, shape (S,)
        Their sum, and the other parts with their weights, is the loss.
    """
    losses = dparts.log_likelihood * cache.scale * cache.log_p.sum(axis=1)
    if "kl_latent" in cache.divergences:
        losses = losses + dparts.kl_latent * cache.divergences["kl_latent"]
    return losses / len(losses)


def elbo_vjp(dparts, cache, dloss=None):
    """Pull the gradients at the parts of the ELBO back to ``vector``.

    Parameters
    ----------
    dparts : Elbo
        Gradient at each part.  :data:`GRADIENT` gives the gradient of the ELBO itself, other values
        that of a weighted objective.
    cache : ElboCache
        From :func:`elbo`.
    dloss : ndarray, shape (S,), optional
        With masks from ``draw``: the number of each sample that an estimator weighs, see
        :class:`ibpcl.models.binary.Binary`.

    Returns
    -------
    gradient : ndarray, shape (P,)
        Gradient at ``vector``.
    """
    network = cache.network
    dparts = Elbo(*dparts)
    samples = len(cache.log_p)
    dlog_p = np.full_like(cache.log_p, dparts.log_likelihood * (cache.scale / samples))
    doutputs, extra = network.likelihood.log_density_vjp(dlog_p, cache.likelihood)
    ddivergences = {
        name: np.full(samples, getattr(dparts, name) / samples, cache.log_p.dtype)
        for name in cache.divergences
    }
    if dloss is not None:
        ddivergences["loss"] = dloss
    gradient = network.forward_vjp((doutputs, ddivergences), cache.forward)
    views = network.layout.layers(gradient)
    for name, stick_cache in cache.sticks.items():
        extra[name] = network.with_sticks(name).kl_sticks_vjp(
            (dparts.kl_sticks, dparts.kl_alpha), stick_cache
        )
    correlations = {
        name: network.layers[name].kl_correlations_vjp(dparts.kl_weights, correlation_cache)
        for name, correlation_cache in cache.correlations.items()
    }
    for layer, names in (*extra.items(), *correlations.items()):
        for name, value in names.items():
            views[layer][name] += value
    _add_kl_weights_vjp(network.layout, gradient, dparts.kl_weights, cache.weights)
    return gradient


def _kl_weights(layout, vector, prior, backend):
    """Return the KL divergence of the weights from their prior, and its caches."""
    if prior is None or "mu" not in layout.blocks:
        return 0.0, None
    mu, log_sigma = (vector[layout.block(name)] for name in ("mu", "log_sigma"))
    informative = slice(None) if prior.informative is None else prior.informative
    kl, cache = backend.gaussian.kl(
        mu[informative], log_sigma[informative], prior.mu[informative], prior.log_sigma[informative]
    )
    caches = [(informative, backend.gaussian, cache)]
    if prior.others is not None and prior.informative is not None:
        others = np.delete(np.arange(len(mu)), informative)
        kl_others, cache = prior.others.kl(mu[others], log_sigma[others])
        kl = kl + kl_others
        caches = [*caches, (others, prior.others, cache)]
    return kl, caches


def _add_kl_weights_vjp(layout, gradient, dkl_weights, caches):
    """Add the gradient of the weights' divergence to the gradient of the vector, in place."""
    for places, density, cache in caches or ():
        totals = [gradient[layout.block(name)] for name in ("mu", "log_sigma")]
        if isinstance(places, slice):
            density.add_kl_gradient(dkl_weights, cache, *totals)
            continue
        # not strict: a Gaussian prior also returns gradients at its own parameters
        for total, dvalue in zip(totals, density.kl_vjp(dkl_weights, cache), strict=False):
            total[places] += dvalue
