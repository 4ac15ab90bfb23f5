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
parameters of masks and sticks.

So a part of the network is trained, smaller but of the same kind, and its parameters are written back at the end.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

ZERO_AT_ZERO = ("relu", "leaky_relu", "tanh")
MASKS_ALONE = ("rho", "sticks", "alpha")                     # blocks that matter only while masks are sampled


class Part(NamedTuple):
    """A part of a network: ``model`` is the smaller one, and element i of its vector is element ``index[i]``.

    ``inputs`` (D,) and ``units``, a boolean array (K,) a hidden layer, say what was kept of the larger one.
    """

    model: object
    index: np.ndarray
    inputs: np.ndarray
    units: tuple

    def columns(self, x):
        """Return the kept columns of inputs (N, D)."""
        return x if self.inputs.all() else np.compress(self.inputs, x, axis=1)


def part(model, inputs, units=None, masks=None):
    """Cut out the part of a network with the given inputs and hidden units.

    Parameters
    ----------
    model : MaskedMLP
        The network.
    inputs : ndarray of bool, shape (D,)
        Which inputs to keep, at least one.
    units : sequence of ndarray of bool, shape (K,), optional
        Which units of each hidden layer to keep, at least one; all of them if not given.
    masks : sequence of ndarray of bool, shape (D, K), optional
        Which weights of each hidden layer to keep, of those between what is kept; then no parameters of masks.

    Examples
    --------
    >>> from ibpcl.models.classifier import Classifier
    >>> small = part(Classifier(4, (3,), 2), np.array([True, False, False, True]))
    >>> small.model.inputs, small.index[:6].tolist()
    (2, [0, 1, 2, 9, 10, 11])
    """
    units = tuple(np.ones(width, bool) for width in model.hidden) if units is None else tuple(units)
    sides = _sides(inputs, units)
    on = None if masks is None else cut(dict(zip(sides, masks, strict=True)), sides)
    sides["head"] = units[-1], np.ones(model.outputs, bool)
    small = replace(model, inputs=int(inputs.sum()), hidden=tuple(int(kept.sum()) for kept in units),
                    kept=None if on is None else tuple(int(mask.sum()) for mask in on.values()))
    return Part(small, elements(model.layout, sides, on), inputs, units)


def _sides(inputs, units):
    """Return what is kept of the rows and columns of each hidden layer, by name."""
    return {f"hidden{i}": side for i, side in enumerate(zip((inputs, *units), units, strict=False))}


def cut(masks, sides):
    """Return what is left of masks, by layer, between the rows and columns that are kept."""
    return {layer: mask[sides[layer][0]][:, sides[layer][1]] for layer, mask in masks.items()}


def elements(layout, sides, masks=None):
    """Return which elements of a vector are kept, in order.

    Parameters
    ----------
    layout : Layout
        Of the vector.
    sides : dict of str to tuple
        Which rows (D,) and which columns (K,) of each layer to keep; of other entries everything is.
    masks : dict of str to ndarray of bool, optional
        Which of these weights to keep of each masked layer; then no parameters of masks.
    """
    kept = []
    for entry, places in zip(layout.entries, layout.views(np.arange(layout.size)).values(), strict=True):
        layer = entry.name.split(".", 1)[0]
        if masks is not None and entry.block in MASKS_ALONE:
            continue
        if layer in sides and places.ndim > 0:
            rows, columns = sides[layer]
            places = (places[rows] if places.ndim == 2 else places)[..., columns]
        kept.append(places[masks[layer]] if masks and layer in masks and places.ndim == 2 else places.ravel())
    return np.concatenate(kept)


def whole(model):
    """Return the part that is the whole network."""
    return part(model, np.ones(model.inputs, bool))


def pack_prior(part, model, prior):
    """Return the prior of a part of a network."""
    block = model.layout.block("mu")
    kept = part.index[(part.index >= block.start) & (part.index < block.stop)] - block.start
    informative = None
    if prior.informative is not None:
        known = np.zeros(len(prior.mu), bool)
        known[prior.informative] = True
        informative = np.flatnonzero(known[kept])
    return prior._replace(mu=prior.mu[kept], log_sigma=prior.log_sigma[kept], informative=informative)


def pack_masks(part, masks, backend):
    """Return the hard masks of a part of a network, as the backend wants them."""
    sides = _sides(part.inputs, part.units)
    return tuple(map(backend.hard_mask, cut(dict(zip(sides, masks, strict=True)), sides).values()))


def at_rest(model, vector, prior):
    """Return a copy of ``vector`` with every weight at its prior, where it has one."""
    resting, informative = vector.copy(), slice(None) if prior.informative is None else prior.informative
    for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
        resting[model.layout.block(block)][informative] = values[informative]
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


def masked_part(model, x):
    """Return the part of a network that has to be trained while its masks are sampled."""
    at_rest = model.mask_model.structured and not (model.mask_model.row_sticks and model.learns_alpha)
    return part(model, live_inputs(x) if at_rest else np.ones(model.inputs, bool))


def fixed_part(model, masks, x):
    """Return the weights of a network that inputs (N, D) can reach under hard masks, one (D, K) a hidden layer.

    A unit that is connected, but to dropped inputs only, outputs its bias: it keeps one of them.
    """
    units = [np.ones(width, bool) for width in model.hidden]
    if model.activation in ZERO_AT_ZERO:
        units = [mask.any(axis=0) for mask in masks]
        for kept in units:
            kept[0] |= not kept.any()
    sources = [live_inputs(x), *units[:-1]]
    for mask, source in zip(masks, sources, strict=True):
        stranded = mask.any(axis=0) & ~mask[source].any(axis=0)
        source[mask[:, stranded].argmax(axis=0)] = True
    return part(model, sources[0], units, masks)


def off_weights_rest(model, vector, prior, masks):
    """Say whether every weight that hard masks switch off is at its prior, where it has one.

    Only then are they left out of training: somebody may want to see where they drift.
    """
    count = sum(mask.size + mask.shape[1] for mask in masks)
    off = ~np.concatenate([flat for mask in masks for flat in (mask.ravel(), mask.any(axis=0))])
    if prior.informative is not None:
        known = np.zeros(len(prior.mu), bool)
        known[prior.informative] = True
        off &= known[:count]
    return all(np.array_equal(vector[model.layout.block(block)][:count][off], values[:count][off])
               for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)))
