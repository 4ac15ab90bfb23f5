r"""Rehearsal: some examples of every task are kept, and learned again with each later task.

With a buffer :math:`b_s` of each task s before, the loss of a step on the minibatch b of task t is

.. math:: -\frac1{N} \Bigl[\frac{N_t}{|b|} \sum_{n \in b} \log p(y^t_n | x^t_n, \theta)
          + \lambda \sum_{s < t} \frac{N_s}{|b_s|} \sum_{n \in b_s} \log p(y^s_n | x^s_n,
              \theta)\Bigr], \qquad
          N = N_t + \lambda \sum_{s < t} N_s

Robins (1995), "Catastrophic Forgetting, Rehearsal and Pseudorehearsal".  With the weight
:math:`\lambda = 1` a buffer stands for its whole task, so the loss is that of joint training,
estimated from what is left of the data: with whole tasks in the buffers it is joint training.  With
0 it is that of naive training.  The old heads are trained too.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.coresets import SELECTIONS
from ibpcl.methods.pooled import Group, Pooled
from ibpcl.methods.sequential import SequentialSettings
from ibpcl.noise import generator
from ibpcl.options import option


@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of rehearsal."""

    method = "rehearsal"

    buffer: str = option("random", "How the examples that are kept are chosen.", choices=SELECTIONS)
    weight: float = option(
        1.0, "Weight of the buffers: 1 counts each as its whole task, 0 not at all.", at_least=0
    )
    buffer_size: int = option(
        200, "Examples kept of each task, at most; every step learns all of them again.", at_least=1
    )

    restart = False  # no choice here


class Rehearsal(Pooled):
    """Learn tasks while rehearsing others; parameters as in
    :class:`ibpcl.methods.sequential.Sequential`.
    """

    settings_type = Settings

    def groups(self, task, rows):
        """Return the task's minibatch and the whole of every buffer, and how many examples they
        stand for.
        """
        size = len(task.x_train)
        groups = [Group(task.x_train[rows], task.y_train[rows], self.learned, size / len(rows))]
        for t in range(self.learned):
            stands_for = self.settings.weight * int(self.memory[f"examples{t}"])
            groups.append(self.remembered(t, stands_for / len(self.memory[f"y{t}"])))
            size += stands_for
        return groups, size

    def remember(self, task, vector):
        """Keep some examples of the task, and how many it had."""
        t = self.learned - 1
        settings = self.settings
        examples = len(task.x_train)
        rng = generator(self.key("buffer", t))
        rows = np.sort(
            SELECTIONS[settings.buffer](task.x_train, min(settings.buffer_size, examples), rng)
        )
        self.memory |= {
            f"x{t}": task.x_train[rows],
            f"y{t}": task.y_train[rows],
            f"examples{t}": np.array(examples),
        }
