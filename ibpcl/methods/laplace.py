r"""Online Laplace: the prior of the next task is a Gaussian around the last solution.

Ritter, Botev and Barber (2018), "Online Structured Laplace Approximations For Overcoming
Catastrophic Forgetting", Eqs. 7 to 9, here with a diagonal precision.  From the prior :math:`\mu_0
= 0, \Lambda_0 = \sigma_0^{-2}`,

.. math:: \mu_t = \arg\max_\theta \sum_n \log p(y_n | x_n, \theta)
          - \frac\lambda2 \sum_i \Lambda_{t - 1, i} (\theta_i - \mu_{t - 1, i})^2, \qquad
          \Lambda_t = \Lambda_{t - 1} + N_t F^t,

with the mean Fisher information F at :math:`\mu_t`.  For the softmax, this is the diagonal of the
generalized Gauss-Newton matrix.  With :math:`\lambda = 1` the recursion is Bayes' rule, so there is
nothing to tune.  It differs from online EWC in two ways: a task counts in proportion to its number
of examples, and there is an initial prior, which new heads also have.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.ewc import ImageInformation, Information, information
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.images import Generative, PlainAutoencoder
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
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
class Settings(Information):
    """Settings of online Laplace for classification."""

    method = "laplace"

    weight: float = option(1.0, "Weight lambda of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the prior of a weight before the first task.", above=0
    )


def penalty(vector, places, memory, settings):
    """Return the negative log prior up to a constant, and its gradient.

    The prior is the last posterior for the shared parameters and the initial prior for new ones.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Current parameters.
    places : slice or ndarray of int
        Positions of the shared parameters, from ``context.places(network)``.
    memory : dict of str to ndarray
        ``mean`` and ``precision`` of the shared parameters; empty before the first task.
    settings : Settings or ImageSettings
        ``weight`` and ``prior_sigma`` are read.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,)
        Gradient of the penalty.
    """
    mean = np.zeros_like(vector)
    precision = np.full_like(vector, settings.prior_sigma**-2)
    if memory:
        mean[places] = memory["mean"]
        precision[places] = memory["precision"]
    return pull(vector, slice(None), (mean, settings.weight * precision))


def remember(memory, settings, shared, gained):
    """Return the memory after a task: its solution, and the precision increased by its information.

    Parameters
    ----------
    memory : dict of str to ndarray
        Memory before the task.
    settings : Settings or ImageSettings
        ``prior_sigma`` is read before the first task.
    shared : ndarray, shape (Q,)
        Shared parameters of the solution.
    gained : ndarray, shape (Q,)
        Their Fisher information, summed over all examples of the task.

    Returns
    -------
    memory : dict of str to ndarray
        ``mean`` and ``precision``, each of shape (Q,).
    """
    before = memory.get("precision", np.full_like(gained, settings.prior_sigma**-2))
    return {"mean": shared, "precision": (before + gained).astype(gained.dtype)}


@documented_step
def learn_task(context, task):
    """Learn one more task with online Laplace."""
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


@documented_learner
class Laplace(Saved):
    """Learner with an online Laplace approximation of the posterior.

    Ritter et al. (2018), "Online Structured Laplace Approximations".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``mean`` and
        ``precision`` of the shared parameters.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(ImageInformation):
    """Settings of online Laplace for images."""

    method = "vae_laplace"
    weight: float = option(1.0, "Weight lambda of the prior; 1 is Bayes' rule.", at_least=0)
    prior_sigma: float = option(
        1.0, "Standard deviation sigma_0 of the prior of a weight before the first task.", above=0
    )


@documented_learner
class ImageLaplace(Saved, Generative):
    """Learner of generative models with an online Laplace approximation of the shared layers.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``mean`` and
        ``precision`` of the shared parameters.
    """

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context
    learn = learning(learn_task)
