"""Present the tasks of a stream to a learner, one after another, and test it on all tasks seen so
far.
"""

import time
from typing import NamedTuple

import numpy as np

from ibpcl.errors import NonFiniteError
from ibpcl.evaluation.metrics import accuracy, log_likelihood, r_squared


class Progress(NamedTuple):
    """What is known after a task: accuracies (T, T) so far, the log likelihood of each test set,
    what learning took.
    """

    task: int
    name: str
    accuracy: np.ndarray
    log_likelihood: np.ndarray
    history: list
    train_seconds: float
    test_seconds: float
    # the fields to which each task adds its row
    MATRICES = ("accuracy",)


def learn_stream(learner, stream, progress=None, journal=None):
    """Learn every task of a stream; after each, test on it and on all before it.

    Yields one :class:`Progress` a task; its ``accuracy`` is the matrix R (T, T) so far: R[i, j] is
    the accuracy in 0 .. 1 on task j after training task i (for a regression the coefficient of
    determination), NaN where it was not measured.  Tasks are asked for one at a time, and only the
    test examples of earlier ones are kept.  ``progress`` shows progress bars: yes, no, or (None) on
    a terminal only.  A ``journal``, a :class:`ibpcl.experiments.journal.RunJournal`, saves the
    learner after each task, and knows which tasks a resumed run has behind it; those are yielded
    first.
    """
    tests = []
    matrix = np.full((len(stream), len(stream)), np.nan)
    finished = list(journal.done) if journal else []
    for t in range(len(stream)):
        # or its examples are kept while the next one's are read
        task = None
        task = stream[t]
        tests.append((task.x_test, task.y_test))
        if t < len(finished):
            matrix = finished[t].accuracy.copy()
            yield finished[t]
            continue
        history, train_seconds = learn_task(learner, task, progress, journal)
        trained = time.perf_counter()
        likelihoods = np.full(len(stream), np.nan)
        for j, (x, y) in enumerate(tests):
            predicted = learner.predict(x, j)
            # the last step of training may have overflowed
            if not np.isfinite(predicted).all():
                raise NonFiniteError(
                    f"after task {task.name!r}, predictions of task {j + 1} are not finite; lower "
                    "the learning rates, or check the scale of the inputs"
                )
            if task.kind == "regression":
                matrix[t, j] = r_squared(predicted, y)
            else:
                matrix[t, j], likelihoods[j] = accuracy(predicted, y), log_likelihood(predicted, y)
        done = Progress(
            t,
            task.name,
            matrix.copy(),
            likelihoods,
            history,
            train_seconds,
            time.perf_counter() - trained,
        )
        if journal:
            journal.finish_task(learner, done)
        yield done


def learn_task(learner, task, progress=None, journal=None):
    """Learn one task; return its history and the seconds that it took."""
    start = time.perf_counter()
    history = learner.learn(task, progress if journal is None else journal.watch(progress))
    return history, time.perf_counter() - start
