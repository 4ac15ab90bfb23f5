r"""Horseshoe: VCL whose weights or units have scales that shrink to zero unless data need them.

Ghosh, Yao and Doshi-Velez (2018), "Structured Variational Learning of Bayesian Neural Networks with
Horseshoe Priors", and Louizos, Ullrich and Welling (2017), "Bayesian Compression for Deep
Learning".  Kumar et al. (2021) name this prior as an alternative to the Indian buffet process.  In
the hidden layers, a weight is :math:`w = \tau \lambda \beta` with one scale :math:`\lambda` per
unit or per weight (:mod:`ibpcl.models.scaled`).  Task t maximizes

.. math:: \mathcal L_t = \sum_n \mathbb E_q[\log p(y_n | x_n, \beta, \lambda, \tau)]
          - KL[q(\beta) \| q_{t - 1}(\beta)] - KL[q(\lambda, \tau) \| q_{t - 1}(\lambda, \tau)],

with :math:`q_0(\beta) = \mathcal N(0, \sigma_0^2)`, and half-Cauchy scales before the first task,
:math:`\lambda \sim C^+(0, 1)` and :math:`\tau \sim C^+(0, b)`, as inverse Gamma hierarchies
(:func:`ibpcl.primitives.horseshoe.kl`).  Later, the divergence of the scales is that of two
log-normal distributions.

**Structure by thresholds.**  After a task, a unit or weight is on if the median of its scale is
above ``threshold`` times the largest median in its layer.  These masks are stored, one bit each,
and the task is predicted with its own mask, as in NPBCL.  With a single head, the masks are those
of the last task.

Predictions sample the scales of units.  Scales of weights are set to their medians instead, because
drawing every weight for each sample would take much longer.

Apart from the scales, everything is as in VCL: the maximum-likelihood fit before the first task,
heads, and random keys.  With fixed scales of 1 this is VCL, with ``local`` for units and without
it for weights.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ibpcl.continual import masks as hard_masks
from ibpcl.continual.learner import Saved, check_inputs, check_task_id
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import (
    documented_learner,
    documented_step,
    learning,
    mean_probabilities,
    predicting_classes,
)
from ibpcl.methods.sequential import Context, accept, keep, of_task, start
from ibpcl.methods.settings_docs import documented
from ibpcl.methods.vcl import (
    GaussianClassifier,
    PosteriorSettings,
    last_posterior,
    maximize,
    warm_up,
)
from ibpcl.models import prediction, scaled, subnetwork
from ibpcl.models.layers import Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.models.parameters import write
from ibpcl.models.scaled import Scaled
from ibpcl.options import option

SCALES_OF = ("units", "weights")


@documented
@dataclass(frozen=True, init=False)
class Settings(PosteriorSettings):
    """Settings of the horseshoe."""

    method = "horseshoe"

    scales: str = option(
        "units", "What has a scale of its own in the hidden layers.", choices=SCALES_OF
    )
    rate: float = option(
        0.001,
        "Learning rate of the weights (Adam); the means of their Gaussian factors in the hidden "
        "layers have this rate divided by start_scale.",
    )
    scale_rate: float = option(0.02, "Learning rate of the scales (Adam).", at_least=0)
    start_scale: float = option(
        0.05,
        "Initial median of a layer's global scale; the Gaussian factors start with what is left of "
        "start_spread and start_sigma, their size divided by start_scale.",
        above=0,
    )
    global_scale: float = option(
        1.0, "Median b of the prior of a layer's global scale before the first task.", above=0
    )
    start_scale_sigma: float = option(
        0.1, "Initial standard deviation of the logarithm of a squared scale.", above=0
    )
    threshold: float = option(
        0.1,
        "A unit or weight is on for a task if the median of its scale is above this share of the "
        "largest in its layer; 0 keeps all.",
        at_least=0,
        below=1,
    )


class HorseshoeClassifier(GaussianClassifier):
    """Classifier whose hidden units or weights have scales: its network and shared parameters.

    Tasks share the scales.

    Parameters
    ----------
    settings : Settings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the random key of each phase of a task.
    stride : int
        Number of keys reserved for a task.
    given_masks : None
        No hard masks are given in training, so that the scales' divergence counts.
    """

    given_masks = None

    @property
    def rates(self):
        """Learning rate of each block of parameters."""
        settings = self.settings
        return {
            "mu": settings.rate / settings.start_scale,
            "log_sigma": settings.rate,
            "scales": settings.scale_rate,
        }

    def network(self, inputs, hidden, outputs):
        """Return the network with the given widths.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer.
        outputs : int
            Number of classes.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only; its hidden layers have scales.
        """
        settings = self.settings
        kind = partial(Scaled, local=settings.scales == "units")
        return classifier(inputs, hidden, Softmax(), outputs, kind, settings.activation, kind)

    def as_trained(self, network):
        """Return the network that training uses.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of a task, from :meth:`network`.

        Returns
        -------
        network : ibpcl.models.network.Network
            The argument.
        """
        return network

    def start(self, context, network, task):
        """Return fresh parameters of a network.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random key of the task: ``learner.context`` of a learner.
        network : ibpcl.models.network.Network
            Network to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; not used.

        Returns
        -------
        vector : ndarray, shape (P,)
            Gaussian factors as the weights of VCL; scales with median 1.
        """
        vector = super().start(context, network, task)
        settings = self.settings
        log_sigma = np.log(settings.start_scale_sigma)
        log_median = np.log(settings.start_scale)
        for layer in network.layout.layers(vector).values():
            write(layer, {"scale.log_sigma": log_sigma, "global.log_sigma": log_sigma})
            write(layer, {"global.mu": 2 * log_median})
        vector[network.layout.block("mu")] /= settings.start_scale
        vector[network.layout.block("log_sigma")] -= log_median
        return vector

    def sticks_prior(self, network, vector, first):
        """Return the prior of the scales of each layer that has them.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of the task, from ``context.next_network(task.outputs)``.
        vector : ndarray, shape (P,)
            Last posterior.
        first : bool
            Whether this is the first task, whose prior is half-Cauchy.

        Returns
        -------
        prior : dict of str to ibpcl.models.scaled.Scales or float
            The last posterior, or the median of the global scale's prior, by layer.
        """
        views = network.layout.layers(vector)
        return {
            name: self.settings.global_scale
            if first or not self.shares(f"{name}.")
            else scaled.of_layer(views[name])
            for name in network.layers
        }


def sizes(network, vector):
    r"""Return the medians of the scales, relative to the largest in their layer.

    .. math:: \exp\Bigl(\tfrac12 \mu_k - \tfrac12 \max_j \mu_j\Bigr)

    Parameters
    ----------
    network : ibpcl.models.network.Network
        Network with layers of :class:`ibpcl.models.scaled.Scaled`.
    vector : ndarray, shape (P,)
        Its parameters.

    Returns
    -------
    sizes : dict of str to ndarray, shape (K,) or (D, K)
        By hidden layer, in (0, 1].
    """
    views = network.layout.layers(vector)
    medians = {name: views[name]["scale.mu"] for name in network.layers if name != "head"}
    return {name: np.exp((mu - mu.max()) / 2) for name, mu in medians.items()}


def structure(context, network, vector, x):
    """Return which units or weights a task uses.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Gives the threshold: ``learner.context`` of a learner.
    network : ibpcl.models.network.Network
        Network of the task.
    vector : ndarray, shape (P,)
        Its trained parameters.
    x : ndarray, shape (N, D)
        Training inputs of the task.  Weights from inputs that are always 0 are never used.

    Returns
    -------
    bits : dict of str to ndarray of uint8
        By layer, one bit per unit or per weight, from ``np.packbits``.
    """
    on = {
        name: np.broadcast_to(size > context.settings.threshold, network.layers[name].shape)
        for name, size in sizes(network, vector).items()
    }
    used = subnetwork.useful(network, on, x) if context.settings.threshold else on
    by_unit = context.settings.scales == "units"
    return {name: np.packbits(mask.any(axis=0) if by_unit else mask) for name, mask in used.items()}


def masks(context, task_id):
    """Return the hard masks of a learned task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    task_id : int
        A learned task.  With a single head, the masks are those of the last task.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        By layer; True keeps the weight.
    """
    state = context.state
    cut_by = state.learned - 1 if context.settings.single_head else task_id
    rows = 1 if context.settings.scales == "units" else None  # one bit per unit, or per weight
    return {
        name: np.broadcast_to(
            hard_masks.unpack(
                state.memory[f"mask{cut_by}.{name}"], (rows or layer.inputs, layer.units)
            ),
            layer.shape,
        )
        for name, layer in context.network_of(cut_by).layers.items()
        if name != "head"
    }


@documented_step
def learn_task(context, task):
    """Learn one more task with a horseshoe prior.

    The divergence of the scales is in the history's column of the sticks.
    """
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    prior = last_posterior(context, network)
    data = Data(task.x_train, task.targets)
    vector, warming = warm_up(context, network, vector, prior, data)
    vector, history = maximize(context, network, vector, prior, data, context.fit())
    found = structure(context, network, vector, task.x_train)
    memory = {f"mask{context.state.learned}.{name}": bits for name, bits in found.items()}
    if not context.settings.single_head:
        memory = context.state.memory | memory
    return keep(context, network, vector, memory), of_task(context, [*warming, *history])


def predictor(context, task_id):
    """Return the network that predicts a task, with its structure.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    task_id : int
        A learned task.

    Returns
    -------
    network : ibpcl.models.network.Network
        With scales of units; without scales if they belong to weights.
    vector : ndarray, shape (P,)
        Its parameters; units and weights that are off have the value 0.
    """
    network, vector = context.assemble(task_id)
    views = network.layout.layers(vector)
    by_unit = context.settings.scales == "units"
    for name, mask in masks(context, task_id).items():
        off = ~mask.any(axis=0) if by_unit else ~mask
        scaled.switched_off(network.layers[name], views[name], off)
    if by_unit:
        return network, vector
    settings = context.settings
    hidden = tuple(stage.units for stage in network.stages[:-1])
    plain = classifier(
        network.inputs, hidden, Softmax(), network.outputs, Gaussian, settings.activation
    )
    plain = replace(plain, likelihood=network.likelihood)
    gaussian = np.empty(plain.layout.size, vector.dtype)
    for name, layer in plain.layout.layers(gaussian).items():
        write(layer, scaled.at_medians(views[name]))
    return plain, gaussian


def predict_classes(context, predictors, x, task_id):
    """Return class probabilities, averaged over samples of the posterior.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    predictors : dict of int to tuple
        Cache of the results of :func:`predictor` by task; a missing task is added.
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
    task_id : int
        A learned task.

    Returns
    -------
    predictions : ibpcl.models.likelihoods.Classes
        Probabilities (N, C), entropy (N,) and mutual information (N,), the last two in nats.

    Raises
    ------
    TypeError
        If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
    ValueError
        If the task was not learned, or ``x`` has another width or non-finite entries.
    """
    state = context.state
    x = check_inputs(f"{context.name}.predict", x, state.inputs, task_id, state.learned)
    # with a single head, all tasks have the same network and the same noise
    task_id = 0 if context.settings.single_head else task_id
    if task_id not in predictors:
        predictors[task_id] = predictor(context, task_id)
    network, vector = predictors[task_id]
    return prediction.predict(
        network,
        vector,
        {},
        x,
        context.settings.prediction_samples,
        context.key("predict", task_id),
        context.backend,
    )


@documented_learner
class Horseshoe(Saved):
    """Learner that applies Bayes' rule task by task to weights and to their horseshoe scales.

    Ghosh et al. (2018), "Structured Variational Learning of Bayesian Neural Networks with Horseshoe
    Priors".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``mask{t}.{layer}``, the packed bits
        of the units or weights that task t uses; with a single head, those of the last task only.
    refined : dict of int to tuple
        Networks used for predictions, by task; made at the first prediction.
    """

    settings_type = Settings
    model_type = HorseshoeClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = mean_probabilities
    predict_classes = predicting_classes(predict_classes)

    def masks(self, task_id):
        """Return the hard masks of a learned task.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        masks : tuple of ndarray of bool, shape (D, K)
            One mask per hidden layer, from the inputs to the outputs; True keeps the weight.  With
            scales of units, whole columns are on or off.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer.
        ValueError
            If the task was not learned.
        """
        check_task_id("horseshoe.masks", task_id, self.learned)
        return tuple(masks(self.context, task_id).values())
