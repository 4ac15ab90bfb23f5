"""The fits of a network to a task: maximum likelihood, training while masks are sampled, and with given masks."""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import State
from ibpcl.inference.loop import fit
from ibpcl.inference.schedules import geometric
from ibpcl.models import packing
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp


class Data(NamedTuple):
    """The examples of a fit: inputs (N, D), and labels (N,) or targets (N, C); of an autoencoder the images again."""

    x: np.ndarray
    y: np.ndarray


class Weighted(NamedTuple):
    """What is maximized besides the data's share of it.

    ``weights``: the cotangent of the parts, (1, -1, ...) for the ELBO.  ``warm_up``: share of the steps, from the
    first on, in which the weight of the codes' divergence rises from 0 to its own.  ``held`` (P,): which parameters
    stay where they are.  ``penalty(vector, gradient)`` returns what is added to the negative ELBO, nats for the whole
    task, and its gradient or None; it sees the gradient of the loss without it, in nats an example.  The history counts
    it with the weights' divergence.
    """

    weights: Elbo
    warm_up: float = 0.0
    held: np.ndarray | None = None
    penalty: object = None


def block_rates(layout, **rate_of_block):
    """Return a learning rate for every element of a vector: 0 in blocks that are not named."""
    rates = np.zeros(layout.size, np.float32)
    for block, rate in rate_of_block.items():
        if block in layout.blocks:
            rates[layout.block(block)] = rate
    return rates


class Packed(NamedTuple):
    """What is trained: a network, the part of it that takes part, the prior of that part, and the rest's values."""

    network: object
    part: packing.Part
    prior: object
    rest: np.ndarray


def maximize_likelihood(network, vector, prior, data, how, rate):
    """Fit the means alone, without masks and without noise (supplement B.1: "similar to VCL")."""
    def noise(rows):
        return {name: (np.zeros((1, rows, layer.units), np.float32),) for name, layer in network.layers.items()}

    weighted, rates = Weighted(Elbo(1.0)), {"mu": rate, "noise": rate}
    packed = Packed(network, packing.whole(network), prior, vector)
    _, vector, history = _fit(packed, vector, data, how, rates, weighted, {}, noise=noise)
    return vector, history


def train_fixed(network, vector, prior, masks, data, how, rates, weighted):
    """Maximize the ELBO over the weights that given masks keep (Sec. 4.5, "Selective Finetuning").

    Weights that a mask switches off stay at their prior; if they are not there, or nothing draws them there, all
    weights are trained.  See :mod:`ibpcl.models.packing`.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    vector : ndarray, shape (P,)
        Where to start.
    prior : Prior or None
        Of the weights; None for a network of plain layers.
    masks : dict of str to ndarray of bool, shape (D, K)
        By layer; empty for a network that has none.
    data : Data
        The task.
    how : Fit
        How the fit goes.
    rates : dict of str to float
        Learning rate of each block of the layout.
    weighted : Weighted
        What is maximized.

    Returns
    -------
    vector : ndarray, shape (P,)
        The fitted parameters.
    history : list of Record
        One row per epoch.
    """
    part, rest = packing.whole(network), vector
    if masks and weighted.weights.kl_weights and packing.off_weights_rest(network, vector, prior, masks):
        part, rest = packing.fixed_part(network, masks, data.x), packing.at_rest(network, vector, prior)
    packed = Packed(network, part, packing.pack_prior(part, network, prior), rest)
    _, vector, history = _fit(packed, vector, data, how, rates, weighted, packing.pack_masks(part, masks))
    return vector, history


class Growing(NamedTuple):
    """How a network grows: every so many steps ``look(network, vector, step)`` returns all three anew, or None."""

    every: int
    look: object


