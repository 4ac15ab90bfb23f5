r"""SI, synaptic intelligence: each weight adds up, while it learns, how much it helped.

Zenke, Poole and Ganguli (2017), "Continual Learning Through Synaptic Intelligence", Eqs. 3 to 5.
Along the path of training, a weight's part in the fall of the loss L (of the data alone) is

.. math:: \omega_i = -\sum_{\text{steps}} \partial_i L\, \Delta\theta_i,

and after task s it counts for :math:`\Omega_i \leftarrow \Omega_i + \max(0, \omega_i) /
((\theta_{s, i} - \theta_{s - 1, i})^2 + \xi)`.  The loss of a later task is, in nats per example,

.. math:: L_t + c \sum_i \Omega_i (\theta_i - \theta_{t - 1, i})^2.

No pass over the data is needed at a task's end.  A weight can have :math:`\omega_i < 0`, which
would make the penalty unbounded below; it counts as 0, which the paper does not say.
"""

from dataclasses import dataclass

import numpy as np

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
    pull,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of synaptic intelligence."""

    method = "si"

    weight: float = option(1.0, "Weight c of the penalty, without a half.", at_least=0)
    damping: float = option(
        0.001, "Xi, which bounds the importance of a weight that hardly moved.", above=0
    )


def penalty(vector, places, memory, weight):
    """Pull what mattered back to where the last task ended.

    Parameters
    ----------
    vector : ndarray, shape (P,)
    places : slice or ndarray of int
        The parameters that tasks share.
    memory : dict of str to ndarray
        What SI remembers, see :class:`SI`; empty for the first task.
    weight : float
        The weight c times the number of examples, because the penalty is for the whole task.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,), or None
    """
    if not memory:
        return 0.0, None
    return pull(vector, places, (memory["anchor"], 2 * weight * memory["importance"]))


class PathIntegral:
    """The sum over the steps of minus the gradient times the step, for each parameter.

    Parameters
    ----------
    places : slice or ndarray of int
        The parameters that tasks share.

    Attributes
    ----------
    total : ndarray or float
        How much each parameter has lowered the loss so far, in nats per example; 0.0 before the
        first step.
    """

    def __init__(self, places):
        self.places = places
        self.total = 0.0
        self.before = None
        self.slope = None

    def see(self, vector, gradient):
        """Note where a step starts, and the gradient (P,) of the loss of the data there."""
        self.before = vector[self.places].copy()
        self.slope = gradient[self.places].copy()

    def add(self, vector):
        """Add the step that has led to ``vector`` (P,)."""
        self.total = self.total - self.slope * (vector[self.places] - self.before)


def remember(memory, settings, began, shared, path):
    """Return the memory after a task: its path integral becomes importance.

    Parameters
    ----------
    memory : dict of str to ndarray
    settings : Settings or ImageSettings
    began, shared : ndarray
        The shared parameters at the start and at the end of the task.
    path : ndarray
        The path integral of each of them.
    """
    moved = shared - began
    gained = np.maximum(path, 0) / (moved * moved + settings.damping)
    importance = memory.get("importance", 0) + gained
    return {"anchor": shared, "importance": importance.astype(shared.dtype)}


def learn_task(context, task):
    """Train on a task while the path integral adds up; return the new state and the history."""
    context = accept(context, task)
    settings = context.settings
    memory = context.state.memory
    network = context.next_network(task.outputs)
    places = context.places(network)
    weight = settings.weight * len(task.x_train)
    path = PathIntegral(places)

    def pulled(vector, gradient):
        path.see(vector, gradient)
        return penalty(vector, places, memory, weight)

    def add_step(step, vector, state, rates):
        path.add(vector)
        return vector, state, rates

    began = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, began, data, penalty=pulled, adapt=add_step)
    memory = remember(memory, settings, began[places], vector[places].copy(), path.total)
    return keep(context, network, vector, memory), history


class SI(Saved):
    """Learn tasks with intelligent synapses; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``anchor``, where the last task ended, and ``importance``, both of
    what tasks share.
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


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """The settings of synaptic intelligence for images."""

    method = "vae_si"
    weight: float = option(1.0, "Weight c of the penalty, without a half.", at_least=0)
    damping: float = option(
        0.001, "Xi, which bounds the importance of a weight that hardly moved.", above=0
    )


class ImageSI(Saved, Generative):
    """Learn generative models with intelligent synapses; parameters as in :class:`Saved`."""

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)
