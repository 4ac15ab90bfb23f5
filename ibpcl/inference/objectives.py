"""The three fits of the method: maximum likelihood, masked training, and training with a fixed mask."""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import State
from ibpcl.inference.loop import fit
from ibpcl.inference.schedules import geometric
from ibpcl.models import packing
from ibpcl.models.supervised import Elbo


class Data(NamedTuple):
    """The examples of a fit: inputs (N, D), and labels (N,) or targets (N, C)."""

    x: np.ndarray
    y: np.ndarray


def block_rates(layout, **rate_of_block):
    """Return a learning rate for every element of a vector: 0 in blocks that are not named."""
    rates = np.zeros(layout.size, np.float32)
    for block, rate in rate_of_block.items():
        if block in layout.blocks:
            rates[layout.block(block)] = rate
    return rates


class Packed(NamedTuple):
    """What is trained: a network, the part of it that takes part, the prior of that part, and the rest's values."""

    model: object
    part: packing.Part
    prior: object
    rest: np.ndarray


def maximize_likelihood(model, vector, prior, data, how, rate):
    """Fit the means alone, without masks and without noise (supplement B.1: "similar to VCL")."""
    masks = [None] * len(model.hidden)
    examples = len(data.x)

    def objective(vector, rows, step, steps):
        silent = tuple(np.zeros((1, len(rows), width), np.float32) for width in (*model.hidden, model.outputs))
        parts, cache = model.fixed_elbo(vector, prior, masks, data.x[rows], data.y[rows], silent, examples, how.backend)
        return parts, model.fixed_elbo_vjp(Elbo(-1 / examples, 0.0, 0.0, 0.0), cache), 0.0

    packed = Packed(model, packing.whole(model), prior, vector)
    return fit_part(lambda: packed, objective, block_rates(model.layout, mu=rate, noise=rate), data, how, vector)


def train_fixed(model, vector, prior, masks, data, how, rate, kl_weight=1.0):
    """Maximize the ELBO over the weights that a fixed mask keeps (Sec. 4.5, "Selective Finetuning").

    Weights that the mask switches off stay at their prior; if they are not there, or nothing draws them there, all
    weights are trained.  See :mod:`ibpcl.models.packing`.
    """
    examples = len(data.x)
    part, rest = packing.whole(model), vector
    if kl_weight > 0 and packing.off_weights_rest(model, rest, prior, masks):
        part, rest = packing.fixed_part(model, masks, data.x), packing.at_rest(model, rest, prior)
    packed = Packed(model, part, packing.pack_prior(part, model, prior), rest)
    small, masks = part.model, packing.pack_masks(part, masks, how.backend)
    weights = Elbo(-1 / examples, kl_weight / examples, 0, 0)
    read = part.columns(data.x)

    def objective(vector, rows, step, steps):
        noise = small.fixed_noise(how.key._replace(step=step), how.samples, len(rows), how.backend)
        parts, cache = small.fixed_elbo(vector, packed.prior, masks, how.backend.take(read, rows), data.y[rows],
                                        noise, examples, how.backend)
        return parts, small.fixed_elbo_vjp(weights, cache), 0.0

    rates = block_rates(small.layout, mu=rate, log_sigma=rate, noise=rate)
    return fit_part(lambda: packed, objective, rates, data, how, vector)


class Growing(NamedTuple):
    """How a network grows: every so many steps ``look(model, vector, step)`` gives (model, vector, prior), or None."""

    every: int
    look: object


def train_masked(model, vector, prior, data, how, rates, weights, tau, growing=None):
    """Maximize the ELBO over weights, masks and sticks while the temperature falls.

    Parameters
    ----------
    rates : dict of str to float
        Learning rate of each block of the layout.
    weights : Elbo
        Cotangent of the parts: (1, -1, -1, -1, -1) for the true ELBO.
    tau : (float, float)
        Temperature at the first and at the last step.
    growing : Growing, optional
        Looks every so many steps whether the network has to grow.

    Returns
    -------
    model : Supervised
        The network, larger than before if it grew.
    vector : ndarray, shape (P,)
        Its parameters.
    history : list of Record
        One row an epoch.
    """
    examples = len(data.x)
    downhill = Elbo(*(-weight / examples for weight in weights))
    now = _masked_part(model, vector, prior, data.x, weights)
    read = now.part.columns(data.x)                          # a network that grows reads the same

    def objective(vector, rows, step, steps):
        temperature, model = geometric(*tau, step, steps), now.part.model
        noise = model.noise(how.key._replace(step=step), how.samples, len(rows), how.backend)
        parts, cache = model.elbo(vector, now.prior, how.backend.take(read, rows), data.y[rows], noise, temperature,
                                  examples, how.backend)
        return parts, model.elbo_vjp(downhill, cache), temperature

    def adapt(step, vector, state, element_rates):
        nonlocal now
        if (step + 1) % growing.every:
            return vector, state, element_rates
        grown = growing.look(now.model, packing.unpack(now.part, vector, now.rest), step)
        if grown is None:
            return vector, state, element_rates
        larger, whole, larger_prior = grown
        old, now = now.part.model, _masked_part(larger, whole, larger_prior, data.x, weights)
        layout = now.part.model.layout
        return whole[now.part.index], _grow_state(old.layout, state, layout), block_rates(layout, **rates)

    first_rates = block_rates(now.part.model.layout, **rates)
    vector, history = fit_part(lambda: now, objective, first_rates, data, how, vector, adapt if growing else None)
    return now.model, vector, history


def _masked_part(model, vector, prior, x, weights):
    """Leave out the inputs that are always zero; without a divergence nothing would say where their weights rest."""
    if weights.kl_weights == 0 or weights.kl_masks == 0:
        part, rest = packing.whole(model), vector
    else:
        part, rest = packing.masked_part(model, x), packing.at_rest(model, vector, prior)
        rest[model.layout.block("rho")] = 0
    return Packed(model, part, packing.pack_prior(part, model, prior), rest)


def _grow_state(layout, state, larger):
    """Grow Adam's state with its network: what it knows of old parameters stays, new ones start without a history."""
    parts = []
    for part in (state.first, state.second, np.broadcast_to(state.step, state.first.shape)):
        grown = np.zeros(larger.size, part.dtype)
        layout.transfer(part, larger, grown)
        parts.append(grown)
    return State(*parts)


def fit_part(packed, objective, rates, data, how, vector, adapt=None):
    """Fit the part of a network that ``packed()`` names at the moment; return the whole vector and the history."""
    trained, history = fit(vector[packed().part.index], objective, rates, len(data.x), how, adapt)
    return packing.unpack(packed().part, trained, packed().rest), history
