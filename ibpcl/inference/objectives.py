"""The fit of a network to a task: its negative ELBO, by minibatches, while masks are sampled or with given ones."""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import State
from ibpcl.inference.loop import fit, geometric
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
    it with the weights' divergence.  ``adapt``: as of :func:`ibpcl.inference.loop.fit`, where nothing grows.
    """

    weights: Elbo
    warm_up: float = 0.0
    held: np.ndarray | None = None
    penalty: object = None
    adapt: object = None


class Growth(NamedTuple):
    """How a network grows in training: every so many steps ``look(network, vector, step)`` may return a larger one.

    That is None, or the larger network, its vector, its prior and its ``rest``: see :func:`train`.
    """

    every: int
    look: object


class Trained(NamedTuple):
    """What is trained: a network, the part of it that takes part, the prior of that part, and all other parameters."""

    network: object
    part: packing.Part
    prior: object
    rest: np.ndarray


def train(network, vector, prior, data, how, rates, weighted, masks=None, rest=None, growing=None):
    """Maximize the ELBO, its parts weighted, over the parameters of a network.

    Kumar et al. (2021), Secs. 4.4 and 4.5: "Masked Training" where masks are sampled, else "Selective Finetuning".

    Parameters
    ----------
    network : ibpcl.models.network.Network
    vector : ndarray, shape (P,)
        Where to start.
    prior : Prior or None
        Of the weights; None for a network of plain layers.
    data : Data
        The task.
    how : Fit
        How the fit goes.
    rates : dict of str to float
        Learning rate of each block of the layout; 0 where none is named.
    weighted : Weighted
        What is maximized.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Hard masks by layer, empty for a network without; if not given, masks are sampled, and relaxed.
    rest : ndarray, shape (P,), optional
        The optimum of all parameters that the task does not say anything of: these are left out of training and set to
        it, see :mod:`ibpcl.models.packing`.  If not given, all are trained.
    growing : Growth, optional
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
    def begin(network, vector, prior, rest):
        part = packing.whole(network) if rest is None else (
            packing.masked_part(network, data.x) if masks is None else packing.fixed_part(network, masks, data.x))
        element_rates = np.zeros(network.layout.size, np.float32)
        for block in rates.keys() & set(network.layout.blocks):
            element_rates[network.layout.block(block)] = rates[block]
        if weighted.held is not None:
            element_rates[weighted.held] = 0
        found = Trained(network, part, packing.cut_prior(part, network, prior), vector if rest is None else rest)
        return found, vector[part.index], element_rates[part.index]

    now, start, element_rates = begin(network, vector, prior, rest)
    # A network that grows reads the same; row after row, or each minibatch would be taken from a copy of all.
    examples, x = len(data.x), np.ascontiguousarray(now.part.columns(data.x))
    masks_now = None if masks is None else packing.cut(masks, now.part.kept)
    downhill = Elbo(*(-weight / examples for weight in weighted.weights))

    def objective(vector, rows, step, steps):
        network, tau_now = now.part.network, 0.0 if masks is not None else geometric(*how.tau, step, steps)
        drawn = network.noise(how.key._replace(step=step), how.samples, len(rows), how.backend, relaxed=masks is None)
        parts, cache = elbo(network, vector, now.prior, x.take(rows, axis=0), data.y[rows], drawn, examples,
                            how.backend, masks_now, tau_now)
        weights = downhill._replace(kl_latent=downhill.kl_latent * rising(step, steps, weighted.warm_up))
        gradient = elbo_vjp(weights, cache)
        if weighted.penalty is not None:
            value, dpenalty = weighted.penalty(vector, gradient)
            if dpenalty is not None:                         # the loss that falls is in nats per example
                parts, gradient = parts._replace(kl_weights=parts.kl_weights + value), gradient + dpenalty / examples
        return parts, gradient, tau_now

    def grow(step, vector, state, element_rates):
        nonlocal now
        grown = None
        if (step + 1) % growing.every == 0:
            grown = growing.look(now.network, now.part.write_back(vector, now.rest), step)
        if grown is None:
            return vector, state, element_rates
        layout = now.part.network.layout
        now, vector, element_rates = begin(*grown)
        return vector, _larger_state(layout, state, now.part.network.layout), element_rates

    trained, history = fit(start, objective, element_rates, examples, how, grow if growing else weighted.adapt)
    return now.network, now.part.write_back(trained, now.rest), history


def maximize_likelihood(network, vector, prior, data, how, rate):
    """Fit the means alone, without masks and without noise (supplement B.1: "similar to VCL"); see :func:`train`."""
    return train(network, vector, prior, data, how._replace(samples=0), {"mu": rate, "noise": rate},
                 Weighted(Elbo(1.0)), {})


def rising(step, steps, warm_up):
    """Return the factor of a weight that rises evenly from 0 to 1 within a share of the steps, and stays there.

    >>> [rising(step, 8, 0.5) for step in (0, 1, 4, 7)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(1.0, step / (warm_up * steps)) if warm_up > 0 else 1.0


def _larger_state(layout, state, larger):
    """Grow Adam's state with its network: what it knows of old parameters stays, new ones start without a history."""
    parts = []
    for part in (state.first, state.second, np.broadcast_to(state.step, state.first.shape)):
        parts.append(np.zeros(larger.size, part.dtype))
        parts[-1][layout.within(larger)] = part
    return State(*parts)
