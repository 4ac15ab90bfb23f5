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

from ibpcl.methods.ewc import ImageInformation, Information, information
from ibpcl.methods.images import OnImages
from ibpcl.methods.sequential import Sequential, pull
from ibpcl.options import option

# Where no task has any information the mode is undetermined; this makes it the mean.
FLOOR = 1e-8


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


class IMM(Sequential):
    """Learn tasks and merge their solutions; parameters as in :class:`Sequential`.

    ``memory`` has ``solution{s}`` and, for the mode, ``fisher{s}`` of each task.
    """

    settings_type = Settings

    def penalty(self, vector, places, task):
        """Pull towards the last solution, every shared weight alike."""
        if self.shared is None:
            return 0.0, None
        precision = np.full_like(self.shared, 2 * self.settings.transfer * len(task.x_train))
        return pull(vector, places, (self.shared, precision))

    def remember(self, task, vector):
        """Keep the solution, and for the mode what it is known with."""
        t = self.learned - 1
        self.memory[f"solution{t}"] = self.shared
        if self.settings.merge == "mode":
            self.memory[f"fisher{t}"] = information(self, task, vector)

    def shared_for(self, task_id):
        """Return the merged weights; they are of all tasks so far, whichever is predicted."""
        tasks = range(self.learned)
        weights = alphas(self.learned, self.settings.alpha_last)
        solutions = np.stack([self.memory[f"solution{t}"] for t in tasks])
        if self.settings.merge == "mean":
            return (weights[:, None] * solutions).sum(axis=0).astype(np.float32)
        return merge_mode(solutions, [self.memory[f"fisher{t}"] for t in tasks], weights).astype(
            np.float32
        )


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


class ImageIMM(OnImages, IMM):
    """Learn generative models and merge what they share; parameters as in :class:`IMM`."""

    settings_type = ImageSettings
