r"""IMM, incremental moment matching: the Gaussians of all tasks are merged into one.

Lee, Kim, Jun, Ha and Zhang (2017), "Overcoming Catastrophic Forgetting by Incremental Moment
Matching", Eqs. 3 to 9.  Tasks are trained one after another, each from the last solution.  Tasks
are predicted with the merged weights

.. math:: \text{mean: } \theta^* = \sum_s \alpha_s \theta_s, \qquad
          \text{mode: } \theta^*
              = \Bigl(\sum_s \alpha_s F^s\Bigr)^{-1} \sum_s \alpha_s F^s \theta_s,

with :math:`\sum_s \alpha_s = 1`.  These are the mean, and a Laplace approximation of the mode, of
the mixture of the tasks' Gaussians.  Merging requires solutions close to each other, so L2-transfer
adds :math:`\lambda \lVert \theta - \theta_{t - 1} \rVert^2` to a task's loss.  The merged weights
are for predictions only: the next task starts from the last solution.  Only shared parameters are
merged; a head belongs to its task.
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

# Where no task has any information, the mode is undetermined; this constant makes it the mean.
FLOOR = 1e-8


@documented
@dataclass(frozen=True, init=False)
class Settings(Information):
    """Settings of IMM for classification."""

    method = "imm"

    merge: str = option(
        "mode",
        "Merging of solutions: mean, or mode, which weights by Fisher information.",
        choices=("mode", "mean"),
    )
    alpha_last: float | None = option(
        None,
        "Weight alpha of the newest task, the others share the rest; none for 1 / T.",
        at_least=0,
        at_most=1,
    )
    transfer: float = option(
        0.0001,
        "Strength lambda of L2-transfer, in nats per example, without a factor 1/2.",
        at_least=0,
    )


def alphas(tasks, last=None):
    """Return the weights of the tasks.

    Parameters
    ----------
    tasks : int
        Number of tasks T, at least 1.
    last : float, optional
        Weight of the newest task, in [0, 1]; the others share the rest equally.  1 / T if not
        given.

    Returns
    -------
    weights : ndarray, shape (T,)
        Nonnegative, with sum 1.

    Examples
    --------
    >>> alphas(4).tolist(), alphas(3, 0.5).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.5])
    """
    if last is None or tasks == 1:
        return np.full(tasks, 1 / tasks)
    return np.append(np.full(tasks - 1, (1 - last) / (tasks - 1)), last)


def merge_mode(solutions, informations, weights):
    """Return the mode of the merged Gaussian: solutions averaged with their information as weight.

    Parameters
    ----------
    solutions : ndarray, shape (T, Q)
        Shared parameters after each task.
    informations : ndarray, shape (T, Q)
        Their mean Fisher information, >= 0.
    weights : ndarray, shape (T,)
        Weight of each task, as from :func:`alphas`.

    Returns
    -------
    merged : ndarray, shape (Q,)
        The mean of the solutions where no task has any information.
    """
    precisions = np.asarray(weights)[:, None] * (np.asarray(informations, float) + FLOOR)
    return (precisions * solutions).sum(axis=0) / precisions.sum(axis=0)


def merged(state, settings):
    """Return the merged shared parameters of all learned tasks.

    Parameters
    ----------
    state : ibpcl.methods.sequential.State
        State with at least one task.
    settings : Settings or ImageSettings
        ``merge`` and ``alpha_last`` are read.

    Returns
    -------
    shared : ndarray of float32, shape (Q,)
        The same for every task that is predicted.
    """
    tasks = range(state.learned)
    weights = alphas(state.learned, settings.alpha_last)
    solutions = np.stack([state.memory[f"solution{t}"] for t in tasks])
    if settings.merge == "mean":
        return (weights[:, None] * solutions).sum(axis=0).astype(np.float32)
    informations = [state.memory[f"fisher{t}"] for t in tasks]
    return merge_mode(solutions, informations, weights).astype(np.float32)


@documented_step
def learn_task(context, task):
    """Train on a task near the last solution, and store its solution."""
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


@documented_learner
class IMM(Saved):
    """Learner with incremental moment matching.

    Lee et al. (2017), "Overcoming Catastrophic Forgetting by Incremental Moment Matching".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``solution{s}`` and,
        for the mode, ``fisher{s}`` of each task s.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities

    def assemble(self, task_id):
        """Return the network and the parameters of a learned task, the shared ones merged.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        network : ibpcl.models.plain.PlainNetwork
            Network of the task.
        vector : ndarray, shape (P,)
            Merged shared parameters, and the task's own.
        """
        return self.context.assemble(task_id, merged(self.knowledge, self.settings))


@documented
@dataclass(frozen=True, init=False)
class ImageSettings(ImageInformation):
    """Settings of IMM for images."""

    method = "vae_imm"
    merge: str = option(
        "mode",
        "Merging of solutions: mean, or mode, which weights by Fisher information.",
        choices=("mode", "mean"),
    )
    alpha_last: float | None = option(
        None,
        "Weight alpha of the newest task, the others share the rest; none for 1 / T.",
        at_least=0,
        at_most=1,
    )
    transfer: float = option(
        0.0001,
        "Strength lambda of L2-transfer, in nats per example, without a factor 1/2.",
        at_least=0,
    )


@documented_learner
class ImageIMM(Saved, Generative):
    """Learner of generative models with incremental moment matching of the shared decoder layers.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``solution{s}`` and,
        for the mode, ``fisher{s}`` of each task s.
    """

    settings_type = ImageSettings
    model_type = PlainAutoencoder
    context_type = Context
    learn = learning(learn_task)

    def assemble(self, task_id):
        """Return the network and the parameters of a learned task, the shared ones merged.

        Parameters
        ----------
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        network : ibpcl.models.network.Network
            Autoencoder of the task.
        vector : ndarray, shape (P,)
            Merged shared parameters, and the task's own.
        """
        return self.context.assemble(task_id, merged(self.knowledge, self.settings))
