r"""Joint training on the data of all tasks so far: the usual upper bound of continual learning.

.. math::

    \theta_t = \arg\min_\theta\; -\frac1{\sum_s N_s} \sum_{s \le t} \sum_n \log p(y^s_n | x^s_n,
        \theta)

Caruana (1997), "Multitask Learning".  Every example of every task is stored, so memory grows with
the data, and the training time of a task grows with the number of earlier tasks.  This is not
continual learning.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.pooled import Group, keep_all, remembered, train_all
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of joint training."""

    method = "joint"

    restart: bool = option(
        True, "Train a fresh network for each task instead of continuing with the last one."
    )


def pool_of(context, task):
    """Return the examples of all tasks so far and of the next one.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    pool : list of ibpcl.methods.pooled.Group
        One group per task, in the order of learning.
    """
    t = context.state.learned
    before = [remembered(context.state.memory, s) for s in range(t)]
    return [*before, Group(task.x_train, task.y_train, t)]


def minibatch(pool, rows):
    """Return the examples of a minibatch, grouped by task.

    Parameters
    ----------
    pool : list of ibpcl.methods.pooled.Group
        Examples of each task, as from :func:`pool_of`.
    rows : ndarray of int, shape (B,)
        Rows of the minibatch, counted through all tasks in their order.

    Returns
    -------
    groups : list of ibpcl.methods.pooled.Group
        One group per task, possibly empty, with the scale of each example.
    examples : int
        Number of examples in the pool.
    """
    starts = np.cumsum([0, *(len(group.x) for group in pool)])
    whole = starts[-1]
    owner = np.searchsorted(starts, rows, side="right") - 1
    scale = whole / len(rows)
    groups = []
    for group in pool:
        chosen = rows[owner == group.task] - starts[group.task]
        groups.append(group._replace(x=group.x[chosen], labels=group.labels[chosen], scale=scale))
    return groups, whole


@documented_step
def learn_task(context, task):
    """Train on all tasks so far, and store the data of the new task."""
    context = accept(context, task)
    t = context.state.learned
    memory = context.state.memory
    pool = pool_of(context, task)
    size = sum(len(group.x) for group in pool)
    vector, history = train_all(
        context, task, lambda rows, step: minibatch(pool, rows), size, context.settings.restart
    )
    memory = memory | {f"x{t}": task.x_train, f"y{t}": task.y_train}
    return keep_all(context, task, vector, memory), history


@documented_learner
class Joint(Saved):
    """Learner that trains on the data of all tasks so far at once.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``x{s}`` and ``y{s}``,
        the training examples of task s.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
