r"""RCL, reinforced continual learning: a controller learns how many units to add for each task.

Xu and Zhu (2018), "Reinforced Continual Learning".  The first task trains a plain network.  For
every later task a controller (:mod:`ibpcl.models.controller`) chooses how many units each hidden
layer gets.  In the grown network all old parameters are fixed, and the new ones, with a new head,
are trained:

.. math::

    \theta_t = \arg\min_{\theta \setminus \theta_{t - 1}}\; -\frac1{N_t} \sum_n \log p(y_n | x_n,
        \theta).

The reward of the choice :math:`a` is the accuracy on held-out examples of the task minus the cost
of the units,

.. math:: R(a) = \text{accuracy} - \gamma \sum_l a_l.

The controller learns from it by REINFORCE, with its value as the baseline.  After some trials the
network with the largest reward is kept.  A task is predicted with the network as it was after that
task, a corner of the grown one, and with its own head.  So nothing is forgotten by construction,
and memory grows.

Every trial has the same initial parameters and order of examples, so the reward is a function of
the choice.  A choice that was tried before gets its reward without training.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl import adam
from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import Saved
from ibpcl.data.subsets import with_validation
from ibpcl.errors import TrainingError
from ibpcl.evaluation.metrics import accuracy
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.growing import continued, known
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
from ibpcl.models.controller import Controller
from ibpcl.noise import Key, generator, uniform
from ibpcl.options import option

# Noise streams of the controller, distinct from those of the network.
CONTROLLER_STREAM = 100
CHOICE_STREAM = 101


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of RCL."""

    method = "rcl"

    single_head: bool = option(
        False,
        "Always false: each task is predicted with its own network and head.",
        choices=(False,),
    )
    network: str = option("", "Always empty: units are added to dense layers.", choices=("",))
    epochs: int = option(10, "Epochs of the first task, and of each trial of a later one.")
    trials: int = option(
        10, "Choices that the controller makes for each task after the first.", at_least=1
    )
    most_units: int = option(
        29, "Largest number of units that a hidden layer gets for a task.", at_least=0
    )
    unit_cost: float = option(
        0.0001, "Cost gamma of each added unit, in units of accuracy (0 .. 1).", at_least=0
    )
    held_out: float = option(
        0.1,
        "Share of a task's training examples held out to compute the rewards of its trials.",
        above=0,
        below=1,
    )
    controller_units: int = option(100, "Width of the controller's two LSTM layers.", at_least=1)
    controller_rate: float = option(0.01, "Learning rate of the controller (Adam).", at_least=0)
    value_rate: float = option(
        0.01, "Learning rate of the value, the baseline of the controller (Adam).", at_least=0
    )


class Trial(NamedTuple):
    """Result of one trial: a trained network and its reward.

    Attributes
    ----------
    reward : float
        Accuracy on the held-out examples minus the cost of the units.
    added : ndarray of int, shape (L,)
        Number of units added to each hidden layer.
    network : ibpcl.models.plain.PlainNetwork
        The grown network.
    vector : ndarray, shape (P,)
        Its trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """

    reward: float
    added: np.ndarray
    network: object
    vector: np.ndarray
    history: list


def grow(context, task, added):
    """Add units to the network of the last task, and train only the new parameters.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task to learn.
    added : ndarray of int, shape (L,)
        Number of units added to each hidden layer, >= 0.

    Returns
    -------
    network : ibpcl.models.plain.PlainNetwork
        The grown network.
    vector : ndarray, shape (P,)
        Its parameters; the old ones are unchanged, bit for bit.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    hidden = np.array(context.hidden(context.state.learned - 1)) + added
    network = context.next_network(task.outputs, tuple(hidden.tolist()))
    vector, history = train(
        context,
        network,
        continued(context, network),
        Data(task.x_train, task.y_train),
        held=known(context, network),
    )
    return network, vector, history


def split_off(context, task):
    """Return a task without its held-out examples, which become its test set.

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
            f"rcl: held_out = {share} of the {len(task.x_train)} training examples of task "
            f"{task.name!r} leaves no examples for training or for the reward; change held_out, or "
            "give the task more examples"
        ) from error


@on_one_thread
def search(context, task):
    """Run all trials of a task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task to learn.

    Returns
    -------
    best : Trial
        The first trial with the largest reward.
    trials : ndarray, shape (trials, L + 1)
        For each trial, the number of units added to each layer, and the reward.
    """
    settings = context.settings
    t = context.state.learned
    split = split_off(context, task)
    controller = Controller(
        len(settings.hidden), settings.most_units + 1, settings.controller_units
    )
    value = controller.layout.block("value")
    rates = np.full(controller.layout.size, settings.controller_rate)
    rates[value] = settings.value_rate
    vector = controller.initial(generator(Key(context.seed, t, 0, CONTROLLER_STREAM)))
    state = adam.start(vector)
    rows = []
    rewards = {}
    best = None
    for number in range(settings.trials):
        noise = uniform(Key(context.seed, t, number, CHOICE_STREAM), controller.layers, np.float64)
        added = controller.sample(vector, noise)
        choice = tuple(added.tolist())
        if choice not in rewards:
            trial = tried(context, split, added)
            rewards[choice] = trial.reward
            if best is None or trial.reward > best.reward:
                best = trial
        reward = rewards[choice]
        # the first reward sets the level of the baseline, so it favors no choice
        if number == 0:
            vector[value] = reward
        baseline = controller.value(vector)
        _, cache = controller.loss(vector, added[None], np.array([reward]), baseline)
        vector, state = adam.update(vector, controller.loss_vjp(1.0, cache), state, rates)
        rows.append([*choice, reward])
    return best, np.array(rows)


def tried(context, task, added):
    """Return the result of training with added units.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task, its held-out examples as test set (:func:`split_off`).
    added : ndarray of int, shape (L,)
        Number of units added to each hidden layer.

    Returns
    -------
    trial : Trial
        The trained network and its reward.
    """
    network, vector, history = grow(context, task, added)
    correct = accuracy(network.predict(vector, task.x_test, context.backend), task.y_test)
    reward = correct - context.settings.unit_cost * added.sum()
    return Trial(reward, added, network, vector, history)


@documented_step
def learn_task(context, task):
    """Fit the first network, or search for the network of the next task."""
    context = accept(context, task)
    t = context.state.learned
    memory = context.state.memory
    if t == 0:
        network = context.next_network(task.outputs)
        vector = start(context, network, task)
        vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    else:
        best, trials = search(context, task)
        _, _, network, vector, history = best
        memory = memory | {f"trials{t}": trials}
    memory = memory | {f"widths{t}": np.array(network.hidden)}
    return keep(context, network, vector, memory), history


@documented_learner
class RCL(Saved):
    """Learner with reinforced continual learning: a controller chooses how much the network grows.

    Xu and Zhu (2018), "Reinforced Continual Learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``widths{s}``, the
        units of each hidden layer after task s, and ``trials{s}``, one row per trial: the number of
        units added to each layer, then the reward.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
