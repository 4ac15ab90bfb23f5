"""The face that every method shows: the loop, the metrics, the figures and the checkpoints know only this."""

from typing import Protocol

import numpy as np


class Learner(Protocol):
    """Learns tasks one after another and predicts for any task that it has learned.

    Tasks are numbered from 0 in the order of learning.  A learner that keeps a binary mask a task also has
    ``masks(task_id)``: a tuple of boolean arrays (D, K), one a hidden layer.
    """

    def learn(self, task, progress=None):
        """Learn the next task; return its history, a list of :class:`ibpcl.inference.loop.Record`."""

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""

    def state(self):
        """Return everything that was learned, as a dict of arrays."""

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""


def check_inputs(caller, x, inputs, task_id, learned):
    """Refuse inputs of the wrong width and tasks that were not learned.

    Raises
    ------
    ValueError
        Saying what is allowed and what came.
    """
    if not 0 <= task_id < learned:
        known = f"0 ... {learned - 1}" if learned else "no task has been learned yet"
        raise ValueError(f"{caller}: unknown task_id {task_id}; {known}")
    if np.ndim(x) != 2 or np.shape(x)[1] != inputs:
        raise ValueError(f"{caller}: x must have shape (N, {inputs}), got {np.shape(x)}")
