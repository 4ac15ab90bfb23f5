"""Fitting a network to a task: maximizing the ELBO on minibatches, with sampled or given masks."""

import math
from typing import NamedTuple

import numpy as np

from ibpcl.adam import State
from ibpcl.inference import binary_masks
from ibpcl.inference.loop import Fitting, Step, fit, geometric
from ibpcl.models import subnetwork
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp


class Data(NamedTuple):
    """The examples of a task.

    Attributes
    ----------
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Labels or real targets; for an autoencoder, the images again.
    """

    x: np.ndarray
    y: np.ndarray


class Weighted(NamedTuple):
    """Weights and penalties of the training objective.

    Attributes
    ----------
    weights : ibpcl.models.elbo.Elbo
        Weight of each part; (1, -1, ..., -1) for the ELBO.
    warm_up : float
        Share of the steps, in 0 .. 1, in which the weight of the codes' divergence rises linearly
        from 0 to its full value.
    held : ndarray of bool, shape (P,), or None
        Parameters that are not trained.
    penalty : callable or None
        ``penalty(vector, gradient)`` returns the penalty that is added to the negative ELBO, in
        nats for the whole task, and its gradient (P,) or None.  Its argument ``gradient`` is the
        gradient of the loss without the penalty, in nats per example.
    adapt : callable or None
        Called after each step, see :func:`ibpcl.inference.loop.fit`; not used if the network grows.
    factors : ndarray, shape (P,), or None
        Factor of the learning rate of each parameter, >= 0; None stands for 1.
    """

    weights: Elbo
    warm_up: float = 0.0
    held: np.ndarray | None = None
    penalty: object = None
    adapt: object = None
    factors: np.ndarray | None = None


class Grown(NamedTuple):
    """A network that has grown during training.

    Attributes
    ----------
    network : ibpcl.models.network.Network
        The larger network.
    vector : ndarray, shape (P,)
        Its parameters: the old ones, and initial values of the new ones.
    prior : ibpcl.models.elbo.Prior
        Prior of its weights.
    rest : ndarray, shape (P,), or None
        As the argument ``rest`` of :func:`train`.
    held : ndarray of bool, shape (P,), or None
        Parameters that are not trained.
    """

    network: object
    vector: np.ndarray
    prior: object
    rest: np.ndarray | None
    held: np.ndarray | None


def train(network, vector, prior, data, plan, rates, weighted, masks=None, rest=None, growing=None):
    """Maximize the weighted ELBO over the parameters of a network.

    Kumar et al. (2021), Secs. 4.4 and 4.5: "Masked Training" if masks are sampled, "Selective
    Finetuning" if they are given.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    vector : ndarray, shape (P,)
        Its initial parameters.
    prior : ibpcl.models.elbo.Prior or None
        Prior of the weights; None for a network of plain layers.
    data : Data
        The examples of the task.
    plan : ibpcl.inference.loop.Fit
        The settings of the training phase.
    rates : dict of str to float
        Learning rate of each block of the layout; 0 for a block that is missing.
    weighted : Weighted
        Weights and penalties of the objective.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Hard masks by layer; empty for a network without masks.  By default, masks are sampled and
        relaxed.
    rest : ndarray, shape (P,), optional
        Optimal values of the parameters that the task carries no information about.  These are left
        out of training and set to ``rest``, see :mod:`ibpcl.models.subnetwork`.  By default, all
        parameters are trained.
    growing : (int, callable), optional
        ``(every, look)``: after every so many steps, ``look(network, vector, step, performance)``
        returns a :class:`Grown` network, or None if the network stays as it is.  ``performance`` is
        the mean of the training objective since the last look, in nats per example.

    Returns
    -------
    network : ibpcl.models.network.Network
        The network, larger than before if it grew.
    vector : ndarray, shape (P,)
        Its fitted parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    ibpcl.errors.NonFiniteError
        If a part of the ELBO, the penalty or the gradient is NaN or infinite.
    """

    def begin(network, vector, prior, rest, held):
        posed = weighted._replace(held=held)
        return pose(network, vector, prior, data.x, plan, rates, posed, masks, rest)

    problem, start, element_rates = begin(network, vector, prior, rest, weighted.held)
    # Growth does not change the inputs.  They are stored row by row, because selecting a minibatch
    # from another memory order would copy all of them.
    examples = len(data.x)
    x = np.ascontiguousarray(problem.subnet.columns(data.x))
    since_look = []  # the objective at each step since the last look

    def objective(vector, rows, step, steps):
        result = problem.evaluate(
            vector, x.take(rows, axis=0), data.y.take(rows, axis=0), step, steps
        )
        if growing:
            since_look.append(result.objective / examples)
        return result

    def grow(step, vector, state, element_rates):
        nonlocal network, problem
        every, look = growing
        if (step + 1) % every:
            return vector, state, element_rates
        performance = float(np.mean(since_look))
        since_look.clear()
        subnet = problem.subnet
        grown = look(network, subnet.write_back(vector, problem.rest), step, performance)
        if grown is None:
            return vector, state, element_rates
        network = grown.network
        problem, vector, element_rates = begin(*grown)
        places = subnet.network.layout.within(problem.subnet.network.layout)
        return vector, _larger_state(state, places, len(vector)), element_rates

    trained, history = fit(
        start, objective, element_rates, examples, plan, grow if growing else weighted.adapt
    )
    return network, problem.subnet.write_back(trained, problem.rest), history


