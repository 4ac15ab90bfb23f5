r"""The part of a network that a task can use: work that need not be done is not done.

**Inputs** that are zero for all examples of a task send nothing to any unit, whatever their weights.  The ELBO knows of
these weights only their divergences, so its maximum over them is known: the posterior of a weight is its prior, and
:math:`\rho = 0`, for then the mask's posterior is its prior too, :math:`\theta_{dk} = \pi_k`, whatever the sticks are.
Both divergences of a mask (Bernoulli and concrete) are then exactly zero, and so is their gradient at the sticks.  Such
rows need no samples, no noise, no product and no step.  (Under the plain mean field, :math:`\theta = \sigma(\rho)`
cannot follow the sticks, and nothing is left out.)  Where each row has sticks of its own, those of such a row are at
their prior too, where they start; a learned alpha would move that, and nothing is left out.  While masks are sampled,
a unit's activity, which scales its bias, is the largest mask of the inputs that are left: a connection to an input that
is always zero does not make it active.

**Units** whose hard mask is empty output zero (under an activation with f(0) = 0) for sure, and what follows sees
nothing of them.  The weights of an empty unit, and those that lead on from it, are at their prior again.

**Weights** that a hard mask switches off are at their prior too, and nothing that is fitted with given masks needs the
parameters of masks and sticks.  An input that none of the kept weights reads is left out with them.

So a part of the network is trained, smaller but of the same kind, and its parameters are written back at the end.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.models.codes import Codes
from ibpcl.models.masked import Masked
from ibpcl.models.network import INPUTS

ZERO_AT_ZERO = ("relu", "leaky_relu", "tanh")
MASKS_ALONE = ("rho", "sticks", "alpha")                     # blocks that matter only while masks are sampled


class Part(NamedTuple):
    """A part of a network, smaller but of the same kind.

    ``network``: the smaller one; element i of its vector is element ``index[i]`` of the larger one's.  ``inputs`` (D,)
    and ``units``, boolean arrays by hidden layer, are what was kept of the larger one.
    """

    network: object
    index: np.ndarray
    inputs: np.ndarray
    units: dict

    def columns(self, x):
        """Return the kept columns of inputs (N, D)."""
        return x if self.inputs.all() else np.compress(self.inputs, x, axis=1)


def part(network, inputs, units=None, masks=None):
    """Cut out the part of a network with the given inputs and hidden units; all codes and all outputs stay.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    inputs : ndarray of bool, shape (D,)
        Which inputs to keep, at least one.
    units : dict of str to ndarray of bool, shape (K,), optional
        Which units of hidden layers to keep, at least one of each; all of them if not given.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Which weights of each masked layer to keep, of those between what is kept; then no parameters of masks.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.network import classifier
    >>> small = part(classifier(4, (3,), Softmax(), 2, Masked), np.array([True, False, False, True]))
    >>> small.network.inputs, small.index[:6].tolist()
    (2, [0, 1, 2, 9, 10, 11])
    """
    units = units or {}
    kept = sides(network, inputs, units)
    on = cut(masks or {}, kept)

    def smaller(layer):
        rows, columns = (int(side.sum()) for side in kept[layer.name])
        return replace(layer, inputs=rows, units=columns,
                       **({"kept": int(on[layer.name].sum())} if layer.name in on else {}))

    stages = tuple(replace(stage, mean=smaller(stage.mean), scale=smaller(stage.scale)) if isinstance(stage, Codes)
                   else smaller(stage) for stage in network.stages)
    return Part(replace(network, stages=stages), elements(network.layout, kept, on), inputs, units)


def sides(network, inputs, units):
    """Return what is kept of the rows (D,) and of the columns (K,) of each layer, by name."""
    every = {name: np.ones(layer.units, bool) for name, layer in network.layers.items()}
    outputs = every | units | {INPUTS: inputs}
    if network.codes:
        outputs["codes"] = every["mean"]
    return {name: (outputs[source], outputs[name]) for name, source in network.sources.items()}


def cut(masks, kept):
    """Return what is left of masks, by layer, between the rows and columns that are kept."""
    return {layer: mask[kept[layer][0]][:, kept[layer][1]] for layer, mask in masks.items()}


def elements(layout, kept, masks):
    """Return which elements of a vector are kept, in order.

    Parameters
    ----------
    layout : Layout
        Of the vector.
    kept : dict of str to tuple
        Which rows (D,) and which columns (K,) of each layer to keep; of other entries everything is.
    masks : dict of str to ndarray of bool, shape (D', K')
        Which of the weights between them to keep, of masked layers; then no parameters of masks.
    """
    found = []
    for entry, places in zip(layout.entries, layout.views(np.arange(layout.size)).values(), strict=True):
        layer = entry.name.split(".", 1)[0]
        if layer in masks and entry.block in MASKS_ALONE:
            continue
        if layer in kept and places.ndim > 0:
            rows, columns = kept[layer]
            places = (places[rows] if places.ndim == 2 else places)[..., columns]
        found.append(places[masks[layer]] if layer in masks and places.ndim == 2 else places.ravel())
    return np.concatenate(found)


def whole(network):
    """Return the part that is the whole network."""
    return part(network, np.ones(network.inputs, bool))


def pack_prior(part, network, prior):
    """Return the prior of a part of a network."""
    if prior is None or "mu" not in network.layout.blocks:
        return prior
    block = network.layout.block("mu")
    kept = part.index[(part.index >= block.start) & (part.index < block.stop)] - block.start
    informative = None
    if prior.informative is not None:
        known = np.zeros(len(prior.mu), bool)
        known[prior.informative] = True
        informative = np.flatnonzero(known[kept])
    return prior._replace(mu=prior.mu[kept], log_sigma=prior.log_sigma[kept], informative=informative)


def pack_masks(part, masks):
    """Return the hard masks of a part of a network, by layer."""
    kept = {name: (part.inputs if source == INPUTS else part.units.get(source), part.units.get(name))
            for name, source in part.network.sources.items()}
    return {name: _between(mask, *kept[name]) for name, mask in masks.items()}


def _between(mask, rows, columns):
    mask = mask if rows is None else mask[rows]
    return mask if columns is None else np.compress(columns, mask, axis=1)


def at_rest(network, vector, prior):
    """Return a copy of ``vector`` with every weight at its prior, where it has one."""
    resting, informative = vector.copy(), slice(None) if prior.informative is None else prior.informative
    for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
        resting[network.layout.block(block)][informative] = values[informative]
    return resting


def unpack(part, vector, rest):
    """Write the parameters of a part back: into a copy of ``rest``, which says what all others are."""
    whole = rest.copy()
    whole[part.index] = vector
    return whole


def live_inputs(x):
    """Return which inputs (D,) are not zero in all of the examples (N, D); the first one if there is none."""
    live = x.any(axis=0)
    live[0] |= not live.any()
    return live


def masked_part(network, x):
    """Return the part of a network that has to be trained while its masks are sampled."""
    first = next(iter(network.layers.values()))
    rests = isinstance(first, Masked) and first.model.structured and not (
        first.model.row_sticks and first.model.learns_alpha)
    return part(network, live_inputs(x)) if rests else whole(network)


def fixed_part(network, masks, x):
    """Return the weights of a network that inputs (N, D) can reach under hard masks (D, K) by layer.

    A unit that is connected, but to dropped inputs only, outputs its bias: it keeps one of them.
    """
    units = {}
    for name, mask in masks.items():
        if network.layers[name].activation in ZERO_AT_ZERO:
            units[name] = mask.any(axis=0)
            units[name][0] |= not units[name].any()
    inputs, first = live_inputs(x), next(iter(network.layers))
    if first in masks and (inputs & masks[first].any(axis=1)).any():
        inputs &= masks[first].any(axis=1)                   # what no weight reads is no better than a dead input
    outputs = units | {INPUTS: inputs}
    for name, mask in masks.items():
        source = outputs.get(network.sources[name])
        if source is not None:
            stranded = mask.any(axis=0) & ~mask[source].any(axis=0)
            source[mask[:, stranded].argmax(axis=0)] = True
    return part(network, inputs, units, masks)


def off_weights(network, masks):
    """Return which elements of the Gaussian block (P,) hard masks switch off: weights, and biases of empty units."""
    off = np.zeros(network.layout.size, bool)
    views = network.layout.layers(off)
    for name, mask in masks.items():
        for kind in ("mu", "log_sigma"):
            views[name][f"weight.{kind}"][...], views[name][f"bias.{kind}"][...] = ~mask, ~mask.any(axis=0)
    return off[network.layout.block("mu")]


def off_weights_rest(network, vector, prior, masks):
    """Return whether every weight that hard masks switch off is at its prior, where it has one.

    Only then are they left out of training: elsewhere it shall be seen where they drift.
    """
    off = off_weights(network, masks)
    if prior.informative is not None:
        known = np.zeros(len(prior.mu), bool)
        known[prior.informative] = True
        off &= known
    return all(np.array_equal(vector[network.layout.block(block)][off], values[off])
               for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)))


def useful(network, masks, x):
    """Switch off every weight of hard masks that changes nothing: no signal reaches it, or nothing reads its unit.

    First columns are on for all rows, also those of inputs that are always zero and of units that output zero; such
    weights are not used by the task, and shall be free for the next one.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        What the layers are.
    masks : dict of str to ndarray of bool, shape (D, K)
        The hard masks.
    x : ndarray, shape (N, D)
        The task's inputs.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        Subsets.  On these inputs they make the same model, but for units that dead inputs alone lead to: those said
        their bias, a constant that the next layer's biases can say.
    """
    kept, reached = {}, {INPUTS: live_inputs(x)}
    for name in (name for name in network.layers if name in masks):
        layer, source = network.layers[name], network.sources[name]
        kept[name] = masks[name] & reached.get(source, np.ones(layer.inputs, bool))[:, None]
        if layer.activation in ZERO_AT_ZERO:                 # else a unit without weights still says something
            reached[name] = kept[name].any(axis=0)
    for name in reversed(kept):
        readers = [reader for reader, source in network.sources.items() if source == name]
        if readers and all(reader in kept for reader in readers):     # an output layer without masks reads all
            kept[name] &= np.logical_or.reduce([kept[reader].any(axis=1) for reader in readers])
    return {name: kept[name] for name in masks}

