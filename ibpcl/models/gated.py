r"""A plain layer whose units have gates that are learned for each task (hard attention).

Serra, Suris, Miron and Karatzoglou (2018), "Overcoming Catastrophic Forgetting with Hard Attention
to the Task", Sec. 2: unit k of layer l outputs :math:`a^l_k \max(0, (W^l h^{l - 1} + b^l)_k)`.  Its
gate :math:`a^l = \sigma(s\, e^l)` is computed from the task's embedding e.  The scale s rises
during training until every gate is open or closed.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.models.layers import Plain
from ibpcl.models.parameters import Entry
from ibpcl.numerics import sigmoid


def gates(e, scale):
    r"""Compute gates from an embedding, :math:`a = \sigma(s e)`.

    Parameters
    ----------
    e : ndarray, shape (K,)
        Embedding of the task, any real.
    scale : float
        Scale s > 0; it has no gradient.

    Returns
    -------
    a : ndarray, shape (K,)
        Gates in [0, 1].
    cache : tuple
        Input of :func:`gates_vjp`.

    Examples
    --------
    >>> gates(np.array([-6.0, 0.0, 6.0]), 400.0)[0]
    array([0. , 0.5, 1. ])
    """
    x = scale * e
    return sigmoid(x), (x, scale)


@np.errstate(under="ignore")  # a tiny slope may become 0, whatever the user's np.seterr
def gates_vjp(da, cache):
    r"""Pull the gradient at the gates back to the embedding.

    .. math:: de = s\, \sigma(se)\, \sigma(-se)\, da

    The product :math:`a (1 - a)` would be 0 in float32 from se = 17 on.  Then no compensation
    (:func:`ibpcl.methods.hat.compensation`) could restore the slope, and an open gate would never
    close.
    """
    x, scale = cache
    return scale * sigmoid(x) * sigmoid(-x) * da


def prices(used):
    r"""Return the share of the free units that each open gate uses, its price p.

    .. math:: R = \frac{\sum_k a_k (1 - a^{<t}_k)}{\sum_k (1 - a^{<t}_k)} = \sum_k a_k p_k

    Serra et al. (2018), Eq. 5, over the gates a of all layers.  The penalty R lies in [0, 1].

    Parameters
    ----------
    used : ndarray, shape (K,)
        Largest gate of each unit over the earlier tasks, :math:`a^{<t}`, in [0, 1].

    Returns
    -------
    prices : ndarray, shape (K,)
        Prices, which sum to 1; all 0 if no unit is free.

    Examples
    --------
    >>> prices(np.array([1.0, 0.5, 0.5])).tolist()
    [0.0, 0.5, 0.5]
    """
    free = 1 - used
    return free / free.sum() if free.any() else np.zeros_like(free)


@dataclass(frozen=True)
class Gated(Plain):
    """Plain layer whose outputs are multiplied by gates.

    The scale s of the gates is 1 / ``tau`` of a pass, or ``largest`` if the pass has no
    temperature.

    Parameters
    ----------
    name : str
        Name of the layer in the parameter vector, without a dot.
    inputs : int
        Number of inputs D.
    units : int
        Number of units K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Activation function of the outputs; none by default.
    positions : int
        Number of rows of inputs that each example has, as in :class:`ibpcl.models.layers.Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`ibpcl.models.layers.Layer`.
    largest : float
        Largest scale of the gates, > 0: the paper's s_max.
    """

    largest: float = 400.0  # the paper's s_max

    def entries(self):
        """Return the entries of weights (D, K), biases (K,) and the embedding (K,)."""
        return [*super().entries(), Entry(f"{self.name}.embedding", (self.units,), "gates")]

    def forward(self, views, x, noise, options):
        """Evaluate the layer and multiply its outputs by the gates; nothing is drawn.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Not used.
        options : ibpcl.models.layers.Pass
            Its backend is used, and its temperature, whose inverse is the scale of the gates.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K) or (N, K) like ``x``, and an empty dict of divergences.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        (raw, divergences), cache = super().forward(views, x, noise, options)
        a, gates_cache = gates(
            views[self.name]["embedding"], self.largest if options.tau is None else 1 / options.tau
        )
        # a filter has one gate at all positions: channels are the last axis of flat images
        return (raw * _repeated(a, raw), divergences), (cache, raw, a, gates_cache)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict that is not used.
        cache : tuple
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the inputs.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        (dh, ddivergences), (inner, raw, a, gates_cache) = dout, cache
        dx, gradients = super().forward_vjp((dh * _repeated(a, dh), ddivergences), inner, needs_dx)
        # a gate was broadcast over samples, examples and positions
        da = (dh * raw).reshape(-1, self.units).sum(axis=0)
        gradients[self.name]["embedding"] = gates_vjp(da, gates_cache)
        return dx, gradients


def _repeated(a, outputs):
    """Return the gate of each entry of the last axis of outputs."""
    return np.tile(a, outputs.shape[-1] // len(a))


def freedom(network, used):
    r"""Return how freely each parameter may move without changing earlier tasks.

    .. math:: 1 - \min(a^{<t}_{out}, a^{<t}_{in})

    Serra et al. (2018), Eq. 2.  Inputs count as used, so the freedom of a weight of the first layer
    is that of its unit, and so is the freedom of a bias.  The head and the embedding belong to one
    task and are free.  A filter is a unit with one gate at all positions.  A unit after a residual
    block is used if the block's unit or the unit before it is.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network with gated hidden layers.
    used : ndarray, shape (K,)
        Largest gate of each unit over the earlier tasks, in [0, 1], for the units of all hidden
        layers.

    Returns
    -------
    free : ndarray, shape (P,)
        Factors in [0, 1], by which learning rates are multiplied.
    """
    free = np.ones(network.layout.size, used.dtype)
    incoming = np.ones(1, used.dtype)
    by_layer = np.split(used, np.cumsum(network.hidden)[:-1])
    # not strict: the head comes last and has no gates
    for name, (weight, bias), outgoing in zip(
        network.layers, network.weights(free), by_layer, strict=False
    ):
        # channels are the last axis of patches and of flat images, so their gates repeat
        rows = np.tile(incoming, len(weight) // len(incoming))
        weight[...] = 1 - np.minimum(rows[:, None], outgoing)
        bias[...] = 1 - outgoing
        passed_on = name in network.bypassed
        incoming = np.maximum(incoming, outgoing) if passed_on else outgoing
    return free
