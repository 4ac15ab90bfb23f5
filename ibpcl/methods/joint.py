r"""Joint training: all tasks so far at once, with all their data; no continual learning, but its
usual upper bound.

.. math::

    \theta_t = \arg\min_\theta\; -\frac1{\sum_s N_s} \sum_{s \le t} \sum_n \log p(y^s_n | x^s_n,
        \theta)

Caruana (1997), "Multitask Learning".  Every example of every task is stored, so memory grows with
the data, and the time of a task with the number of tasks before it.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods.pooled import Group, Pooled
from ibpcl.methods.sequential import SequentialSettings
from ibpcl.options import option


@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of joint training."""

    method = "joint"

    restart: bool = option(
        True, "Train a fresh network after each task, instead of going on with the last one."
    )


class Joint(Pooled):
    """Learn all tasks so far at once; parameters and attributes as in
    :class:`ibpcl.methods.sequential.Sequential`.
    """

    settings_type = Settings

    def pool_size(self, task):
        """Return the number of examples of all tasks."""
        return len(task.x_train) + sum(len(self.memory[f"y{t}"]) for t in range(self.learned))

    def groups(self, task, rows):
        """Return a minibatch of the pool by tasks; the rows count through the tasks in their
        order.
        """
        kept = [
            *map(self.remembered, range(self.learned)),
            Group(task.x_train, task.y_train, self.learned),
        ]
        starts = np.cumsum([0, *(len(group.x) for group in kept)])
        whole = starts[-1]
        owner = np.searchsorted(starts, rows, side="right") - 1
        own = [rows[owner == group.task] - starts[group.task] for group in kept]
        return [
            group._replace(x=group.x[some], labels=group.labels[some], scale=whole / len(rows))
            for group, some in zip(kept, own, strict=True)
        ], whole

    def remember(self, task, vector):
        """Keep all training examples of the task."""
        self.memory |= {f"x{self.learned - 1}": task.x_train, f"y{self.learned - 1}": task.y_train}
