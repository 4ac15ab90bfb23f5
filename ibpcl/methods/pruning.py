r"""Pruning: each task leaves the units free that it hardly uses, and freezes the others.

Golkar, Kagan and Cho (2019), "Continual Learning via Neural Pruning".  Task t minimizes, over the
weights into free units and its head,

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta) + \lambda \sum_i |\theta_i| .

Afterwards a free unit k is *in use* if its mean activation over the training inputs is above a
threshold, :math:`\frac1{N_t} \sum_n h_k(x_n) > \vartheta`.  All others are pruned:

1. weights from pruned units to units in use, and to the head, are set to 0;
2. weights into units in use are frozen for ever;
3. weights into pruned units are drawn afresh for the next task, which may read every unit.

No unit in use ever receives anything that a later task changes.  So the predictions for a task stay
the same, bit for bit.

**Graceful forgetting.**  A larger threshold costs the current task some accuracy, and leaves more
units to later ones.  The threshold is the largest with which the accuracy on held-out training
examples is at most a margin m below that of the network before pruning.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import Saved
from ibpcl.data.subsets import with_validation
from ibpcl.errors import TrainingError
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option

FREE = np.int16(-1)  # in place of the task that took a unit into use
# A mean activation is never negative, so every unit is above this threshold.
PRUNE_NOTHING = -1.0
# Thresholds that are tried, at most; each costs one prediction of the held-out examples.
MOST_THRESHOLDS = 100


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of pruning."""

    method = "pruning"

    single_head: bool = option(
        False,
        "Always false: later tasks would change a single head, and nothing would protect it.",
        choices=(False,),
    )
    network: str = option(
        "", "Always empty: single units of dense layers are pruned.", choices=("",)
    )
    sparsity: float = option(
        0.0001, "Strength lambda of the L1 penalty, in nats per example.", at_least=0
    )
    margin: float = option(
        0.005,
        "Accuracy m (0 .. 1) that pruning may cost a task on its held-out examples.",
        at_least=0,
        at_most=1,
    )
    held_out: float = option(
        0.1,
        "Share of a task's training examples held out to choose the threshold.",
        above=0,
        below=1,
    )
    threshold: float | None = option(
        None,
        "Mean activation at or below which a unit is pruned; none for the largest that keeps the "
        "margin. If it is given, no examples are held out.",
    )


# The L1 penalty.


def absolute(weights, strength):
    r"""Compute a weighted sum of absolute values.

    .. math:: \sum_i \lambda_i |w_i|

    Parameters
    ----------
    weights : ndarray, shape (P,)
        Parameters w.
    strength : ndarray, shape (P,)
        Strengths :math:`\lambda_i`, >= 0; a constant.

    Returns
    -------
    total : float
        The sum, in the units of the strengths.
    cache : tuple
        Input of :func:`absolute_vjp`.

    Examples
    --------
    >>> float(absolute(np.array([1.0, -3.0]), np.array([1.0, 2.0]))[0])
    7.0
    """
    return np.abs(weights) @ strength, (weights, strength)


def absolute_vjp(dtotal, cache):
    r"""Pull the gradient at the sum back to ``weights``: :math:`\lambda_i \operatorname{sign} w_i`.

    At 0, where the absolute value has a kink, it returns the subgradient 0.
    """
    weights, strength = cache
    return dtotal * strength * np.sign(weights)


# Units and their weights.


def by_layer(network, units):
    """Return a vector over all hidden units in parts, one per hidden layer.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network with K hidden units.
    units : ndarray, shape (K,)
        One value per unit, from the first hidden layer to the last.

    Returns
    -------
    layers : list of ndarray
        One part per hidden layer.
    """
    return np.split(units, np.cumsum(network.hidden)[:-1])


def owners(context):
    """Return the number of the task that first used each hidden unit.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the tasks: ``learner.context`` of a learner.

    Returns
    -------
    owner : ndarray of int16, shape (K,)
        The K units of all hidden layers; ``FREE`` for a unit that no task uses.
    """
    free = np.full(sum(context.settings.hidden), FREE)
    return context.state.memory.get("owner", free).copy()


def used_units(context, task_id=None):
    """Return which hidden units are in use after a task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the tasks: ``learner.context`` of a learner.
    task_id : int, optional
        A learned task; the last one if not given.

    Returns
    -------
    used : ndarray of bool, shape (K,)
        The K units of all hidden layers; all False before the first task.
    """
    last = context.state.learned - 1 if task_id is None else task_id
    owner = owners(context)
    return (owner != FREE) & (owner <= last)


def incoming(network, units):
    """Return which parameters lead into some hidden units: columns of weights, and biases.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network with K hidden units.
    units : ndarray of bool, shape (K,)
        The units.

    Returns
    -------
    places : ndarray of bool, shape (P,)
        False for the head.
    """
    places = np.zeros(network.layout.size, bool)
    hidden = network.weights(places)[:-1]
    for (weight, bias), chosen in zip(hidden, by_layer(network, units), strict=True):
        weight[:, chosen] = True
        bias[chosen] = True
    return places