class Problem(NamedTuple):
    """Objective of a training phase: the weighted ELBO of a task over the weights it can use.

    Attributes
    ----------
    subnet : ibpcl.models.subnetwork.Subnetwork
        The part of the network that is trained.
    prior : ibpcl.models.elbo.Prior or None
        Its prior.
    examples : int
        Number of examples N of the task, by which the likelihood of a minibatch is scaled.
    plan : ibpcl.inference.loop.Fit
        The settings of the phase.
    weighted : Weighted
        Weights and penalties of the objective.
    relaxed : bool
        Whether masks are sampled and relaxed.
    rest : ndarray, shape (P,), or None
        As in :func:`train`.
    """

    subnet: object
    prior: object
    examples: int
    plan: object
    weighted: Weighted
    relaxed: bool
    rest: np.ndarray | None

    def evaluate(self, vector, x, y, step, steps):
        """Return the objective and its gradient at one minibatch.

        Parameters
        ----------
        vector : ndarray, shape (P',)
            Parameters of the subnetwork.
        x : ndarray, shape (N, D')
            Inputs of the subnetwork.
        y : ndarray, shape (N,) or (N, C)
            Targets.
        step, steps : int
            Number of the step, which selects the noise, and number of all steps.

        Returns
        -------
        result : ibpcl.inference.loop.Step
            The objective in nats for the whole task; the gradient is that of the loss in nats per
            example.
        """
        plan = self.plan
        weighted = self.weighted
        small = self.subnet.network
        has_temperature = self.relaxed and plan.mask_gradient.relaxes
        tau = geometric(*plan.tau, step, steps) if has_temperature else 0.0
        key = plan.key._replace(step=step)
        drawn = small.noise(key, plan.samples, len(x), plan.backend, relaxed=self.relaxed)

        def evaluate(noise, draw=None):
            return elbo(
                small,
                vector,
                self.prior,
                x,
                y,
                noise,
                self.examples,
                plan.backend,
                self.subnet.masks,
                tau,
                draw,
            )

        rise = min(1.0, step / (weighted.warm_up * steps)) if weighted.warm_up > 0 else 1.0
        downhill = Elbo(*(-weight / self.examples for weight in weighted.weights))
        downhill = downhill._replace(kl_latent=downhill.kl_latent * rise)
        if self.relaxed and plan.mask_gradient.name != "concrete":
            again = (
                binary_masks.draw_again(drawn, key, plan.backend)
                if plan.mask_gradient.name == "rebar"
                else None
            )
            parts, gradient = binary_masks.estimate(
                plan.mask_gradient, evaluate, drawn, downhill, again
            )
        else:
            parts, cache = evaluate(drawn)
            gradient = elbo_vjp(downhill, cache)
        penalty, dpenalty = (
            (0.0, None) if weighted.penalty is None else weighted.penalty(vector, gradient)
        )
        # the loss is in nats per example, the penalty in nats for the whole task
        if dpenalty is not None:
            gradient = gradient + dpenalty / self.examples
        weights = weighted.weights._replace(kl_latent=weighted.weights.kl_latent * rise)
        value = sum(weight * part for weight, part in zip(weights, parts, strict=True))
        return Step(parts, gradient, tau, penalty, value - penalty)


