r"""IMM, incremental moment matching: each task leaves a Gaussian, and the Gaussians are merged into
one.

Lee, Kim, Jun, Ha and Zhang (2017), "Overcoming Catastrophic Forgetting by Incremental Moment
Matching", Eqs. 3 to 9. Tasks are trained one after another, each from the last solution; tasks are
predicted with the merged weights

.. math:: \text{mean: } \theta^* = \sum_s \alpha_s \theta_s, \qquad
          \text{mode: } \theta^*
              = \Bigl(\sum_s \alpha_s F^s\Bigr)^{-1} \sum_s \alpha_s F^s \theta_s,

:math:`\sum_s \alpha_s = 1`: the mean, and Laplace's approximation of the mode, of the mixture of
the tasks' Gaussians. For merging to make sense the solutions must be close; L2-transfer adds
:math:`\lambda \lVert \theta - \theta_{t - 1} \rVert^2` to a task's loss.  The merged weights are
for predictions: the next task starts from the last solution.  Only what tasks share is merged, a
head is its task's own.
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

# Where no task has any information the mode is undetermined; this makes it the mean.
FLOOR = 1e-8


@documented
@dataclass(frozen=True, init=False)
class Settings(Information):
    """The settings of IMM."""

    method = "imm"

    merge: str = option(
        "mode", "How solutions are merged; mode: weighted by information.", choices=("mode", "mean")
    )
    alpha_last: float | None = option(
        None,
        "Alpha of the newest task, the others share the rest; none for 1 / T.",
        at_least=0,
        at_most=1,
    )
    transfer: float = option(
        0.0001, "Lambda of L2-transfer, in nats per example, without a half.", at_least=0
    )


def alphas(tasks, last=None):
    """Return the weights of the tasks: equal, or ``last`` for the newest and the rest shared by the
    others.

    >>> alphas(4).tolist(), alphas(3, 0.5).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.5])
    """
    if last is None or tasks == 1:
        return np.full(tasks, 1 / tasks)
    return np.append(np.full(tasks - 1, (1 - last) / (tasks - 1)), last)


def merge_mode(solutions, informations, weights):
    """Average solutions (T, P), each element by its information (T, P) and the weights (T,) of the
    tasks.
    """
    precisions = np.asarray(weights)[:, None] * (np.asarray(informations, float) + FLOOR)
    return (precisions * solutions).sum(axis=0) / precisions.sum(axis=0)


def merged(state, settings):
    """Return the merged shared parameters of all learned tasks, whichever task is predicted."""
    tasks = range(state.learned)
    weights = alphas(state.learned, settings.alpha_last)
    solutions = np.stack([state.memory[f"solution{t}"] for t in tasks])
    if settings.merge == "mean":
        return (weights[:, None] * solutions).sum(axis=0).astype(np.float32)
    informations = [state.memory[f"fisher{t}"] for t in tasks]
    return merge_mode(solutions, informations, weights).astype(np.float32)


def learn_task(context, task):
    """Train on a task near the last solution, and keep its own; return state and history."""
    context = accept(context, task)
    settings = context.settings
    last = context.state.shared
    network = context.next_network(task.outputs)
    places = context.places(network)

    def transfer(vector, gradient):
        if last is None:
            return 0.0, None
        precision = np.full_like(last, 2 * settings.transfer * len(task.x_train))
        return pull(vector, places, (last, precision))

    vector = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, penalty=transfer)
    t = context.state.learned
    memory = context.state.memory | {f"solution{t}": vector[places].copy()}
    if settings.merge == "mode":
        memory[f"fisher{t}"] = information(context, network, vector, task)
    return keep(context, network, vector, memory), history


class IMM(Saved):
    """Learn tasks and merge their solutions; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``solution{s}`` and, for the mode, ``fisher{s}`` of each task.
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

    def assemble(self, task_id):
        """Return the network of a learned task and its parameters, the shared ones merged."""
        return self.context.assemble(task_id, merged(self.knowledge, self.settings))


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(ImageInformation):
    """The settings of IMM for images."""

    method = "vae_imm"
    merge: str = option(
        "mode", "How solutions are merged; mode: weighted by information.", choices=("mode", "mean")
    )
    alpha_last: float | None = option(
        None,
        "Alpha of the newest task, the others share the rest; none for 1 / T.",
        at_least=0,
        at_most=1,
    )
    transfer: float = option(
        0.0001, "Lambda of L2-transfer, in nats per example, without a half.", at_least=0
    )


class ImageIMM(Saved, Generative):
    """Learn generative models and merge what they share; parameters as in :class:`Saved`."""

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def assemble(self, task_id):
        """Return the network of a learned task and its parameters, the shared ones merged."""
        return self.context.assemble(task_id, merged(self.knowledge, self.settings))
