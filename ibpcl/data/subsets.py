"""Streams and data sets derived from others: for validation, with fewer examples, or resplit."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.data.tasks import check_index


@dataclass(frozen=True, eq=False)
class DerivedStream:
    """Stream whose tasks are computed from those of another stream when they are accessed.

    Parameters
    ----------
    stream : sequence of ibpcl.continual.task.Task
        The original tasks.
    name : str
        Name of the new stream.
    change : callable
        ``change(task, t)`` returns the new task t.
    """

    stream: Sequence[Task]
    name: str
    change: Callable[[Task, int], Task]

    def __len__(self):
        return len(self.stream)

    def __getitem__(self, t):
        return self.change(self.stream[t], check_index(t, self))


def with_validation(stream, fraction=0.1, seed=0):
    """Return a stream whose test sets are cut out of the training sets.

    It serves to choose hyperparameters; the original test sets are not used.

    Parameters
    ----------
    stream : sequence of ibpcl.continual.task.Task
        The original tasks.
    fraction : float
        Share of each class that becomes the test set, rounded; strictly between 0 and 1.
    seed : int
        Seed of the choice, at least 0; task t draws from ``numpy.random.default_rng((seed, t))``.

    Returns
    -------
    stream : DerivedStream
        Tasks of the same names.

    Raises
    ------
    ValueError
        If ``fraction`` is out of range or, when a task is accessed, if it leaves one side empty.

    Examples
    --------
    >>> task = Task("a", np.eye(10), [0, 1] * 5, np.eye(10), [0] * 10)
    >>> small = with_validation([task], fraction=0.4)[0]
    >>> sorted(small.y_train.tolist()), sorted(small.y_test.tolist())
    ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1])
    """
    _check_fraction("with_validation", fraction)

    def change(task, t):
        held_out = _drawn_of_each_class(
            _labels(task, "train"),
            fraction,
            np.random.default_rng((seed, t)),
            "with_validation",
            f"task {task.name!r}",
        )
        return replace(
            task, **_of(task, "train", ~held_out), **_of(task, "train", held_out, into="test")
        )

    return DerivedStream(stream, f"{getattr(stream, 'name', 'tasks')} (validation)", change)


def limited(stream, train=None, test=None):
    """Return a stream with only some examples of every task, for quick runs.

    The first examples are kept, in turn from each class, so that the classes remain as balanced as
    possible.

    Parameters
    ----------
    stream : sequence of ibpcl.continual.task.Task
        The original tasks.
    train : int, optional
        Largest number of training examples per task, at least 1; all if not given.
    test : int, optional
        Largest number of test examples per task, at least 1; all if not given.

    Returns
    -------
    stream : DerivedStream
        Tasks of the same names.

    Raises
    ------
    ValueError
        If a limit is below 1.

    Examples
    --------
    >>> task = Task("a", np.eye(5), [0, 0, 0, 1, 1], np.eye(5), [0] * 5)
    >>> limited([task], train=3)[0].y_train.tolist()
    [0, 0, 1]
    """
    _check_limits("limited", train, test)

    def change(task, t):
        keep_train, keep_test = (
            _first_in_turn(_labels(task, part), limit)
            for part, limit in (("train", train), ("test", test))
        )
        return replace(task, **_of(task, "train", keep_train), **_of(task, "test", keep_test))

    return DerivedStream(stream, getattr(stream, "name", "tasks"), change)


def limited_dataset(dataset, train=None, test=None):
    """Return a data set with only some of its images.

    They are those that :func:`limited` keeps of a task with all images.  So tasks that differ only
    in the order of their pixels can be limited before they are made, which saves time.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The original data set.
    train : int, optional
        Largest number of training images, at least 1; all if not given.
    test : int, optional
        Largest number of test images, at least 1; all if not given.

    Returns
    -------
    dataset : ibpcl.data.dataset.Dataset
        The smaller data set.

    Raises
    ------
    ValueError
        If a limit is below 1.

    Examples
    --------
    >>> from ibpcl.data.dataset import Dataset
    >>> images, labels = np.arange(5, dtype=np.uint8).reshape(5, 1, 1), np.array([0, 0, 0, 1, 1],
    ...     np.uint8)
    >>> limited_dataset(Dataset("tiny", images, labels, images, labels, ("a", "b")),
    ...     train=3).train_images.ravel()
    array([0, 1, 3], dtype=uint8)
    """
    _check_limits("limited_dataset", train, test)
    train = _first_in_turn(dataset.train_labels, train)
    test = _first_in_turn(dataset.test_labels, test)
    return dataset._replace(
        train_images=dataset.train_images[train],
        train_labels=dataset.train_labels[train],
        test_images=dataset.test_images[test],
        test_labels=dataset.test_labels[test],
    )


def resplit(dataset, fraction=2 / 7, seed=0):
    """Return a data set with training and test images pooled and split anew.

    Kumar et al. (2021), supplement A, have 50,000 and 20,000 images of Fashion MNIST, which is
    published as 60,000 and 10,000.  Their code pools all images and draws 2/7 of each class for
    testing.  The random choice differs here.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The original data set.
    fraction : float
        Share of each class that becomes the test set, rounded; strictly between 0 and 1.
    seed : int
        Seed of the choice, at least 0.

    Returns
    -------
    dataset : ibpcl.data.dataset.Dataset
        Both parts in the order of the pool, original training images first.

    Raises
    ------
    ValueError
        If ``fraction`` is out of range, or leaves one side empty.

    Examples
    --------
    >>> from ibpcl.data.dataset import Dataset
    >>> images, labels = np.zeros((7, 1, 1), np.uint8), np.zeros(7, np.uint8)
    >>> cut = resplit(Dataset("tiny", images, labels, images, labels, ("a",)))
    >>> len(cut.train_images), len(cut.test_images)
    (10, 4)
    """
    _check_fraction("resplit", fraction)
    images = np.concatenate([dataset.train_images, dataset.test_images])
    labels = np.concatenate([dataset.train_labels, dataset.test_labels])
    tests = _drawn_of_each_class(
        labels, fraction, np.random.default_rng(seed), "resplit", f"data set {dataset.name!r}"
    )
    return dataset._replace(
        train_images=images[~tests],
        train_labels=labels[~tests],
        test_images=images[tests],
        test_labels=labels[tests],
    )


def _check_fraction(caller, fraction):
    if not 0 < fraction < 1:
        raise ValueError(f"{caller}: fraction must lie strictly between 0 and 1, got {fraction!r}")


def _drawn_of_each_class(labels, fraction, rng, caller, owner):
    """Return which examples (N,) bool are drawn, a rounded share of each class."""
    drawn = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        drawn[rng.permutation(members)[: round(fraction * len(members))]] = True
    if drawn.all() or not drawn.any():
        raise ValueError(
            f"{caller}: fraction {fraction} of the {len(drawn)} examples of {owner} leaves one "
            "side empty"
        )
    return drawn


def _check_limits(caller, train, test):
    for argument, value in (("train", train), ("test", test)):
        if value is not None and operator.index(value) < 1:
            raise ValueError(f"{caller}: {argument} must be at least 1 or None, got {value}")


def _labels(task, part):
    """Return the labels of the training or test examples of a task.

    Images without labels, and the examples of a regression, count as one class.
    """
    return (
        getattr(task, f"y_{part}")
        if task.kind == "classification"
        else np.zeros(len(getattr(task, f"x_{part}")), np.int64)
    )


def _of(task, part, rows, into=None):
    """Return chosen examples of a task by the names of their new fields."""
    sides = "x" if task.kind == "images" else "xy"
    return {f"{side}_{into or part}": getattr(task, f"{side}_{part}")[rows] for side in sides}


def _first_in_turn(labels, limit):
    if limit is None or limit >= len(labels):
        return slice(None)
    turn = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        turn[members] = np.arange(len(members))  # rank within its class
    return np.sort(np.argsort(turn, kind="stable")[:limit])
