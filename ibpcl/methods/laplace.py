r"""Online Laplace: a Gaussian around the last solution, whose precision adds up, is the next task's
prior.

Ritter, Botev and Barber (2018), "Online Structured Laplace Approximations For Overcoming
Catastrophic Forgetting", Eqs. 7 to 9, here with a diagonal precision.  From the prior :math:`\mu_0
= 0, \Lambda_0 = \sigma_0^{-2}`,

.. math:: \mu_t = \arg\max_\theta \sum_n \log p(y_n | x_n, \theta)
          - \frac\lambda2 \sum_i \Lambda_{t - 1, i} (\theta_i - \mu_{t - 1, i})^2, \qquad
          \Lambda_t = \Lambda_{t - 1} + N_t F^t,

with F the mean Fisher information at :math:`\mu_t`: for the softmax this is the diagonal of the
generalized Gauss-Newton matrix.  At :math:`\lambda = 1` this is Bayes' rule, so there is nothing to
tune; it differs from online EWC in that a task counts by its examples, and in the first prior,
which new heads have too.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.ewc import ImageInformation, Information, information
from ibpcl.methods.images import Generative, PlainAutoencoder
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
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
class Settings(Information):
    """The settings of online Laplace."""

    method = "laplace"

    weight: float = option(1.0, "Lambda, the weight of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the first prior of a weight.", above=0
    )


def penalty(vector, places, memory, settings):
    """Return the negative logarithm of the prior up to a constant, and its gradient.

    The prior is the last posterior for what tasks share, and the first prior for what is new.

    Parameters
    ----------
    vector : ndarray, shape (P,)
    places : slice or ndarray of int
        The parameters that tasks share.
    memory : dict of str to ndarray
        What is remembered, see :class:`Laplace`; empty for the first task.
    settings : Settings or ImageSettings

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,)
    """
    mean = np.zeros_like(vector)
    precision = np.full_like(vector, settings.prior_sigma**-2)
    if memory:
        mean[places] = memory["mean"]
        precision[places] = memory["precision"]
    return pull(vector, slice(None), (mean, settings.weight * precision))


def remember(memory, settings, shared, gained):
    """Return the memory after a task: the solution, and the precision with the task's information.

    Parameters
    ----------
    memory : dict of str to ndarray
    settings : Settings or ImageSettings
    shared : ndarray
        The solution, of what tasks share.
    gained : ndarray
        The Fisher information of all examples of the task.
    """
    before = memory.get("precision", np.full_like(gained, settings.prior_sigma**-2))
    return {"mean": shared, "precision": (before + gained).astype(gained.dtype)}


def learn_task(context, task):
    """Train on a task under the Gaussian of the last one; return the new state and the history."""
    context = accept(context, task)
    settings = context.settings
    memory = context.state.memory
    network = context.next_network(task.outputs)
    places = context.places(network)

    def prior(vector, gradient):
        return penalty(vector, places, memory, settings)

    vector = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, penalty=prior)
    gained = len(task.x_train) * information(context, network, vector, task)
    memory = remember(memory, settings, vector[places].copy(), gained)
    return keep(context, network, vector, memory), history


class Laplace(Saved):
    """Learn tasks by Bayes' rule for Gaussians around solutions; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``mean`` and ``precision`` of what tasks share.
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
class ImageSettings(ImageInformation):
    """The settings of online Laplace for images."""

    method = "vae_laplace"
    weight: float = option(1.0, "Lambda, the weight of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the first prior of a weight.", above=0
    )


class ImageLaplace(Saved, Generative):
    """Learn generative models by Bayes' rule for Gaussians; parameters as in :class:`Saved`."""

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)
