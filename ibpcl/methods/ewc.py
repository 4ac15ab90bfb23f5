r"""EWC, elastic weight consolidation: parameters that earlier tasks depend on are anchored.

Kirkpatrick et al. (2017), "Overcoming catastrophic forgetting in neural networks", Eq. 3.  With the
mean Fisher information :math:`F^s` of task s at its solution :math:`\theta_s`, the loss of task t
is, in nats per example,

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta)
          + \frac\lambda2 \sum_{s < t} \sum_i F^s_i (\theta_i - \theta_{s, i})^2.

The variant ``separate`` keeps an anchor and its Fisher information for each task, as above.  The
variant ``online`` keeps only the last anchor and the running sum

.. math:: F \leftarrow \gamma F + F^t

(Schwarz et al., 2018, "Progress & Compress", Sec. 4).  Huszár (2018), "Note on the quadratic
penalties in elastic weight consolidation", explains why a single anchor is the correct Laplace
approximation.  If the posterior were Gaussian, :math:`\lambda = N_s / N_t` would be Bayes' rule,
which is 1 for tasks of equal size.  Only shared parameters are anchored; a head belongs to one
task.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import fisher
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
from ibpcl.noise import generator
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Information(SequentialSettings):
    """Settings of the methods that estimate the Fisher information of a classifier."""

    fisher: str = option(
        "exact",
        "Labels in the Fisher information: all classes by their probability (exact), drawn from "
        "the model (sampled), or those of the data (empirical).",
        choices=fisher.DEFINITIONS,
    )
    fisher_examples: int | None = option(
        2000,
        "Examples for the estimate of the Fisher information; none for all of the task.",
        at_least=1,
    )


@documented
@dataclass(frozen=True, init=False)
class ImageInformation(AutoencoderSettings):
    """Settings of the methods that estimate the Fisher information of a decoder."""

    fisher: str = option(
        "sampled",
        "Pixels in the Fisher information: drawn from the model (sampled), or those of the images "
        "(empirical).",
        choices=fisher.DEFINITIONS_OF_IMAGES,
    )
    fisher_examples: int | None = option(
        2000,
        "Examples for the estimate of the Fisher information; none for all of the task.",
        at_least=1,
    )


def information(context, network, vector, task):
    """Return the mean Fisher information of the shared parameters at the end of a task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Trained parameters.
    task : ibpcl.continual.task.Task
        The task; its training data are used.

    Returns
    -------
    information : ndarray, shape (Q,)
        Diagonal of the Fisher information per example, in squared nats per squared unit of each of
        the Q shared parameters.

    Raises
    ------
    NonFiniteError
        If an entry is infinite or NaN.
    """
    data, rng = examples(context, task)
    diagonal = fisher.diagonal(network, vector, *data, context.settings.fisher, rng)
    return diagonal[context.places(network)].copy()


def examples(context, task):
    """Return the examples for the estimate of the Fisher information.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task.

    Returns
    -------
    data : ibpcl.inference.objectives.Data
        At most ``settings.fisher_examples`` training examples of the task.
    rng : numpy.random.Generator
        Source of the targets that are drawn.
    """
    limit = context.settings.fisher_examples
    rng = generator(context.key("fisher"))
    data = Data(task.x_train, task.targets)
    if limit is not None and limit < len(data.x):
        rows = np.sort(rng.choice(len(data.x), limit, replace=False))
        data = Data(data.x[rows], data.y[rows])
    return data, rng


@documented
@dataclass(frozen=True, init=False)
class Settings(Information):
    """Settings of EWC for classification."""

    method = "ewc"

    weight: float = option(
        100.0,
        "Strength lambda of the penalty, lambda / 2 times the mean Fisher information.",
        at_least=0,
    )
    variant: str = option(
        "online",
        "One anchor per task (separate), or the last anchor and a sum of Fisher information "
        "(online).",
        choices=("separate", "online"),
    )
    decay: float = option(
        1.0,
        "Decay gamma of the sum of Fisher information when a task is added (online).",
        at_least=0,
        at_most=1,
    )


def penalty(vector, places, memory, weight):
    """Return the penalty of all anchors and its gradient.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        Current parameters.
    places : slice or ndarray of int
        Positions of the shared parameters, from ``context.places(network)``.
    memory : dict of str to ndarray
        ``anchor{s}`` and ``fisher{s}`` of each task, or ``anchor`` and ``fisher``; empty before the
        first task.
    weight : float
        Lambda times the number of examples, because the penalty is for the whole task.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,)
        Zero outside ``places``.
    """
    anchors = [name for name in memory if name.startswith("anchor")]
    pulls = [(memory[name], weight * memory[name.replace("anchor", "fisher")]) for name in anchors]
    return pull(vector, places, *pulls)


def remember(memory, settings, shared, fisher_information, t):
    """Return the memory with one more task.

    Parameters
    ----------
    memory : dict of str to ndarray
        Memory before the task.
    settings : Settings or ImageSettings
        ``variant`` and ``decay`` are read.
    shared : ndarray, shape (Q,)
        Shared parameters after the task: the new anchor.
    fisher_information : ndarray, shape (Q,)
        Their mean Fisher information.
    t : int
        Number of the task.

    Returns
    -------
    memory : dict of str to ndarray
        A new dictionary.
    """
    if settings.variant == "separate":
        return memory | {f"anchor{t}": shared, f"fisher{t}": fisher_information}
    before = memory.get("fisher", np.zeros_like(fisher_information))
    total = (settings.decay * before + fisher_information).astype(fisher_information.dtype)
    return memory | {"anchor": shared, "fisher": total}


@documented_step
def learn_task(context, task):
    """Learn one more task with EWC."""
    context = accept(context, task)
    settings = context.settings
    memory = context.state.memory
    network = context.next_network(task.outputs)
    places = context.places(network)
    weight = settings.weight * len(task.x_train)

    def pulled(vector, gradient):
        return penalty(vector, places, memory, weight)

    vector = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, penalty=pulled)
    diagonal = information(context, network, vector, task)
    memory = remember(memory, settings, vector[places].copy(), diagonal, context.state.learned)
    return keep(context, network, vector, memory), history


@documented_learner
class EWC(Saved):
    """Learner with elastic weight consolidation.

    Kirkpatrick et al. (2017), "Overcoming catastrophic forgetting in neural networks".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``anchor{s}`` and
        ``fisher{s}`` of each task s, or ``anchor`` and ``fisher`` for the online variant.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(ImageInformation):
    """Settings of EWC for images."""

    method = "vae_ewc"
    weight: float = option(
        10.0,
        "Strength lambda of the penalty, lambda / 2 times the mean Fisher information.",
        at_least=0,
    )
    variant: str = option(
        "online",
        "One anchor per task (separate), or the last anchor and a sum of Fisher information "
        "(online).",
        choices=("separate", "online"),
    )
    decay: float = option(
        1.0,
        "Decay gamma of the sum of Fisher information when a task is added (online).",
        at_least=0,
        at_most=1,
    )


@documented_learner
class ImageEWC(Saved, Generative):
    """Learner of generative models with elastic weight consolidation of the shared decoder layers.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``anchor{s}`` and
        ``fisher{s}`` of each task s, or ``anchor`` and ``fisher`` for the online variant.
    """

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context
    learn = learning(learn_task)