def train_masked(network, vector, prior, data, how, rates, weighted, tau, growing=None):
    """Maximize the ELBO over weights, masks and sticks while the temperature falls.

    Parameters
    ----------
    network, vector, prior, data, how, rates, weighted
        As of :func:`train_fixed`.
    tau : (float, float)
        Temperature at the first and at the last step.
    growing : Growing, optional
        Looks every so many steps whether the network has to grow.

    Returns
    -------
    network : Network
        The network, larger than before if it grew.
    vector : ndarray, shape (P,)
        Its parameters.
    history : list of Record
        One row per epoch.
    """
    packed = _masked_part(network, vector, prior, data.x, weighted.weights)
    return _fit(packed, vector, data, how, rates, weighted, None, tau, growing)


def _masked_part(network, vector, prior, x, weights):
    """Leave out the inputs that are always zero; without a divergence nothing would say where their weights rest."""
    part, rest = packing.whole(network), vector
    if prior is not None and weights.kl_weights and weights.kl_masks and network.masked:
        part, rest = packing.masked_part(network, x), packing.at_rest(network, vector, prior)
        rest[network.layout.block("rho")] = 0
    return Packed(network, part, packing.pack_prior(part, network, prior), rest)


def _fit(packed, vector, data, how, rates, weighted, masks, tau=(1.0, 1.0), growing=None, noise=None):
    """Fit a part of a network; return the whole network, its parameters and the history."""
    now, examples = packed, len(data.x)
    # A network that grows reads the same; row after row, or each minibatch would be taken from a copy of all.
    read = np.ascontiguousarray(packed.part.columns(data.x))
    downhill = Elbo(*(-weight / examples for weight in weighted.weights))

    def objective(vector, rows, step, steps):
        network, tau_now = now.part.network, 0.0 if masks is not None else geometric(*tau, step, steps)
        drawn = noise(len(rows)) if noise else network.noise(
            how.key._replace(step=step), how.samples, len(rows), how.backend, relaxed=masks is None)
        x, y = read.take(rows, axis=0), data.y[rows]
        parts, cache = elbo(network, vector, now.prior, x, y, drawn, examples, how.backend, masks, tau_now)
        weights = downhill._replace(kl_latent=downhill.kl_latent * rising(step, steps, weighted.warm_up))
        gradient = elbo_vjp(weights, cache)
        if weighted.penalty is not None:
            value, dpenalty = weighted.penalty(vector, gradient)
            if dpenalty is not None:                         # the loss that falls is in nats per example
                parts, gradient = parts._replace(kl_weights=parts.kl_weights + value), gradient + dpenalty / examples
        return parts, gradient, tau_now

    def grow(step, vector, state, element_rates):
        nonlocal now
        if (step + 1) % growing.every:
            return vector, state, element_rates
        grown = growing.look(now.network, packing.unpack(now.part, vector, now.rest), step)
        if grown is None:
            return vector, state, element_rates
        network, whole, prior = grown
        old, now = now.part.network.layout, _masked_part(network, whole, prior, data.x, weighted.weights)
        layout = now.part.network.layout
        return whole[now.part.index], _grow_state(old, state, layout), block_rates(layout, **rates)

    element_rates = block_rates(now.part.network.layout, **rates)
    if weighted.held is not None:
        element_rates[weighted.held[now.part.index]] = 0
    trained, history = fit(vector[now.part.index], objective, element_rates, examples, how, grow if growing else None)
    return now.network, packing.unpack(now.part, trained, now.rest), history


def rising(step, steps, warm_up):
    """Return the factor of a weight that rises evenly from 0 to 1 within a share of the steps, and stays there.

    >>> [rising(step, 8, 0.5) for step in (0, 1, 4, 7)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(1.0, step / (warm_up * steps)) if warm_up > 0 else 1.0


def _grow_state(layout, state, larger):
    """Grow Adam's state with its network: what it knows of old parameters stays, new ones start without a history."""
    parts = []
    for part in (state.first, state.second, np.broadcast_to(state.step, state.first.shape)):
        grown = np.zeros(larger.size, part.dtype)
        layout.transfer(part, larger, grown)
        parts.append(grown)
    return State(*parts)
