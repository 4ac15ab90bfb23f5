r"""Naive training: the network continues with each task, without protection of earlier tasks.

Each task minimizes its own loss from where the last task ended,

.. math::

    \theta_t = \arg\min_\theta\; -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta), \qquad
    \text{started at } \theta_{t - 1}.

Also called fine-tuning; "Naive" in the tables of Kumar et al. (2021), Sec. 6.  It shows how much is
forgotten, or how little with one head per task.
"""

from dataclasses import dataclass

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.images import AutoencoderSettings, Generative, PlainAutoencoder
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


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of naive training for classification."""

    method = "naive"


@documented_step
def learn_task(context, task):
    """Learn one more task without protection of the earlier ones."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    return keep(context, network, vector), history


@documented_learner
class Naive(Saved):
    """Learner that trains on tasks in sequence without protection of the earlier ones.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """Settings of naive training for images."""

    method = "vae_naive"


@documented_learner
class ImageNaive(Saved, Generative):
    """Learner of generative models without protection of the earlier ones.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` is empty.
    """

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context
    learn = learning(learn_task)
