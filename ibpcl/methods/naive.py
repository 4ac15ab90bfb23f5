r"""Naive training: the network continues with each task, and nothing protects what it knew.

Each task minimizes its own loss from where the last one ended,

.. math::

    \theta_t = \arg\min_\theta\; -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta), \qquad
    \text{started at } \theta_{t - 1},

also called fine-tuning: "Naive" in the tables of Kumar et al. (2021), Sec. 6.  It shows how much is
forgotten, or, with one head per task, how little.
"""

from dataclasses import dataclass

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.images import AutoencoderSettings, Generative, PlainAutoencoder
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


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of naive training."""

    method = "naive"


def learn_task(context, task):
    """Train on a task without protection; return the new state and the history."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    return keep(context, network, vector), history


class Naive(Saved):
    """Learn tasks in sequence without protection; parameters as in :class:`Saved`."""

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return predict(self.context, self.assemble, x, task_id)


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """The settings of naive training for images."""

    method = "vae_naive"


class ImageNaive(Saved, Generative):
    """Learn generative models without protection; parameters as in :class:`Saved`."""

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)
