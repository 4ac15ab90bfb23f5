r"""RCL, reinforced continual learning: a controller tries how many units to add for a task; nothing
old ever moves.

Xu and Zhu (2018), "Reinforced Continual Learning".  The first task trains a plain network.  For
every later task a controller (:mod:`ibpcl.models.controller`) chooses how many units each hidden
layer gets; in the grown network all parameters of the old one stay as they are, and the new ones
are trained, with a new head,

.. math::

    \theta_t = \arg\min_{\theta \setminus \theta_{t - 1}}\; -\frac1{N_t} \sum_n \log p(y_n | x_n,
        \theta).

The reward of the choice :math:`a` is the accuracy on held-out examples of the task, less what units
cost,

.. math:: R(a) = \text{accuracy} - \gamma \sum_l a_l,

and the controller learns from it by REINFORCE, with its value as the baseline.  After some trials
the network with the largest reward is kept.  A task is predicted with the network that there was
after it, a corner of the grown one, and its own head: forgetting is zero by construction, and
memory grows.

Every trial has the same start and order of examples, so the reward is a function of the choice, and
a choice that was tried before is rewarded without training.
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
from ibpcl.methods.growing import continued, known
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    predict,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models.controller import Controller
from ibpcl.noise import Key, generator, uniform
from ibpcl.options import option

# Streams of the controller's noise, apart from those of the network.
CONTROLLER_STREAM = 100
CHOICE_STREAM = 101


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of RCL."""

    method = "rcl"

    single_head: bool = option(
        False, "A task is predicted with its own network and head.", choices=(False,)
    )
    epochs: int = option(10, "Epochs of the first task, and of each trial of a later one.")
    trials: int = option(
        10, "Choices that the controller makes for each task after the first.", at_least=1
    )
    most_units: int = option(
        29, "The most units that a hidden layer gets for a task; the least is 0.", at_least=0
    )
    unit_cost: float = option(
        0.0001, "Cost of each added unit in the reward, as accuracy (0 ... 1).", at_least=0
    )
    held_out: float = option(
        0.1,
        "Share of a task's training examples that its trials are rewarded on.",
        above=0,
        below=1,
    )
    controller_units: int = option(100, "Width of the controller's two LSTM layers.", at_least=1)
    controller_rate: float = option(0.01, "Adam's learning rate of the controller.", at_least=0)
    value_rate: float = option(
        0.01, "Adam's learning rate of the value, the controller's baseline.", at_least=0
    )


class Trial(NamedTuple):
    """A network that was tried for a task.

    Attributes
    ----------
    reward : float
        Accuracy on the held-out examples, less what the units cost.
    added : ndarray of int
        Units that were added to each hidden layer.
    network : ibpcl.models.plain.PlainNetwork
    vector : ndarray, shape (P,)
    history : list of ibpcl.inference.loop.Record
    """

    reward: float
    added: np.ndarray
    network: object
    vector: np.ndarray
    history: list


def grow(context, task, added):
    """Add units to the network of the last task and train them, and nothing else, on a task.

    Returns
    -------
    network : ibpcl.models.plain.PlainNetwork
    vector : ndarray, shape (P,)
        Those of the old network are the same, bit for bit.
    history : list of ibpcl.inference.loop.Record
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
    """Return the task without its held-out examples, which are its test set."""
    share = context.settings.held_out
    try:
        return with_validation([task], share, context.seed)[0]
    except ValueError as error:  # one side would be empty
        raise TrainingError(
            f"rcl: held_out = {share} of the {len(task.x_train)} training examples of task "
            f"{task.name!r} leaves none to train on, or none to reward trials on; change "
            "held_out, or give the task more examples"
        ) from error


@on_one_thread
def search(context, task):
    """Make all trials of a task.

    Returns
    -------
    best : Trial
        The first of those with the largest reward.
    trials : ndarray, shape (trials, L + 1)
        The units that each trial added to each layer, and its reward.
    """
    settings = context.settings
    t = context.state.learned
    parts = split_off(context, task)
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
            trial = tried(context, parts, added)
            rewards[choice] = trial.reward
            if best is None or trial.reward > best.reward:
                best = trial
        reward = rewards[choice]
        # the first reward says where rewards are, not what is good
        if number == 0:
            vector[value] = reward
        baseline = controller.value(vector)
        _, cache = controller.loss(vector, added[None], np.array([reward]), baseline)
        vector, state = adam.update(vector, controller.loss_vjp(1.0, cache), state, rates)
        rows.append([*choice, reward])
    return best, np.array(rows)


def tried(context, parts, added):
    """Train a network with added units, and return it with its reward on the held-out examples."""
    network, vector, history = grow(context, parts, added)
    right = accuracy(network.predict(vector, parts.x_test, context.backend), parts.y_test)
    reward = right - context.settings.unit_cost * added.sum()
    return Trial(reward, added, network, vector, history)


def learn_task(context, task):
    """Fit the first network, or search for the next one; return the new state and the history."""
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


class RCL(Saved):
    """Learn tasks in a network that grows; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``widths{s}``, the units of each hidden layer after task s, and
    ``trials{s}``, one row per trial: the units that it added to each layer, then its reward.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return predict(self.context, self.assemble, x, task_id)
