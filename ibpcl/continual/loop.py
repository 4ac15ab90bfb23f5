"""The loop over the tasks: learn each task of a stream, then test on all tasks so far."""

import time
from typing import NamedTuple

import numpy as np

from ibpcl.errors import NonFiniteError
from ibpcl.evaluation.metrics import accuracy, log_likelihood, r_squared


class Progress(NamedTuple):
    """The results after one task.

    Attributes
    ----------
    task : int
        Number of the task, from 0.
    name : str
        Name of the task.
    accuracy : ndarray, shape (T, T)
        Element (i, j) is the accuracy in 0 .. 1 on task j after learning task i, for a regression
        the coefficient of determination; NaN where it has not been measured.
    log_likelihood : ndarray, shape (T,)
        Mean log likelihood of the test labels of each task so far, in nats; NaN for later tasks and
        for regressions.
    history : list of ibpcl.inference.loop.Record
        History of the training, one row per epoch.
    train_seconds : float
        Time of the training.
    test_seconds : float
        Time of the tests.
    """

    task: int
    name: str
    accuracy: np.ndarray
    log_likelihood: np.ndarray
    history: list
    train_seconds: float
    test_seconds: float
    # names of the fields to which each task adds a row
    MATRICES = ("accuracy",)


def learn_stream(learner, stream, progress=None, journal=None):
    """Learn the tasks of a stream one after another, and test after each on all tasks so far.

    Tasks are read from the stream one at a time, and only the test examples of earlier tasks are
    kept.

    Parameters
    ----------
    learner : ibpcl.continual.learner.Learner
        The learner; it learns in place.
    stream : object
        Any object with ``len(stream)`` and ``stream[t]``, a :class:`ibpcl.continual.task.Task`.
    progress : bool or ibpcl.inference.loop.Watch, optional
        Whether to show progress bars.  By default they are shown only on a terminal.
    journal : ibpcl.experiments.journal.RunJournal, optional
        Saves the learner after each task.  In a resumed run it holds the results of the tasks that
        are already finished; these are yielded first.

    Yields
    ------
    progress : Progress
        The results after each task.

    Raises
    ------
    ibpcl.errors.NonFiniteError
        If a prediction is NaN or infinite.
    """
    tests = []
    matrix = np.full((len(stream), len(stream)), np.nan)
    finished = list(journal.done) if journal else []
    for t in range(len(stream)):
        # free the last task's examples before those of the next one are read
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
            # the last training step may have overflowed
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
    """Learn one task and measure the time.

    Parameters
    ----------
    learner : ibpcl.continual.learner.Learner
        The learner; it learns in place.
    task : ibpcl.continual.task.Task
        The task.
    progress : bool or ibpcl.inference.loop.Watch, optional
        Whether to show progress bars.  By default they are shown only on a terminal.
    journal : ibpcl.experiments.journal.RunJournal, optional
        Also receives every epoch.

    Returns
    -------
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    seconds : float
        Time of the training.
    """
    start = time.perf_counter()
    history = learner.learn(task, progress if journal is None else journal.watch(progress))
    return history, time.perf_counter() - start
