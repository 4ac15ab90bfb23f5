"""Streams made of the examples of another stream: with a validation set, or with fewer examples."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ibpcl.continual.task import Stream, Task
from ibpcl.data.tasks import check_index


@dataclass(frozen=True, eq=False)
class DerivedStream:
    """Change every task of a stream when it is asked for; made by the functions below.

    Parameters
    ----------
    stream : Stream
        Where the tasks come from.
    name : str
        The new stream's name.
    change : callable
        ``change(task, t) -> Task``.
    """

    stream: Stream
    name: str
    change: Callable[[Task, int], Task]

    def __len__(self):
        return len(self.stream)

    def __getitem__(self, t):
        return self.change(self.stream[t], check_index(t, self))


def with_validation(stream, fraction=0.1, seed=0):
    """Cut the test set of every task out of its training set, for choosing hyperparameters.

    The real test set is not seen by whatever uses this stream.

    Parameters
    ----------
    stream : Stream
        The tasks.
    fraction : float, strictly between 0 and 1
        The share of each class that becomes the test set, rounded.
    seed : int, at least 0
        Which examples; task t draws from ``numpy.random.default_rng((seed, t))``.

    Returns
    -------
    stream : DerivedStream
        As many tasks, with fewer training examples.

    Raises
    ------
    ValueError
        When ``fraction`` is out of range, or, once a task is asked for, when it leaves one side empty.

    Examples
    --------
    >>> task = Task("a", np.eye(10), [0, 1] * 5, np.eye(10), [0] * 10, 2, ("x", "y"))
    >>> small = with_validation([task], fraction=0.4)[0]
    >>> sorted(small.y_train.tolist()), sorted(small.y_test.tolist())
    ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1])
    """
    if not 0 < fraction < 1:
        raise ValueError(f"with_validation: fraction must lie strictly between 0 and 1, got {fraction!r}")

    def change(task, t):
        rng = np.random.default_rng((seed, t))
        held_out = np.zeros(len(task.y_train), bool)
        for label in range(task.classes):
            members = np.flatnonzero(task.y_train == label)
            held_out[rng.permutation(members)[:round(fraction * len(members))]] = True
        if held_out.all() or not held_out.any():
            raise ValueError(f"with_validation: fraction {fraction} of the {len(held_out)} training examples of "
                             f"task {task.name!r} leaves one side empty")
        return replace(task, x_train=task.x_train[~held_out], y_train=task.y_train[~held_out],
                       x_test=task.x_train[held_out], y_test=task.y_train[held_out])

    return DerivedStream(stream, f"{getattr(stream, 'name', 'tasks')} (validation)", change)


def limited(stream, train=None, test=None):
    """Keep only some examples of every task, for quick runs.

    The first ones are kept, in turn from each class, so that the classes stay as balanced as they can be.

    Parameters
    ----------
    stream : Stream
        The tasks.
    train, test : int, at least 1, optional
        At most so many training and test examples a task; all when not given.

    Returns
    -------
    stream : DerivedStream
        As many tasks.

    Raises
    ------
    ValueError
        When a limit is below 1.

    Examples
    --------
    >>> task = Task("a", np.eye(5), [0, 0, 0, 1, 1], np.eye(5), [0] * 5, 2, ("x", "y"))
    >>> limited([task], train=3)[0].y_train.tolist()
    [0, 0, 1]
    """
    for argument, value in (("train", train), ("test", test)):
        if value is not None and operator.index(value) < 1:
            raise ValueError(f"limited: {argument} must be at least 1 or None, got {value}")

    def change(task, t):
        keep_train, keep_test = _first_in_turn(task.y_train, train), _first_in_turn(task.y_test, test)
        return replace(task, x_train=task.x_train[keep_train], y_train=task.y_train[keep_train],
                       x_test=task.x_test[keep_test], y_test=task.y_test[keep_test])

    return DerivedStream(stream, getattr(stream, "name", "tasks"), change)


def _first_in_turn(labels, limit):
    if limit is None or limit >= len(labels):
        return slice(None)
    turn = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        turn[members] = np.arange(len(members))             # the how-manieth of its class
    return np.sort(np.argsort(turn, kind="stable")[:limit])
