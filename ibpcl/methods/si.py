r"""SI, synaptic intelligence: each parameter accumulates how much it reduces the loss.

Zenke, Poole and Ganguli (2017), "Continual Learning Through Synaptic Intelligence", Eqs. 3 to 5.
Along the trajectory of training, a parameter's part in the decrease of the loss L (of the data
alone) is

.. math:: \omega_i = -\sum_{\text{steps}} \partial_i L\, \Delta\theta_i,

and after task s its importance grows to :math:`\Omega_i \leftarrow \Omega_i + \max(0, \omega_i) /
((\theta_{s, i} - \theta_{s - 1, i})^2 + \xi)`.  The loss of a later task is, in nats per example,

.. math:: L_t + c \sum_i \Omega_i (\theta_i - \theta_{t - 1, i})^2.

No pass over the data is needed at the end of a task.  A parameter can have :math:`\omega_i < 0`,
which would make the penalty unbounded below.  It counts as 0 here; the paper does not mention this
case.
"""

from dataclasses import dataclass

import numpy as np

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
    pull,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of synaptic intelligence for classification."""

    method = "si"

    weight: float = option(1.0, "Strength c of the penalty, which has no factor 1/2.", at_least=0)
    damping: float = option(
        0.001, "Damping xi, which bounds the importance of a weight that hardly moved.", above=0
    )


def penalty(vector, places, memory, weight):
    """Return the penalty that pulls important parameters back to the end of the last task.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Current parameters.
    places : slice or ndarray of int
        Positions of the shared parameters, from ``context.places(network)``.
    memory : dict of str to ndarray
        ``anchor`` and ``importance`` of the shared parameters; empty before the first task.
    weight : float
        Strength c times the number of examples, because the penalty is for the whole task.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,), or None
        Gradient of the penalty; None before the first task.
    """
    if not memory:
        return 0.0, None
    return pull(vector, places, (memory["anchor"], 2 * weight * memory["importance"]))


class PathIntegral:
    """Running sum of minus the gradient times the step, for each shared parameter.

    Parameters
    ----------
    places : slice or ndarray of int
        Positions of the shared parameters.

    Attributes
    ----------
    places : slice or ndarray of int
        Positions of the shared parameters.
    total : ndarray, shape (Q,), or float
        Decrease of the loss due to each parameter so far, in nats per example; 0.0 before the first
        step.
    before : ndarray, shape (Q,), or None
        Shared parameters at the start of the current step.
    slope : ndarray, shape (Q,), or None
        Gradient of the loss of the data at the start of the current step.
    """

    def __init__(self, places):
        self.places = places
        self.total = 0.0
        self.before = None
        self.slope = None

    def see(self, vector, gradient):
        """Store the start of a step and the gradient there.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters before the step.
        gradient : ndarray, shape (P,)
            Gradient of the loss of the data at ``vector``, in nats per example.
        """
        self.before = vector[self.places].copy()
        self.slope = gradient[self.places].copy()

    def add(self, vector):
        """Add the step that ended at ``vector`` to the sum.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters after the step.
        """
        self.total = self.total - self.slope * (vector[self.places] - self.before)


def remember(memory, settings, began, shared, path):
    """Return the memory after a task, with the path integral turned into importance.

    Parameters
    ----------
    memory : dict of str to ndarray
        Memory before the task.
    settings : Settings or ImageSettings
        ``damping`` is read.
    began : ndarray, shape (Q,)
        Shared parameters at the start of the task.
    shared : ndarray, shape (Q,)
        Shared parameters at the end of the task.
    path : ndarray, shape (Q,)
        Path integral of each shared parameter, in nats per example.

    Returns
    -------
    memory : dict of str to ndarray
        ``anchor`` and ``importance``, each of shape (Q,).
    """
    moved = shared - began
    gained = np.maximum(path, 0) / (moved * moved + settings.damping)
    importance = memory.get("importance", 0) + gained
    return {"anchor": shared, "importance": importance.astype(shared.dtype)}


@documented_step
def learn_task(context, task):
    """Learn one more task with synaptic intelligence."""
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


@documented_learner
class SI(Saved):
    """Learner with synaptic intelligence.

    Zenke et al. (2017), "Continual Learning Through Synaptic Intelligence".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``anchor``, the shared
        parameters after the last task, and their ``importance``.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(AutoencoderSettings):
    """Settings of synaptic intelligence for images."""

    method = "vae_si"
    weight: float = option(1.0, "Strength c of the penalty, which has no factor 1/2.", at_least=0)
    damping: float = option(
        0.001, "Damping xi, which bounds the importance of a weight that hardly moved.", above=0
    )


@documented_learner
class ImageSI(Saved, Generative):
    """Learner of generative models with synaptic intelligence in the shared decoder layers.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``anchor``, the shared
        parameters after the last task, and their ``importance``.
    """

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context
    learn = learning(learn_task)
