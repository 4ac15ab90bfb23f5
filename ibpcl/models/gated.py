r"""A plain layer whose units have gates, learned for each task: hard attention.

Serra, Suris, Miron and Karatzoglou (2018), "Overcoming Catastrophic Forgetting with Hard Attention
to the Task", Sec. 2: unit k of layer l outputs :math:`a^l_k \max(0, (W^l h^{l - 1} + b^l)_k)`, its
gate :math:`a^l = \sigma(s\, e^l)` made from the task's embedding e at the scale s, which rises in
training until gates are open or shut.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.models.layers import Plain
from ibpcl.models.parameters import Entry
from ibpcl.numerics import sigmoid


def gates(e, scale):
    r"""Turn an embedding (K,) into gates (K,) in [0, 1], :math:`a = \sigma(s e)`; the scale s > 0
    has no gradient.

    >>> gates(np.array([-6.0, 0.0, 6.0]), 400.0)[0]
    array([0. , 0.5, 1. ])
    """
    x = scale * e
    return sigmoid(x), (x, scale)


def gates_vjp(da, cache):
    r"""Pull the gradient back: :math:`de = s\, \sigma(se)\, \sigma(-se)\, da`.

    In float32 ``1 - a`` is 0 from se = 17 on, and no compensation
    (:func:`ibpcl.methods.hat.compensation`) could make a slope of that: nothing would ever close an
    open gate.
    """
    x, scale = cache
    return scale * sigmoid(x) * sigmoid(-x) * da


def prices(used):
    r"""Compute which share of the units that no task uses yet each gate (K,) opens: its price p.

    .. math:: R = \frac{\sum_k a_k (1 - a^{<t}_k)}{\sum_k (1 - a^{<t}_k)} = \sum_k a_k p_k

    Serra et al. (2018), Eq. 5, over the gates a of all layers; ``used`` (K,) are the largest that
    an earlier task had, in [0, 1].  So R is in [0, 1], and all prices are 0 when no unit is left.

    >>> prices(np.array([1.0, 0.5, 0.5])).tolist()
    [0.0, 0.5, 0.5]
    """
    free = 1 - used
    return free / free.sum() if free.any() else np.zeros_like(free)


@dataclass(frozen=True)
class Gated(Plain):
    """A plain layer with gates; their scale s is one over the temperature of a pass, ``largest``
    without one.
    """

    largest: float = 400.0  # the paper's s_max

    def entries(self):
        """Return weights and biases, then the embedding (K,)."""
        return [*super().entries(), Entry(f"{self.name}.embedding", (self.units,), "gates")]

    def forward(self, views, x, noise, options):
        """Evaluate the layer and multiply its outputs by the gates."""
        (raw, divergences), cache = super().forward(views, x, noise, options)
        a, gates_cache = gates(
            views[self.name]["embedding"], self.largest if options.tau is None else 1 / options.tau
        )
        return (raw * a, divergences), (cache, raw, a, gates_cache)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back."""
        (dh, ddivergences), (inner, raw, a, gates_cache) = dout, cache
        dx, found = super().forward_vjp((dh * a, ddivergences), inner, needs_dx)
        # a gate was broadcast over samples and examples
        da = (dh * raw).sum(axis=tuple(range(dh.ndim - 1)))
        found[self.name]["embedding"] = gates_vjp(da, gates_cache)
        return dx, found


def freedom(network, used):
    r"""Return how freely each parameter (P,) may move without changing earlier tasks, in [0, 1].

    .. math:: 1 - \min(a^{<t}_{out}, a^{<t}_{in})

    Serra et al. (2018), Eq. 2; ``used`` (K,) as for :func:`prices`, for the units of all hidden
    layers.  Inputs count as used, so a weight of the first layer is as free as its unit, and so is
    a bias.  The head and the embedding belong to one task and are free.
    """
    free = np.ones(network.layout.size, used.dtype)
    incoming = np.ones(network.inputs, used.dtype)
    by_layer = np.split(used, np.cumsum(network.hidden)[:-1])
    # the head comes last
    for (weight, bias), outgoing in zip(network.weights(free), by_layer, strict=False):
        weight[...] = 1 - np.minimum(incoming[:, None], outgoing)
        bias[...] = 1 - outgoing
        incoming = outgoing
    return free
