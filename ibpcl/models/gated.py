r"""A plain network whose hidden units have gates, learned for each task: hard attention.

Serra, Suris, Miron and Karatzoglou (2018), "Overcoming Catastrophic Forgetting with Hard Attention to the Task", Sec.
2: unit k of layer l outputs :math:`a^l_k \max(0, (W^l h^{l - 1} + b^l)_k)`, its gate :math:`a^l = \sigma(s\, e^l)` made
from the task's embedding e at the scale s, which rises in training until gates are open or shut.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.models.plain import Network
from ibpcl.numerics import sigmoid
from ibpcl.primitives import activations, likelihoods


def gates(e, scale):
    r"""Turn an embedding into gates, :math:`a = \sigma(s e)`.

    Parameters
    ----------
    e : ndarray, shape (K,)
        Any real.
    scale : float
        The scale s, > 0, not differentiated.

    Returns
    -------
    a : ndarray, shape (K,)
        In [0, 1].
    cache : tuple
        What :func:`gates_vjp` needs.

    Examples
    --------
    >>> gates(np.array([-6.0, 0.0, 6.0]), 400.0)[0]
    array([0. , 0.5, 1. ])
    """
    x = scale * e
    return sigmoid(x), (x, scale)


def gates_vjp(da, cache):
    r"""Pull the gradient back: :math:`de = s\, \sigma(se)\, \sigma(-se)\, da`.

    In float32 ``1 - a`` is 0 from se = 17 on, and no compensation (:func:`ibpcl.methods.hat.compensation`) could make a
    slope of that: nothing would ever close an open gate.
    """
    x, scale = cache
    return scale * sigmoid(x) * sigmoid(-x) * da


def capacity(a, used):
    r"""Measure which share of the units that no task uses yet a task's gates open.

    .. math:: R = \frac{\sum_k a_k (1 - a^{<t}_k)}{\sum_k (1 - a^{<t}_k)}

    Serra et al. (2018), Eq. 5, over the units of all layers; 0 when no unit is left.

    Parameters
    ----------
    a : ndarray, shape (K,)
        The task's gates.
    used : ndarray, shape (K,)
        The largest gate that an earlier task had, in [0, 1]; not differentiated.

    Returns
    -------
    share : float
        In [0, 1].
    cache : tuple
        What :func:`capacity_vjp` needs.

    Examples
    --------
    >>> float(capacity(np.array([1.0, 0.5, 0.0]), np.array([1.0, 0.0, 0.0]))[0])
    0.25
    """
    free = 1 - used
    weights = free / free.sum() if free.any() else np.zeros_like(free)
    return (a * weights).sum(), weights


def capacity_vjp(dshare, cache):
    """Pull the gradient back: each gate counts by its unit's freedom."""
    return dshare * cache


@dataclass(frozen=True)
class Gated:
    """A plain network with gates; the vector is the network's, then the embedding of all hidden units.

    Parameters
    ----------
    network : Network
        The network without its gates.
    """

    network: Network

    @property
    def size(self):
        """Number of parameters, the embedding among them."""
        return self.network.layout.size + sum(self.network.hidden)

    def split(self, vector):
        """Return the network's parameters and the embedding, as views."""
        count = self.network.layout.size
        return vector[:count], vector[count:]

    def by_layer(self, units):
        """Return an array over all hidden units (K,) as one array a layer."""
        return np.split(units, np.cumsum(self.network.hidden)[:-1])

    def logits(self, vector, a, x, backend):
        """Evaluate the network for inputs (N, D) with gates (K,): logits (1, N, C), and the caches of its layers."""
        weights, _ = self.split(vector)
        h, caches, by_layer = x, [], self.by_layer(a)
        for i, (weight, bias) in enumerate(self.network.layers(weights)):
            h, cache = backend.linear(h, weight[None], bias[None])
            on = raw = None
            if i < len(by_layer):
                raw, on = activations.relu(h)
                h = raw * by_layer[i]
            caches.append((cache, on, raw))
        return h, (caches, by_layer)

    def objective(self, vector, used, scale, x, labels, backend):
        r"""Add up the log probabilities of the labels, and measure the new capacity that the gates take.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters and embedding.
        used : ndarray, shape (K,)
            The largest gate that an earlier task had.
        scale : float
            The scale s of the gates.
        x : ndarray, shape (N, D)
            Inputs.
        labels : ndarray of int, shape (N,)
            Classes.
        backend : Backend
            Who computes.

        Returns
        -------
        out : tuple of float
            The log likelihood in nats, summed over the examples, and the share of :func:`capacity`.
        cache : tuple
            What :meth:`objective_vjp` needs.
        """
        a, gate_cache = gates(self.split(vector)[1], scale)
        logits, layers_cache = self.logits(vector, a, x, backend)
        log_p, likelihood_cache = likelihoods.categorical(logits, labels)
        share, capacity_cache = capacity(a, used)
        cache = (vector, gate_cache, layers_cache, likelihood_cache, capacity_cache, log_p, backend)
        return (log_p.sum(), share), cache

    def objective_vjp(self, dout, cache):
        """Pull the gradients at the log likelihood and at the share back to ``vector``, from the last layer down."""
        vector, gate_cache, (caches, by_layer), likelihood_cache, capacity_cache, log_p, backend = cache
        gradient = np.zeros_like(vector)
        dweights, dembedding = self.split(gradient)
        views, dgates = self.network.layers(dweights), []
        dh = likelihoods.categorical_vjp(np.full_like(log_p, dout[0]), likelihood_cache)
        for i in reversed(range(len(caches))):
            linear_cache, on, raw = caches[i]
            if on is not None:
                dgates.insert(0, (dh * raw).sum(axis=(0, 1)))    # a gate was broadcast over samples and examples
                dh = activations.relu_vjp(dh * by_layer[i], on)
            dh, dweight, dbias = backend.linear_vjp(dh, linear_cache, needs_dx=i > 0)
            views[i][0][...], views[i][1][...] = dweight[0], dbias[0]
        dembedding[...] = gates_vjp(np.concatenate(dgates) + capacity_vjp(dout[1], capacity_cache), gate_cache)
        return gradient

    def freedom(self, used):
        r"""Return how freely each parameter may move without changing earlier tasks, in [0, 1].

        .. math:: 1 - \min(a^{<t}_{out}, a^{<t}_{in})

        Serra et al. (2018), Eq. 2; inputs count as used, so a weight of the first layer is as free as its unit, and so
        is a bias.  The head and the embedding belong to one task and are free.
        """
        free = np.ones(self.size, used.dtype)
        incoming = np.ones(self.network.inputs, used.dtype)
        for (weight, bias), outgoing in zip(self.network.layers(self.split(free)[0]), self.by_layer(used),
                                            strict=False):
            weight[...] = 1 - np.minimum(incoming[:, None], outgoing)
            bias[...] = 1 - outgoing
            incoming = outgoing
        return free
