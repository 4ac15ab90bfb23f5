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

    ``network``: the smaller one; element i of its vector is element ``index[i]`` of the larger one's.  ``kept``: which
    rows (D,) and columns (K,) of each layer of the larger one it has, boolean arrays by name.
    """

    network: object
    index: np.ndarray
    kept: dict

    def columns(self, x):
        """Return the kept columns of inputs (N, D)."""
        inputs, _ = next(iter(self.kept.values()))
        return x if inputs.all() else np.compress(inputs, x, axis=1)

    def write_back(self, vector, rest):
        """Return a copy of ``rest``, a vector of the larger network, with the part's parameters in their places."""
        whole = rest.copy()
        whole[self.index] = vector
        return whole


def part(network, inputs, units=None, masks=None):
    """Cut out the part of a network with the given inputs and hidden units; all codes and all outputs stay.

    Parameters
    ----------
    network : ibpcl.models.network.Network
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
    kept = sides(network, inputs, units or {})
    on = cut(masks or {}, kept)

    def smaller(layer):
        rows, columns = (int(side.sum()) for side in kept[layer.name])
        return replace(layer, inputs=rows, units=columns,
                       **({"kept": int(on[layer.name].sum())} if layer.name in on else {}))

    stages = tuple(replace(stage, mean=smaller(stage.mean), scale=smaller(stage.scale)) if isinstance(stage, Codes)
                   else smaller(stage) for stage in network.stages)
    index = []
    for entry, places in zip(network.layout.entries, network.layout.views(np.arange(network.layout.size)).values(),
                             strict=True):
        layer = entry.name.split(".", 1)[0]
        if layer in on and entry.block in MASKS_ALONE:
            continue
        if layer in kept and places.ndim > 0:
            rows, columns = kept[layer]
            places = (places[rows] if places.ndim == 2 else places)[..., columns]
        index.append(places[on[layer]] if layer in on and places.ndim == 2 else places.ravel())
    return Part(replace(network, stages=stages), np.concatenate(index), kept)


def sides(network, inputs, units):
    """Return which rows (D,) and columns (K,) of each layer are kept, by name: see :func:`part`."""
    every = {name: np.ones(layer.units, bool) for name, layer in network.layers.items()}
    outputs = every | units | {INPUTS: inputs}
    if network.codes:
        outputs["codes"] = every["mean"]
    return {name: (outputs[source], outputs[name]) for name, source in network.sources.items()}


def cut(masks, kept):
    """Return what is left of masks, by layer, between the rows and columns that are kept."""
    return {layer: mask[kept[layer][0]][:, kept[layer][1]] for layer, mask in masks.items()}


def cut_prior(part, network, prior):
    """Return the prior of a part of a network."""
    if prior is None or "mu" not in network.layout.blocks:
        return prior
    block = network.layout.block("mu")
    kept = part.index[(part.index >= block.start) & (part.index < block.stop)] - block.start
    informative = None if prior.informative is None else np.flatnonzero(np.isin(kept, prior.informative))
    return prior._replace(mu=prior.mu[kept], log_sigma=prior.log_sigma[kept], informative=informative)


def at_rest(network, vector, prior):
    """Return a copy of ``vector`` with every weight at its prior, where it has one."""
    resting, informative = vector.copy(), slice(None) if prior.informative is None else prior.informative
    for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
        resting[network.layout.block(block)][informative] = values[informative]
    return resting


def whole(network):
    """Return the part that is the whole network."""
    return part(network, np.ones(network.inputs, bool))


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


def useful(network, masks, x):
    """Switch off every weight of hard masks that changes nothing: no signal reaches it, or nothing reads its unit.

    First columns are on for all rows, also those of inputs that are always zero and of units that output zero; such
    weights are not used by the task, and shall be free for the next one.

    Parameters
    ----------
    network : ibpcl.models.network.Network
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