def pose(network, vector, prior, x, plan, rates, weighted, masks=None, rest=None):
    """Return what a training phase maximizes, with its initial parameters.

    Parameters
    ----------
    network, vector, prior
        As in :func:`train`.
    x : ndarray, shape (N, D)
        All inputs of the task.
    plan, rates, weighted, masks, rest
        As in :func:`train`.

    Returns
    -------
    problem : Problem
        The objective.
    start : ndarray, shape (P',)
        Initial parameters of the subnetwork.
    element_rates : ndarray, shape (P',)
        Learning rate of each.
    """
    if rest is None:
        heard = subnetwork.without_silent(network, masks) if masks else masks
        subnet = subnetwork.cut(network, {})._replace(masks=heard)
    else:
        subnet = subnetwork.usable(network, x, masks)
    element_rates = np.zeros(network.layout.size, np.float32)
    for block in rates.keys() & set(network.layout.blocks):
        element_rates[network.layout.block(block)] = rates[block]
    if weighted.factors is not None:
        element_rates *= weighted.factors
    if weighted.held is not None:
        element_rates[weighted.held] = 0
    problem = Problem(
        subnet,
        subnetwork.cut_prior(subnet, network, prior),
        len(x),
        plan,
        weighted,
        masks is None,
        rest,
    )
    return problem, vector[subnet.index], element_rates[subnet.index]


def begin_stream(
    network, vector, prior, data, plan, rates, weighted, masks=None, rest=None, growing=None
):
    """Return a training phase that is fed one minibatch at a time.

    It takes the arguments of :func:`train`, and the same minibatches give the same bits.

    Parameters
    ----------
    network, vector, prior
        As in :func:`train`.
    data : Data
        ``data.x`` has as many rows as the task has examples; all its values may be 1, which stands
        for inputs that are not known yet.
    plan, rates, weighted, masks, rest
        As in :func:`train`.
    growing : None
        The network cannot grow.

    Returns
    -------
    network : ibpcl.models.network.Network
        The network.
    problem : Problem
        The objective.
    fitting : ibpcl.inference.loop.Fitting
        The initial parameters.
    """
    problem, start, element_rates = pose(
        network, vector, prior, data.x, plan, rates, weighted, masks, rest
    )
    steps = plan.epochs * math.ceil(len(data.x) / plan.batch)
    return network, problem, Fitting(start, element_rates, plan, steps)


def maximize_likelihood(network, vector, prior, data, plan, rate):
    """Fit the means of the weights by maximum likelihood, without masks and without noise.

    Kumar et al. (2021), supplement B.1: "similar to VCL".

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    vector : ndarray, shape (P,)
        Its initial parameters.
    prior : ibpcl.models.elbo.Prior or None
        Prior of the weights; its divergence appears in the history but is not trained on.
    data : Data
        The examples of the task.
    plan : ibpcl.inference.loop.Fit
        The settings of the training phase; its ``samples`` are ignored.
    rate : float
        Learning rate of the means, and of a learned noise.

    Returns
    -------
    network : ibpcl.models.network.Network
        The same network.
    vector : ndarray, shape (P,)
        Its fitted parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    ibpcl.errors.NonFiniteError
        If a part of the ELBO or the gradient is NaN or infinite.
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
    """Return Adam's state for a larger vector, in which new parameters start at 0."""

    def larger(values):
        grown = np.zeros(size, np.asarray(values).dtype)
        grown[places] = values
        return grown

    return State(*map(larger, state))
