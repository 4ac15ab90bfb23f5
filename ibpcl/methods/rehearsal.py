r"""Rehearsal: stored examples of each task are trained on again with every later task.

With a buffer :math:`b_s` of each earlier task s, the loss of a step on the minibatch b of task t is

.. math:: -\frac1{N} \Bigl[\frac{N_t}{|b|} \sum_{n \in b} \log p(y^t_n | x^t_n, \theta)
          + \lambda \sum_{s < t} \frac{N_s}{|b_s|} \sum_{n \in b_s} \log p(y^s_n | x^s_n,
              \theta)\Bigr], \qquad
          N = N_t + \lambda \sum_{s < t} N_s

Robins (1995), "Catastrophic Forgetting, Rehearsal and Pseudorehearsal".  With the weight
:math:`\lambda = 1` a buffer stands for its whole task, so the loss estimates that of joint training
from the stored examples.  With whole tasks in the buffers it is joint training, and with
:math:`\lambda = 0` naive training.  The heads of earlier tasks are trained, too.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.coresets import SELECTIONS
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
from ibpcl.noise import generator
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of rehearsal."""

    method = "rehearsal"

    buffer: str = option(
        "random",
        "Selection of the stored examples; k_center spreads them over the inputs.",
        choices=SELECTIONS,
    )
    weight: float = option(
        1.0,
        "Weight lambda of the buffers: with 1 each counts as its whole task, with 0 not at all.",
        at_least=0,
    )
    buffer_size: int = option(
        200,
        "Largest number of stored examples per task; every training step uses all of them.",
        at_least=1,
    )


def minibatch(context, task, rows):
    """Return the examples of a step: a minibatch of the task, and all buffers.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task to learn.
    rows : ndarray of int, shape (B,)
        Rows of the minibatch in the training data of the task.

    Returns
    -------
    groups : list of ibpcl.methods.pooled.Group
        The minibatch, then one group per buffer, each with the scale of its examples.
    examples : float
        Number of examples N for which all groups stand.
    """
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
    """Return the stored examples of a task, and its number of examples.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task to store.

    Returns
    -------
    memory : dict of str to ndarray
        ``x{t}`` and ``y{t}``, at most ``settings.buffer_size`` examples, and ``examples{t}``, the
        number of training examples.
    """
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


@documented_step
def learn_task(context, task):
    """Train on a task and on all buffers, and fill the buffer of the task."""
    context = accept(context, task)
    vector, history = train_all(
        context, task, lambda rows, step: minibatch(context, task, rows), len(task.x_train)
    )
    memory = context.state.memory | buffer(context, task)
    return keep_all(context, task, vector, memory), history


@documented_learner
class Rehearsal(Saved):
    """Learner that stores examples of every task and trains on them again.

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``x{s}`` and ``y{s}``, the
        buffer of task s, and ``examples{s}``, its number of training examples.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
