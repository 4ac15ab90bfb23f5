r"""EWC, elastic weight consolidation: what earlier tasks were sensitive to is held where it was.

Kirkpatrick et al. (2017), "Overcoming catastrophic forgetting in neural networks", Eq. 3.  With the
mean information :math:`F^s` of task s at its solution :math:`\theta_s`, the loss of task t is, in
nats per example,

.. math:: -\frac1{N_t} \sum_n \log p(y_n | x_n, \theta)
          + \frac\lambda2 \sum_{s < t} \sum_i F^s_i (\theta_i - \theta_{s, i})^2.

``separate`` keeps an anchor and an information a task, as above.  ``online`` keeps one of each: the
last anchor, and

.. math:: F \leftarrow \gamma F + F^t

(Schwarz et al., 2018, "Progress & Compress", Sec. 4; Huszár, 2018, "Note on the quadratic penalties
in elastic weight consolidation", says why one anchor is the right Laplace approximation).  Were the
posterior Gaussian, :math:`\lambda = N_s / N_t` would be Bayes' rule, 1 for tasks of one size.  Only
what tasks share is held; a head has one task.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual import fisher
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
from ibpcl.noise import generator
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Information(SequentialSettings):
    """The settings of methods that need the Fisher information."""

    fisher: str = option(
        "exact", "Labels of the Fisher information; exact: all of them.", choices=fisher.DEFINITIONS
    )
    fisher_examples: int | None = option(
        2000, "Examples that it is estimated from; none for all of the task's.", at_least=1
    )


@documented
@dataclass(frozen=True, init=False)
class ImageInformation(AutoencoderSettings):
    """The settings of methods that need the Fisher information of a decoder, whose targets are
    pixels.
    """

    fisher: str = option(
        "sampled",
        "Pixels of the Fisher information: drawn (sampled), or the images' (empirical).",
        choices=fisher.DEFINITIONS_OF_IMAGES,
    )
    fisher_examples: int | None = option(
        2000, "Examples that it is estimated from; none for all of the task's.", at_least=1
    )


def information(context, network, vector, task):
    """Compute the mean Fisher information of what tasks share, at the end of a task.

    Parameters
    ----------
    context : Context
        Its state is that before the task.
    network : ibpcl.models.network.Network
    vector : ndarray, shape (P,)
        The trained parameters.
    task : ibpcl.continual.task.Task

    Returns
    -------
    information : ndarray
        Squared nats per squared unit of each shared parameter, for one example.
    """
    limit = context.settings.fisher_examples
    rng = generator(context.key("fisher"))
    x = task.x_train
    y = task.targets
    if limit is not None and limit < len(x):
        rows = np.sort(rng.choice(len(x), limit, replace=False))
        x = x[rows]
        y = y[rows]
    diagonal = fisher.diagonal(network, vector, x, y, context.settings.fisher, rng)
    return diagonal[context.places(network)].copy()


@documented
@dataclass(frozen=True, init=False)
class Settings(Information):
    """The settings of EWC."""

    method = "ewc"

    weight: float = option(
        100.0, "Lambda, for the mean information per example, with a half in front.", at_least=0
    )
    variant: str = option(
        "online",
        "An anchor per task (separate), or the last one and a sum of Fishers (online).",
        choices=("separate", "online"),
    )
    decay: float = option(
        1.0, "Gamma: factor of the online sum when a task is added.", at_least=0, at_most=1
    )


def penalty(vector, places, memory, weight):
    """Add up the pulls of all anchors, each with its information times a weight.

    Parameters
    ----------
    vector : ndarray, shape (P,)
    places : slice or ndarray of int
        The parameters that tasks share.
    memory : dict of str to ndarray
        What EWC remembers, see :class:`EWC`.
    weight : float
        Lambda times the number of examples, because the penalty is for the whole task.

    Returns
    -------
    penalty : float
        Nats for the whole task.
    gradient : ndarray, shape (P,)
    """
    anchors = [name for name in memory if name.startswith("anchor")]
    pulls = [(memory[name], weight * memory[name.replace("anchor", "fisher")]) for name in anchors]
    return pull(vector, places, *pulls)


def remember(memory, settings, shared, fisher_information, t):
    """Return the memory with task t: the shared parameters become an anchor."""
    if settings.variant == "separate":
        return memory | {f"anchor{t}": shared, f"fisher{t}": fisher_information}
    before = memory.get("fisher", np.zeros_like(fisher_information))
    total = (settings.decay * before + fisher_information).astype(fisher_information.dtype)
    return memory | {"anchor": shared, "fisher": total}


def learn_task(context, task):
    """Train on a task while anchors pull, and drop the next anchor; return state and history."""
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
    found = information(context, network, vector, task)
    memory = remember(memory, settings, vector[places].copy(), found, context.state.learned)
    return keep(context, network, vector, memory), history


class EWC(Saved):
    """Learn tasks with elastic weights; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``anchor{s}`` and ``fisher{s}`` of each task, or ``anchor`` and
    ``fisher`` for the online variant.
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
    """The settings of EWC for images."""

    method = "vae_ewc"
    weight: float = option(
        10.0, "Lambda, for the mean information per example, with a half in front.", at_least=0
    )
    variant: str = option(
        "online",
        "An anchor per task (separate), or the last one and a sum of Fishers (online).",
        choices=("separate", "online"),
    )
    decay: float = option(
        1.0, "Gamma: factor of the online sum when a task is added.", at_least=0, at_most=1
    )


class ImageEWC(Saved, Generative):
    """Learn generative models with elastic weights; parameters as in :class:`Saved`."""

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)
