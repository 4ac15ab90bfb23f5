"""Present the tasks of a stream to a learner, one after another, and test it on all tasks seen so far."""

import time
from typing import NamedTuple

import numpy as np

from ibpcl.continual.task import RegressionTask
from ibpcl.evaluation.metrics import accuracy, r_squared


class Progress(NamedTuple):
    """What is known after a task: the accuracies so far, and what learning the task took."""

    task: int
    name: str
    accuracy: np.ndarray
    history: list
    train_seconds: float
    test_seconds: float


def learn_stream(learner, stream, progress=None):
    """Learn every task of a stream; after each, test on it and on all before it.

    Yields one :class:`Progress` a task; its ``accuracy`` is the matrix R (T, T) so far: R[i, j] is the accuracy in
    0 .. 1 on task j after training task i (for a regression the coefficient of determination), NaN where it was not
    measured.

    Parameters
    ----------
    learner : Learner
        Any method.
    stream : sequence of Task
        Built when asked for; only the test examples of earlier tasks are kept.
    progress : bool, optional
        Show progress bars: yes, no, or (None) on a terminal only.
    """
    tests, matrix = [], np.full((len(stream), len(stream)), np.nan)
    for t in range(len(stream)):
        task = stream[t]
        tests.append((task.x_test, task.y_test))
        measure = r_squared if isinstance(task, RegressionTask) else accuracy
        start = time.perf_counter()
        history = learner.learn(task, progress)
        trained = time.perf_counter()
        for j, (x, y) in enumerate(tests):
            matrix[t, j] = measure(learner.predict(x, j), y)
        yield Progress(t, task.name, matrix.copy(), history, trained - start, time.perf_counter() - trained)