@on_one_thread
def mean_activations(network, vector, x):
    """Return the mean activation of every hidden unit.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network with K hidden units.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs over which the means are taken.

    Returns
    -------
    means : ndarray, shape (K,)
        All >= 0, because the units are rectified.
    """
    means = []
    h = x
    for weight, bias in network.weights(vector)[:-1]:
        h = np.maximum(h @ weight + bias, 0)
        means.append(h.mean(axis=0))
    return np.concatenate(means)


def cut(network, vector, used):
    """Return the parameters without connections from pruned units to units in use.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network with K hidden units.
    vector : ndarray, shape (P,)
        Its parameters.
    used : ndarray of bool, shape (K,)
        Units in use; the others are pruned.  All outputs are in use.

    Returns
    -------
    vector : ndarray, shape (P,)
        A copy with zeros in these places.
    """
    vector = vector.copy()
    sides = [*by_layer(network, used), np.ones(network.outputs, bool)]
    later = network.weights(vector)[1:]
    for (weight, _), (before, after) in zip(later, pairwise(sides), strict=True):
        weight[np.ix_(~before, after)] = 0
    return vector


# Training and pruning.


def split_off(context, task):
    """Return the task with part of its training examples as its test examples.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Gives the setting ``held_out`` and the seed: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The task to split.

    Returns
    -------
    task : ibpcl.continual.task.Task
        Its test examples are the held-out training examples.

    Raises
    ------
    TrainingError
        If no example would be left to train on, or none would be held out.
    """
    share = context.settings.held_out
    try:
        return with_validation([task], share, context.seed)[0]
    except ValueError as error:  # one side would be empty
        raise TrainingError(
            f"pruning: held_out = {share} of the {len(task.x_train)} training examples of task "
            f"{task.name!r} leaves no examples for training or for the threshold; change held_out "
            "or set a threshold, or give the task more examples"
        ) from error


def train_sparsely(context, network, task):
    """Fit the weights into free units and the head of a task, under the L1 penalty.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        Network of the task, from ``context.next_network(task.outputs)``.
    task : ibpcl.continual.task.Task
        The task; its test examples are not used.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters; those into units in use are the same as before.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    NonFiniteError
        If the loss or its gradient becomes infinite or NaN.
    """
    held = incoming(network, used_units(context))
    fresh = context.model.start(context, network, task)
    vector = np.where(held, start(context, network, task), fresh)
    strength = np.where(held, 0, context.settings.sparsity * len(task.x_train))
    strength = strength.astype(vector.dtype)

    def penalty(vector, gradient):
        total, cache = absolute(vector, strength)
        return float(total), absolute_vjp(1.0, cache)

    data = Data(task.x_train, task.targets)
    return train(context, network, vector, data, penalty=penalty, held=held)


def largest_threshold(context, network, vector, means, task):
    """Return the largest threshold that costs at most the margin of accuracy.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        Network of the task.
    vector : ndarray, shape (P,)
        Trained parameters.
    means : ndarray, shape (K,)
        Mean activations, from :func:`mean_activations`.
    task : ibpcl.continual.task.Task
        Its test examples are those held out.

    Returns
    -------
    threshold : float
        The mean activation of a free unit, or ``PRUNE_NOTHING`` if each of them costs more.
    """
    used = used_units(context)

    def accuracy(threshold):
        pruned = cut(network, vector, used | (means > threshold))
        probabilities = network.predict(pruned, task.x_test, context.backend)
        return np.mean(probabilities.argmax(axis=1) == task.y_test)

    candidates = np.unique(means[~used])
    if len(candidates) > MOST_THRESHOLDS:
        ranks = np.linspace(0, len(candidates) - 1, MOST_THRESHOLDS)
        candidates = candidates[ranks.round().astype(int)]
    least = accuracy(PRUNE_NOTHING) - context.settings.margin
    falling = candidates[::-1]
    enough = (threshold for threshold in falling if accuracy(threshold) >= least)
    return next(enough, PRUNE_NOTHING)


@documented_step
def learn_task(context, task):
    """Learn one more task: train, prune, and freeze what is in use."""
    context = accept(context, task)
    threshold = context.settings.threshold
    if threshold is None:
        task = split_off(context, task)
    network = context.next_network(task.outputs)
    vector, history = train_sparsely(context, network, task)
    means = mean_activations(network, vector, task.x_train)
    if threshold is None:
        threshold = largest_threshold(context, network, vector, means, task)
    owner = owners(context)
    owner[(owner == FREE) & (means > threshold)] = context.state.learned
    return keep(context, network, cut(network, vector, owner != FREE), {"owner": owner}), history


@documented_learner
class Pruning(Saved):
    """Learner that prunes the units that a task hardly uses and freezes the others.

    Golkar et al. (2019), "Continual Learning via Neural Pruning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``owner``, for each hidden unit the
        task that took it into use, or -1.

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> learner = Pruning(Settings(hidden=(8,), epochs=1, threshold=0.0), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities

    def used_units(self, task_id=None):
        """Return which hidden units are in use after a task.

        Parameters
        ----------
        task_id : int, optional
            A learned task; the last one if not given.

        Returns
        -------
        used : ndarray of bool, shape (K,)
            The K units of all hidden layers; all False before the first task.
        """
        return used_units(self.context, task_id)
