r"""The part of a network that a task can use, so that no time is spent on the rest.

**Inputs** that are zero for all examples of a task send nothing to any unit, whatever their weights
are.  The ELBO depends on these weights only through their KL divergences, so its maximum over them
is known.  The posterior of such a weight equals its prior, and :math:`\rho = 0`.  Then the
posterior of the mask also equals its prior, :math:`\theta_{dk} = \pi_k`, for any sticks.  Both KL
divergences of a mask (Bernoulli and concrete) are then exactly zero, and so is their gradient at
the sticks.  Such rows need no samples, no noise, no matrix product and no gradient step.

There are two exceptions, in which no input is left out.  Under the plain mean field,
:math:`\theta = \sigma(\rho)` cannot follow the sticks.  And if each row has its own sticks and
alpha is learned, alpha would move the sticks of unused rows away from their prior, where they
start.

While masks are sampled, the activity of a unit, which scales its bias, is the largest mask over the
inputs that remain: a connection to an input that is always zero does not make the unit active.

**Units** with an empty hard mask output zero if f(0) = 0 for their activation, so the following
layers do not see them.  The weights of an empty unit, and the weights that lead on from it, return
to their priors.

**Weights** that a hard mask switches off also return to their priors, and a fit with given masks
needs no parameters of masks and sticks.  An input that no remaining weight reads is left out too.

So a smaller network of the same kind is trained, and its parameters are written back at the end.

In a network of images, only weights are left out.  The inputs and units of convolutions stay: a
pixel is read by every filter, and a filter writes a whole image.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.models.codes import Codes
from ibpcl.models.correlated import FullCovariance
from ibpcl.models.layers import Gaussian, Layer
from ibpcl.models.masked import Masked
from ibpcl.models.network import INPUTS

ZERO_AT_ZERO = ("relu", "leaky_relu", "tanh")


class Subnetwork(NamedTuple):
    """A part of a network, itself a network of the same kind.

    Attributes
    ----------
    network : ibpcl.models.network.Network
        The smaller network.
    index : ndarray of int, shape (P',)
        Element i of its parameter vector is element ``index[i]`` of the larger network's vector.
    sides : dict of str to tuple
        Which rows (D,) and columns (K,) of each layer of the larger network remain: two boolean
        arrays by layer.
    masks : dict of str to ndarray of bool, or None
        Hard masks of the remaining rows and columns by layer; None if masks are sampled.
    """

    network: object
    index: np.ndarray
    sides: dict
    masks: dict | None

    def columns(self, x):
        """Return the columns of the inputs that the subnetwork reads.

        Parameters
        ----------
        x : ndarray, shape (N, D)
            Inputs of the larger network.

        Returns
        -------
        x : ndarray, shape (N, D')
            Inputs of the subnetwork; not copied if all columns remain.
        """
        inputs, _ = next(iter(self.sides.values()))
        return x if inputs.all() else np.compress(inputs, x, axis=1)

    def write_back(self, vector, rest):
        """Return a parameter vector of the larger network with the parameters of the subnetwork.

        Parameters
        ----------
        vector : ndarray, shape (P',)
            Parameters of the subnetwork.
        rest : ndarray, shape (P,), or None
            The other parameters of the larger network; not modified.  None if the subnetwork has
            all of them.

        Returns
        -------
        whole : ndarray, shape (P,)
            A new vector.
        """
        whole = np.empty_like(vector) if rest is None else rest.copy()
        whole[self.index] = vector
        return whole


def cut(network, outputs, masks=None):
    """Return the part of a network with selected inputs, units and weights.

    All codes and all outputs remain.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    outputs : dict of str to ndarray of bool
        Which inputs (D,), under the name ``"inputs"``, and which units (K,) of hidden layers, by
        name, to keep; at least one each.  Whatever is not named is kept whole.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Which weights of the masked layers to keep.  The subnetwork then has no parameters of masks.

    Returns
    -------
    subnet : Subnetwork
        The part; its ``masks`` are None if no masks are given.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.network import classifier
    >>> small = cut(classifier(4, (3,), Softmax(), 2, Masked),
    ...     {"inputs": np.array([True, False, False, True])})
    >>> small.network.inputs, small.index[:6].tolist()
    (2, [0, 1, 2, 9, 10, 11])
    """
    chosen = sides(network, outputs)
    # np.ix_ keeps the rows contiguous, so that no step has to copy the mask.
    on = {
        name: mask[np.ix_(*chosen[name])] if name in chosen else mask
        for name, mask in (masks or {}).items()
    }
    layers = {}
    for name, layer in network.layers.items():
        rows, columns = (int(side.sum()) for side in chosen[name])
        layers[name] = replace(layer, inputs=rows, units=columns)
        if name in on:
            layers[name] = replace(layers[name], weight_count=int(on[name].sum()))
    smaller = replace(
        network,
        stages=tuple(stage.with_layers(layers) for stage in network.stages),
    )
    views = network.layout.views(np.arange(network.layout.size))
    index = []
    for entry in smaller.layout.entries:
        layer = entry.name.split(".", 1)[0]
        places = views[entry.name]
        is_cut = layer in chosen and not all(side.all() for side in chosen[layer])
        if is_cut and places.ndim > 0:
            rows, columns = chosen[layer]
            places = (places[rows] if places.ndim == 2 else places)[..., columns]
        keeps = layer in chosen and layer in on and places.ndim == 2
        index.append(places[on[layer]] if keeps else places.ravel())
    return Subnetwork(smaller, np.concatenate(index), chosen, None if masks is None else on)


def droppable(network):
    """Return the stages whose single outputs can be left out.

    The next stage must read them one by one: it is a layer, or consists of codes.  In a layer with
    a full covariance, the weights of one input depend on those of the others.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.

    Returns
    -------
    names : set of str
        Names of stages, and ``"inputs"`` if the first stage is a layer.
    """
    stages = network.stages
    names = {INPUTS} if isinstance(stages[0], Layer) else set()
    for stage, reader in pairwise(stages):
        reads = isinstance(reader, (Layer, Codes)) and not isinstance(reader, FullCovariance)
        if isinstance(stage, (Layer, Codes)) and reads:
            names.add(stage.name)
    return names


def sides(network, outputs):
    """Return the rows and columns of each layer that :func:`cut` keeps.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    outputs : dict of str to ndarray of bool
        Which inputs (D,), under the name ``"inputs"``, and which units (K,) of hidden layers, by
        name, to keep.  Whatever is not named, or not ``droppable``, is kept whole.

    Returns
    -------
    sides : dict of str to tuple
        Rows (D,) and columns (K,) to keep, two boolean arrays by layer.
    """
    names = droppable(network)
    outputs = {name: units for name, units in outputs.items() if name in names}
    return {
        name: (
            outputs.get(network.sources[name], np.ones(layer.inputs, bool)),
            outputs.get(name, np.ones(layer.units, bool)),
        )
        for name, layer in network.layers.items()
    }


def cut_prior(subnet, network, prior):
    """Return the prior of a part of a network.

    Parameters
    ----------
    subnet : Subnetwork
        The part.
    network : ibpcl.models.network.Network
        The whole network.
    prior : ibpcl.models.elbo.Prior or None
        Prior of the whole network.

    Returns
    -------
    prior : ibpcl.models.elbo.Prior or None
        Prior of the part; None if the whole has none.
    """
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
    """Return a copy of the parameters in which the Gaussian posteriors equal their priors.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    vector : ndarray, shape (P,)
        Its parameters; not modified.
    prior : ibpcl.models.elbo.Prior
        The prior.  Elements without a Gaussian prior keep their values.

    Returns
    -------
    resting : ndarray, shape (P,)
        A new vector.
    """
    resting = vector.copy()
    informative = slice(None) if prior.informative is None else prior.informative
    for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
        resting[network.layout.block(block)][informative] = values[informative]
    return resting


def live(values):
    """Return which columns of an array contain a nonzero number.

    Parameters
    ----------
    values : ndarray, shape (N, K)
        Numbers or booleans.

    Returns
    -------
    columns : ndarray of bool, shape (K,)
        Which columns contain a nonzero number; the first one if none does.
    """
    columns = values.any(axis=0)
    columns[0] |= not columns.any()
    return columns


def live_units(network, masks):
    """Return the units that have a weight, in layers where all other units output zero.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard masks by layer.

    Returns
    -------
    units : dict of str to ndarray of bool, shape (K,)
        Units with a weight, by layer; only layers whose activation f has f(0) = 0.  In a layer
        without any weight, the first unit counts.
    """
    return {
        name: live(mask)
        for name, mask in masks.items()
        if name in network.layers and network.layers[name].activation in ZERO_AT_ZERO
    }


def without_silent(network, masks):
    """Return hard masks without the weights that read a unit that outputs zero.

    Such a weight does not affect the outputs, and the likelihood has no gradient at it.  A layer
    without a mask gets one if it reads such units.  A unit that reads only them outputs its bias;
    its weights stay on, because otherwise its bias would be switched off.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard masks by layer.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        The new masks, with which the network has the same outputs.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.network import classifier
    >>> network = classifier(1, (3,), Softmax(), 2, Masked)
    >>> mask = np.array([[True, False, True]])
    >>> without_silent(network, {"hidden0": mask})["head"][:, 0].tolist()
    [True, False, True]
    """
    names = droppable(network)
    speaking = {name: units for name, units in live_units(network, masks).items() if name in names}
    heard = dict(masks)
    for name, layer in network.layers.items():
        units = speaking.get(network.sources[name])
        if units is None or units.all() or type(layer) not in (Masked, Gaussian):
            continue
        mask = masks.get(name, np.ones((layer.inputs, layer.units), bool))
        kept = mask & units[:, None]
        heard[name] = np.where(kept.any(axis=0), kept, mask)
    return heard


def usable(network, x, masks=None):
    """Return the part of a network that a task can use.

    A unit that is connected to dropped inputs only outputs its bias; it keeps one of these inputs.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    x : ndarray, shape (N, D)
        All inputs of the task.  Columns that are zero in all of them are dropped.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Hard masks by layer.  By default, masks are sampled, and only inputs are dropped.

    Returns
    -------
    subnet : Subnetwork
        The part.
    """
    names = droppable(network)
    inputs = live(x) if INPUTS in names else np.ones(network.inputs, bool)
    first = network.stages[0]
    if masks is None:
        rests = (
            isinstance(first, Masked)
            and first.model.structured
            and not (first.model.row_sticks and first.model.learns_alpha)
        )
        return cut(network, {INPUTS: inputs} if rests else {})
    if INPUTS in names and first.name in masks and (inputs & masks[first.name].any(axis=1)).any():
        # an input that no weight reads is as useless as one that is always zero
        inputs &= masks[first.name].any(axis=1)
    outputs = {INPUTS: inputs} | live_units(network, masks)
    outputs = {name: units for name, units in outputs.items() if name in names}
    for name, mask in masks.items():
        source = outputs.get(network.sources.get(name))
        if source is not None:
            stranded = mask.any(axis=0) & ~mask[source].any(axis=0)
            source[mask[:, stranded].argmax(axis=0)] = True
    return cut(network, outputs, masks)


def useful(network, masks, x):
    """Return hard masks without the weights that do not affect the outputs.

    Such a weight receives no signal, or nothing reads its unit.  The first columns of a layer are
    switched on for all rows, including the rows of inputs that are always zero and of units that
    output zero.  The task does not use these weights, so they should be free for the next task.

    On the inputs of the task, the model stays the same, with one exception.  A unit that only dead
    inputs lead to output its bias, a constant.  The biases of the next layer can express this
    constant.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard masks by layer, in the order of the network's layers.
    x : ndarray, shape (N, D)
        All inputs of the task.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        New masks by layer, subsets of the given ones.
    """
    kept = {}
    reached = {INPUTS: live(x)}
    for name, mask in masks.items():  # forward, from the inputs to the outputs
        layer = network.layers[name]
        source = network.sources[name]
        kept[name] = mask & reached.get(source, np.ones(layer.inputs, bool))[:, None]
        # otherwise a unit without weights outputs a nonzero constant
        if layer.activation in ZERO_AT_ZERO:
            reached[name] = kept[name].any(axis=0)
    for name in reversed(kept):  # backward, from the outputs to the inputs
        readers = [reader for reader, source in network.sources.items() if source == name]
        # an output layer without masks reads all units
        if readers and all(reader in kept for reader in readers):
            kept[name] &= np.logical_or.reduce([kept[reader].any(axis=1) for reader in readers])
    return kept
