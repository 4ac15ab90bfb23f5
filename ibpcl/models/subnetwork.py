r"""The part of a network that a task can use: work that need not be done is not done.

**Inputs** that are zero for all examples of a task send nothing to any unit, whatever their
weights.  The ELBO knows of these weights only their divergences, so its maximum over them is known:
the posterior of a weight is its prior, and :math:`\rho = 0`, for then the mask's posterior is its
prior too, :math:`\theta_{dk} = \pi_k`, whatever the sticks are. Both divergences of a mask
(Bernoulli and concrete) are then exactly zero, and so is their gradient at the sticks.  Such rows
need no samples, no noise, no product and no step.  (Under the plain mean field, :math:`\theta =
\sigma(\rho)` cannot follow the sticks, and nothing is left out.)  Where each row has sticks of its
own, those of such a row are at their prior too, where they start; a learned alpha would move that,
and nothing is left out.  While masks are sampled, a unit's activity, which scales its bias, is the
largest mask of the inputs that are left: a connection to an input that is always zero does not make
it active.

**Units** whose hard mask is empty output zero (under an activation with f(0) = 0) for sure, and
what follows sees nothing of them.  The weights of an empty unit, and those that lead on from it,
are at their prior again.

**Weights** that a hard mask switches off are at their prior too, and nothing that is fitted with
given masks needs the parameters of masks and sticks.  An input that none of the kept weights reads
is left out with them.

So a part of the network is trained, smaller but of the same kind, and its parameters are written
back at the end.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.models.codes import Codes
from ibpcl.models.masked import Masked
from ibpcl.models.network import INPUTS

ZERO_AT_ZERO = ("relu", "leaky_relu", "tanh")


class Subnetwork(NamedTuple):
    """A part of a network, smaller but of the same kind.

    Attributes
    ----------
    network : ibpcl.models.network.Network
        The smaller network.
    index : ndarray of int, shape (P,)
        Element i of its vector is element ``index[i]`` of the larger one's.
    sides : dict of str to tuple
        Which rows (D,) and columns (K,) of each layer of the larger network it has, boolean arrays
        by name.
    masks : dict of str to ndarray of bool, or None
        What is left between them of the hard masks by layer; None if there are none, and masks are
        sampled.
    """

    network: object
    index: np.ndarray
    sides: dict
    masks: dict | None

    def columns(self, x):
        """Return the kept columns of inputs (N, D)."""
        inputs, _ = next(iter(self.sides.values()))
        return x if inputs.all() else np.compress(inputs, x, axis=1)

    def write_back(self, vector, rest):
        """Return a copy of ``rest``, a vector of the larger network, with the part's parameters in
        their places.

        ``rest`` may be None if the part has all of them.
        """
        whole = np.empty_like(vector) if rest is None else rest.copy()
        whole[self.index] = vector
        return whole


def cut(network, outputs, masks=None):
    """Cut out the part of a network that has the given inputs and units; all codes and all outputs
    stay.

    ``outputs`` says by name which inputs (D,) and which units (K,) of hidden layers to keep,
    boolean arrays with at least one each; all of those that it does not name.  ``masks`` (D, K) by
    masked layer say which weights to keep of those between them; there are then no parameters of
    masks.

    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.network import classifier
    >>> small = cut(classifier(4, (3,), Softmax(), 2, Masked),
    ...     {"inputs": np.array([True, False, False, True])})
    >>> small.network.inputs, small.index[:6].tolist()
    (2, [0, 1, 2, 9, 10, 11])
    """
    chosen = sides(network, outputs)
    on = {name: mask[chosen[name][0]][:, chosen[name][1]] for name, mask in (masks or {}).items()}
    layers = {}
    for name, layer in network.layers.items():
        rows, columns = (int(side.sum()) for side in chosen[name])
        layers[name] = replace(layer, inputs=rows, units=columns)
        if name in on:
            layers[name] = replace(layers[name], weight_count=int(on[name].sum()))
    smaller = replace(
        network,
        stages=tuple(
            replace(stage, mean=layers["mean"], scale=layers["scale"])
            if isinstance(stage, Codes)
            else layers[stage.name]
            for stage in network.stages
        ),
    )
    views = network.layout.views(np.arange(network.layout.size))
    index = []
    for entry in smaller.layout.entries:
        layer = entry.name.split(".", 1)[0]
        places = views[entry.name]
        if layer in chosen and places.ndim > 0:
            rows, columns = chosen[layer]
            places = (places[rows] if places.ndim == 2 else places)[..., columns]
        index.append(places[on[layer]] if layer in on and places.ndim == 2 else places.ravel())
    return Subnetwork(smaller, np.concatenate(index), chosen, None if masks is None else on)


def sides(network, outputs):
    """Return which rows (D,) and columns (K,) of each layer :func:`cut` keeps, boolean arrays by
    name.
    """
    every = {name: np.ones(layer.units, bool) for name, layer in network.layers.items()}
    outputs = {INPUTS: np.ones(network.inputs, bool)} | every | outputs
    if network.codes:
        outputs["codes"] = every["mean"]
    return {name: (outputs[source], outputs[name]) for name, source in network.sources.items()}


def cut_prior(subnet, network, prior):
    """Return the prior of a part of a network; None if it has none."""
    if prior is None:
        return None
    places = subnet.index[subnet.network.layout.block("mu")] - network.layout.block("mu").start
    informative = (
        None if prior.informative is None else np.flatnonzero(np.isin(places, prior.informative))
    )
    return prior._replace(
        mu=prior.mu[places], log_sigma=prior.log_sigma[places], informative=informative
    )


def at_rest(network, vector, prior):
    """Return a copy of ``vector`` with every weight at its prior, where it has one."""
    resting = vector.copy()
    informative = slice(None) if prior.informative is None else prior.informative
    for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
        resting[network.layout.block(block)][informative] = values[informative]
    return resting


def live(values):
    """Return which columns of an array have a number that is not zero; the first one if there is
    none.
    """
    columns = values.any(axis=0)
    columns[0] |= not columns.any()
    return columns


def live_units(network, masks):
    """Return which units (K,) have any weight under hard masks, by layer where the others output
    zero.
    """
    return {
        name: live(mask)
        for name, mask in masks.items()
        if network.layers[name].activation in ZERO_AT_ZERO
    }


def usable(network, x, masks=None):
    """Return the part of a network that a task with inputs (N, D) can use, under hard masks (D, K)
    by layer if given.

    A unit that is connected, but to dropped inputs only, outputs its bias: it keeps one of them.
    """
    inputs = live(x)
    first = network.stages[0]
    if masks is None:
        rests = (
            isinstance(first, Masked)
            and first.model.structured
            and not (first.model.row_sticks and first.model.learns_alpha)
        )
        return cut(network, {INPUTS: inputs} if rests else {})
    if first.name in masks and (inputs & masks[first.name].any(axis=1)).any():
        # what no weight reads is no better than a dead input
        inputs &= masks[first.name].any(axis=1)
    outputs = {INPUTS: inputs} | live_units(network, masks)
    for name, mask in masks.items():
        source = outputs.get(network.sources[name])
        if source is not None:
            stranded = mask.any(axis=0) & ~mask[source].any(axis=0)
            source[mask[:, stranded].argmax(axis=0)] = True
    return cut(network, outputs, masks)


def useful(network, masks, x):
    """Switch off every weight of hard masks that changes nothing: no signal reaches it, or nothing
    reads its unit.

    First columns are on for all rows, also those of inputs that are always zero and of units that
    output zero; such weights are not used by the task, and shall be free for the next one.  From
    hard masks (D, K) by layer, in the network's order, and the task's inputs (N, D) it makes
    subsets of the masks.  On these inputs they make the same model, but for units that dead inputs
    alone lead to: those said their bias, a constant that the next layer's biases can say.
    """
    found = {}
    reached = {INPUTS: live(x)}
    for name, mask in masks.items():  # from the inputs on
        layer = network.layers[name]
        source = network.sources[name]
        found[name] = mask & reached.get(source, np.ones(layer.inputs, bool))[:, None]
        # else a unit without weights still says something
        if layer.activation in ZERO_AT_ZERO:
            reached[name] = found[name].any(axis=0)
    for name in reversed(found):
        readers = [reader for reader, source in network.sources.items() if source == name]
        # an output layer without masks reads all
        if readers and all(reader in found for reader in readers):
            found[name] &= np.logical_or.reduce([found[reader].any(axis=1) for reader in readers])
    return found
