"""The fit of a network to a task: its negative ELBO, by minibatches, while masks are sampled or
with given ones.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.adam import State
from ibpcl.inference.loop import Step, fit, geometric
from ibpcl.models import subnetwork
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp


class Data(NamedTuple):
    """The examples of a fit: inputs (N, D), and labels (N,) or targets (N, C); of an autoencoder
    the images again.
    """

    x: np.ndarray
    y: np.ndarray


class Weighted(NamedTuple):
    """What is maximized besides the data's share of it.

    ``weights``: the cotangent of the parts, (1, -1, ...) for the ELBO.  ``warm_up``: share of the
    steps, from the first on, in which the weight of the codes' divergence rises from 0 to its own.
    ``held`` (P,): which parameters stay where they are.  ``penalty(vector, gradient)`` returns what
    is added to the negative ELBO, nats for the whole task, and its gradient or None; it sees the
    gradient of the loss without it, in nats an example.  ``adapt``: as of
    :func:`ibpcl.inference.loop.fit`, where nothing grows.
    """

    weights: Elbo
    warm_up: float = 0.0
    held: np.ndarray | None = None
    penalty: object = None
    adapt: object = None


def train(network, vector, prior, data, plan, rates, weighted, masks=None, rest=None, growing=None):
    """Maximize the ELBO, its parts weighted, over the parameters of a network.

    Kumar et al. (2021), Secs. 4.4 and 4.5: "Masked Training" where masks are sampled, else
    "Selective Finetuning".

    Parameters
    ----------
    network : ibpcl.models.network.Network
    vector : ndarray, shape (P,)
        Where to start.
    prior : Prior or None
        Of the weights; None for a network of plain layers.
    data, plan, weighted : Data, Fit, Weighted
        The task, how the fit goes, and what is maximized.
    rates : dict of str to float
        Learning rate of each block of the layout; 0 where none is named.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Hard masks by layer, empty for a network without; if not given, masks are sampled, and
        relaxed.
    rest : ndarray, shape (P,), optional
        The optimum of all parameters that the task does not say anything of: these are left out of
        training and set to it, see :mod:`ibpcl.models.subnetwork`.  If not given, all are trained.
    growing : (int, callable), optional
        ``every`` and ``look``: after every so many steps ``look(network, vector, step)`` may return
        a larger network, with its vector, its prior and its ``rest``; or None.

    Returns
    -------
    network, vector : Network, ndarray of shape (P,)
        The network, larger than before if it grew, and its parameters.
    history : list of Record
        One row per epoch.
    """

    # What is trained of a network: the part that takes part in the task, its prior, where it
    # starts, and its rates.
    def begin(network, vector, prior, rest):
        if rest is None:
            subnet = subnetwork.cut(network, {})._replace(masks=masks)
        else:
            subnet = subnetwork.usable(network, data.x, masks)
        element_rates = np.zeros(network.layout.size, np.float32)
        for block in rates.keys() & set(network.layout.blocks):
            element_rates[network.layout.block(block)] = rates[block]
        if weighted.held is not None:
            element_rates[weighted.held] = 0
        return (
            subnet,
            subnetwork.cut_prior(subnet, network, prior),
            vector[subnet.index],
            element_rates[subnet.index],
        )

    subnet, prior, start, element_rates = begin(network, vector, prior, rest)
    # A network that grows reads the same; row after row, or each minibatch would be taken from a
    # copy of all.
    examples = len(data.x)
    x = np.ascontiguousarray(subnet.columns(data.x))
    downhill = Elbo(*(-weight / examples for weight in weighted.weights))

    def objective(vector, rows, step, steps):
        small = subnet.network
        relaxed = masks is None
        tau = geometric(*plan.tau, step, steps) if relaxed else 0.0
        drawn = small.noise(
            plan.key._replace(step=step), plan.samples, len(rows), plan.backend, relaxed=relaxed
        )
        parts, cache = elbo(
            small,
            vector,
            prior,
            x.take(rows, axis=0),
            data.y.take(rows, axis=0),
            drawn,
            examples,
            plan.backend,
            subnet.masks,
            tau,
        )
        rise = min(1.0, step / (weighted.warm_up * steps)) if weighted.warm_up > 0 else 1.0
        gradient = elbo_vjp(downhill._replace(kl_latent=downhill.kl_latent * rise), cache)
        penalty, dpenalty = (
            (0.0, None) if weighted.penalty is None else weighted.penalty(vector, gradient)
        )
        # the loss that falls is in nats per example
        if dpenalty is not None:
            gradient = gradient + dpenalty / examples
        return Step(parts, gradient, tau, penalty)

    def grow(step, vector, state, element_rates):
        nonlocal network, subnet, prior, rest
        every, look = growing
        found = None if (step + 1) % every else look(network, subnet.write_back(vector, rest), step)
        if found is None:
            return vector, state, element_rates
        layout, (network, _, _, rest) = subnet.network.layout, found
        subnet, prior, vector, element_rates = begin(*found)
        return (
            vector,
            _larger_state(state, layout.within(subnet.network.layout), len(vector)),
            element_rates,
        )

    trained, history = fit(
        start, objective, element_rates, examples, plan, grow if growing else weighted.adapt
    )
    return network, subnet.write_back(trained, rest), history


def maximize_likelihood(network, vector, prior, data, plan, rate):
    """Fit the means alone, without masks and without noise (supplement B.1: "similar to VCL"); see
    :func:`train`.
    """
    return train(
        network,
        vector,
        prior,
        data,
        plan._replace(samples=0),
        {"mu": rate, "noise": rate},
        Weighted(Elbo(1.0)),
        {},
    )


def _larger_state(state, places, size):
    """Grow Adam's state with its network: what it knows of old parameters stays, new ones start
    without a history.
    """

    def larger(values):
        grown = np.zeros(size, np.asarray(values).dtype)
        grown[places] = values
        return grown

    return State(*map(larger, state))
