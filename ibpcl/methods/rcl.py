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
from operator import itemgetter

import numpy as np

from ibpcl import adam
from ibpcl.blas_threads import on_one_thread
from ibpcl.data.subsets import with_validation
from ibpcl.errors import TrainingError
from ibpcl.evaluation.metrics import accuracy
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods.growing import Growing
from ibpcl.methods.sequential import SequentialSettings
from ibpcl.models.controller import Controller
from ibpcl.models.elbo import GRADIENT
from ibpcl.noise import Key, generator, uniform
from ibpcl.options import option

# Keys of the controller's noise, apart from those of Sequential.
CONTROLLER_STREAM = 100
CHOICE_STREAM = 101


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


class RCL(Growing):
    """Learn tasks in a network that grows; parameters and attributes as in
    :class:`ibpcl.methods.growing.Growing`.

    ``memory`` has ``trials{s}``, too, a row a trial: the units that it added to each layer, then
    its reward.
    """

    settings_type = Settings

    def train(self, task, progress):
        """Fit the first network, or search for the next one; return its parameters and the history
        of its training.
        """
        added = 0
        if self.learned == 0:
            vector, history = super().train(task, progress)
        else:
            added, vector, history = self.search(task, progress)
        self.memory[f"widths{self.learned}"] = np.array(self.hidden) + added
        return vector, history

    @on_one_thread
    def search(self, task, progress=None):
        """Make all trials of a task; return the units that the best one added, its parameters and
        its history.

        The best one is the first of those with the largest reward.
        """
        settings = self.settings
        t = self.learned
        try:
            # what is held out is its test set
            parts = with_validation([task], settings.held_out, self.seed)[0]
        except ValueError as error:  # one side would be empty
            raise TrainingError(
                f"rcl: held_out = {settings.held_out} of the {len(task.x_train)} training "
                f"examples of task {task.name!r} leaves none to train on, or none to reward "
                "trials on; change held_out, or give the task more examples"
            ) from error
        controller = Controller(
            len(settings.hidden), settings.most_units + 1, settings.controller_units
        )
        value = controller.layout.block("value")
        rates = np.full(controller.layout.size, settings.controller_rate)
        rates[value] = settings.value_rate
        vector = controller.initial(generator(Key(self.seed, t, 0, CONTROLLER_STREAM)))
        state = adam.start(vector)
        trials = []
        rewards = {}
        best = (-np.inf,)
        for trial in range(settings.trials):
            noise = uniform(Key(self.seed, t, trial, CHOICE_STREAM), controller.layers, np.float64)
            added = controller.sample(vector, noise)
            choice = tuple(added.tolist())
            if choice not in rewards:
                network, fitted, history = self.grow(parts, added, progress)
                right = accuracy(network.predict(fitted, parts.x_test, self.backend), parts.y_test)
                rewards[choice] = right - settings.unit_cost * added.sum()
                best = max(best, (rewards[choice], added, fitted, history), key=itemgetter(0))
            # the first reward says where rewards are, not what is good
            if trial == 0:
                vector[value] = rewards[choice]
            _, cache = controller.loss(
                vector, added[None], np.array([rewards[choice]]), controller.value(vector)
            )
            vector, state = adam.update(vector, controller.loss_vjp(1.0, cache), state, rates)
            trials.append([*choice, rewards[choice]])
        self.memory[f"trials{t}"] = np.array(trials)
        return best[1:]

    def grow(self, task, added, progress=None):
        """Add units to the network of the last task and train them, and nothing else, on a task.

        Returns the network, its parameters (P,), of which those of the old network are the same bit
        for bit, and the history.
        """
        network = self.network(task.outputs, tuple((np.array(self.hidden) + added).tolist()))
        weighted = Weighted(GRADIENT, held=self.known(network))
        return network, *self.maximize(
            network,
            self.start(network),
            None,
            Data(task.x_train, task.y_train),
            self.how(progress),
            weighted,
        )
