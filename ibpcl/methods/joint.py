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

from ibpcl.continual.learner import Saved
from ibpcl.methods.pooled import Group, keep_all, remembered, train_all
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    predict,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """The settings of joint training."""

    method = "joint"

    restart: bool = option(
        True, "Train a fresh network after each task, instead of going on with the last one."
    )


def pool_of(context, task):
    """Return the examples of all tasks so far and of the next one, one group per task."""
    t = context.state.learned
    before = [remembered(context.state.memory, s) for s in range(t)]
    return [*before, Group(task.x_train, task.y_train, t)]


def minibatch(pool, rows):
    """Return the rows of a minibatch by tasks, and how many examples the pool has.

    The rows count through the tasks in their order.
    """
    starts = np.cumsum([0, *(len(group.x) for group in pool)])
    whole = starts[-1]
    owner = np.searchsorted(starts, rows, side="right") - 1
    scale = whole / len(rows)
    groups = []
    for group in pool:
        some = rows[owner == group.task] - starts[group.task]
        groups.append(group._replace(x=group.x[some], labels=group.labels[some], scale=scale))
    return groups, whole


def learn_task(context, task):
    """Train on all tasks so far, and keep the new one's data; return state and history."""
    context = accept(context, task)
    t = context.state.learned
    memory = context.state.memory
    pool = pool_of(context, task)
    size = sum(len(group.x) for group in pool)
    vector, history = train_all(
        context, task, lambda rows: minibatch(pool, rows), size, context.settings.restart
    )
    memory = memory | {f"x{t}": task.x_train, f"y{t}": task.y_train}
    return keep_all(context, task, vector, memory), history


class Joint(Saved):
    """Learn all tasks so far at once; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``x{s}`` and ``y{s}``, the training examples of each task.
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
