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
from ibpcl.noise import generator
from ibpcl.options import option


@documented
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


def minibatch(context, task, rows):
    """Return the task's minibatch and the whole of every buffer, and how many they stand for."""
    memory = context.state.memory
    t = context.state.learned
    size = len(task.x_train)
    groups = [Group(task.x_train[rows], task.y_train[rows], t, size / len(rows))]
    for s in range(t):
        stands_for = context.settings.weight * int(memory[f"examples{s}"])
        groups.append(remembered(memory, s, stands_for / len(memory[f"y{s}"])))
        size += stands_for
    return groups, size


def buffer(context, task):
    """Return what is remembered of a task: some examples, and how many it had."""
    t = context.state.learned
    settings = context.settings
    examples = len(task.x_train)
    select = SELECTIONS[settings.buffer]
    size = min(settings.buffer_size, examples)
    rows = np.sort(select(task.x_train, size, generator(context.key("buffer"))))
    return {
        f"x{t}": task.x_train[rows],
        f"y{t}": task.y_train[rows],
        f"examples{t}": np.array(examples),
    }


def learn_task(context, task):
    """Train on a task and on all buffers, and fill the next one; return state and history."""
    context = accept(context, task)
    vector, history = train_all(
        context, task, lambda rows: minibatch(context, task, rows), len(task.x_train)
    )
    memory = context.state.memory | buffer(context, task)
    return keep_all(context, task, vector, memory), history


class Rehearsal(Saved):
    """Learn tasks while rehearsing earlier ones; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``x{s}`` and ``y{s}``, the buffer of each task, and ``examples{s}``,
    how many training examples it had.
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
