"""Streams of tasks cut from a data set: splits, permutations, and single classes.

A stream keeps the bytes of its data set and converts a task only when it is accessed, to float32 in
0 .. 1 (a byte divided by 255).  So a long stream needs the memory of a single task.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.data.dataset import Dataset, check_dataset

CONSECUTIVE_PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))
# Twenty tasks of five classes, as in Lopez-Paz and Ranzato (2017).
CONSECUTIVE_FIVES = tuple(tuple(range(first, first + 5)) for first in range(0, 100, 5))


@dataclass(frozen=True, eq=False)
class ImageStream:
    """Base class of the streams that cut a data set into tasks.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The data set.

    Attributes
    ----------
    kind : str
        First part of the stream's name.
    name : str
        Name of the stream, such as ``"split-mnist"``.

    Raises
    ------
    DataError
        If the arrays of the data set do not fit together.
    """

    dataset: Dataset
    kind = ""

    def __post_init__(self):
        check_dataset(self.dataset)

    @property
    def name(self):
        """Name of the stream, such as ``"split-mnist"``."""
        return f"{self.kind}-{self.dataset.name.replace('_', '-')}"

    @property
    def _image_shape(self):
        """Height and width; None for images in colour, which have three inputs per pixel."""
        images = self.dataset.train_images
        return images.shape[1:] if images.ndim == 3 else None

    @property
    def _parts(self):
        return (
            (self.dataset.train_images, self.dataset.train_labels),
            (self.dataset.test_images, self.dataset.test_labels),
        )


@dataclass(frozen=True, eq=False)
class SplitStream(ImageStream):
    """Stream in which each task has a few of the classes.

    The default is 0/1, 2/3, 4/5, 6/7, 8/9 as in Kumar et al. (2021), Sec. 5.  For Fashion-MNIST the
    same labels are the paper's pairs T-shirt/Trouser, Pullover/Dress, Coat/Sandal, Shirt/Sneaker
    and Bag/Ankle boot; for letters they are A/B to I/J.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The data set.
    pairs : sequence of sequence of int
        Labels of each task.  The k-th label of a task becomes its class k.  A task may have any
        number of classes.

    Raises
    ------
    ValueError
        If ``pairs`` is empty, or a task is empty, repeats a label or names one that the data set
        lacks.

    Examples
    --------
    >>> images, labels = np.zeros((4, 2, 2), np.uint8), np.array([0, 1, 2, 3], np.uint8)
    >>> stream = SplitStream(Dataset("tiny", images, labels, images, labels, tuple("abcd")),
    ...     ((0, 1), (3, 2)))
    >>> stream.name, stream[1].name, stream[1].y_train.tolist()
    ('split-tiny', 'd/c', [1, 0])
    """

    pairs: tuple[tuple[int, ...], ...] = CONSECUTIVE_PAIRS
    kind = "split"

    def __post_init__(self):
        super().__post_init__()
        count = len(self.dataset.class_names)
        pairs = tuple(tuple(map(operator.index, pair)) for pair in self.pairs)
        if not pairs:
            raise ValueError("SplitStream: pairs must name at least one task, got none")
        for pair in pairs:
            if not pair or len(set(pair)) < len(pair) or min(pair) < 0 or max(pair) >= count:
                raise ValueError(
                    f"SplitStream: each of pairs must hold different labels in 0 .. {count - 1} "
                    f"(data set {self.dataset.name!r}), got {pair}"
                )
        object.__setattr__(self, "pairs", pairs)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, t):
        pair = self.pairs[check_index(t, self)]
        new_label = np.full(len(self.dataset.class_names), -1)
        new_label[list(pair)] = np.arange(len(pair))
        arrays = []
        for images, labels in self._parts:
            labels = new_label[labels]
            chosen = np.flatnonzero(labels >= 0)
            arrays += [_to_inputs(images[chosen]), labels[chosen]]
        names = tuple(self.dataset.class_names[label] for label in pair)
        return Task("/".join(names), *arrays, len(pair), names, self._image_shape)


@dataclass(frozen=True, eq=False)
class PermutedStream(ImageStream):
    """Stream in which each task has all classes, with its pixels in a different order.

    Task t reorders the pixels of all its images by one fixed permutation drawn from
    ``numpy.random.default_rng((seed, t))``, so it does not depend on the number of tasks.

    .. note:: Task 0 is permuted, too, as in the paper's experiments; elsewhere it often is not.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The data set.
    tasks : int
        Number of tasks, at least 1; 5 in the paper.
    seed : int
        Seed of the permutations, at least 0.

    Raises
    ------
    ValueError
        If ``tasks`` or ``seed`` is out of range.

    Examples
    --------
    >>> images, labels = np.arange(8, dtype=np.uint8).reshape(2, 2, 2), np.array([0, 1], np.uint8)
    >>> stream = PermutedStream(Dataset("tiny", images, labels, images, labels, ("a", "b")),
    ...     tasks=3, seed=0)
    >>> len(stream), stream[0].name, sorted((255 * stream[0].x_train[1]).tolist())
    (3, 'permuted 1', [4.0, 5.0, 6.0, 7.0])
    """

    tasks: int = 5
    seed: int = 0
    kind = "permuted"

    def __post_init__(self):
        super().__post_init__()
        for argument, least in (("tasks", 1), ("seed", 0)):
            value = operator.index(getattr(self, argument))
            if value < least:
                raise ValueError(
                    f"PermutedStream: {argument} must be at least {least}, got {value}"
                )

    def __len__(self):
        return self.tasks

    def permutation(self, t):
        """Return the order of the pixels of a task.

        Parameters
        ----------
        t : int
            Number of the task, from 0; negative numbers count from the end.

        Returns
        -------
        order : ndarray of int, shape (D,)
            Input i of the task is pixel ``order[i]`` of the image.

        Raises
        ------
        IndexError
            If there is no such task.
        """
        pixels = self.dataset.train_images[0].size
        return np.random.default_rng((self.seed, check_index(t, self))).permutation(pixels)

    def __getitem__(self, t):
        order = self.permutation(t)
        arrays = []
        for images, labels in self._parts:
            arrays += [_to_inputs(images.reshape(len(images), -1).take(order, axis=1)), labels]
        names = self.dataset.class_names
        return Task(
            f"permuted {check_index(t, self) + 1}",
            *arrays,
            len(names),
            names,
            self._image_shape,
        )


@dataclass(frozen=True, eq=False)
class ClassStream(ImageStream):
    """Stream in which each task has the images of one class, without labels.

    Kumar et al. (2021), Sec. 6.2: the tasks of a generative model, such as the digits 0 to 9 or the
    letters A to J.

    Parameters
    ----------
    dataset : ibpcl.data.dataset.Dataset
        The data set.
    labels : sequence of int, optional
        Class of each task; all classes in their order if not given.

    Raises
    ------
    ValueError
        If ``labels`` is empty, or names a class that the data set lacks.

    Examples
    --------
    >>> images, labels = np.zeros((4, 2, 2), np.uint8), np.array([0, 1, 1, 1], np.uint8)
    >>> stream = ClassStream(Dataset("tiny", images, labels, images, labels, ("a", "b")))
    >>> stream.name, stream[1].name, stream[1].x_train.shape
    ('classes-tiny', 'b', (3, 4))
    """

    labels: tuple[int, ...] | None = None
    kind = "classes"

    def __post_init__(self):
        super().__post_init__()
        count = len(self.dataset.class_names)
        labels = (
            tuple(range(count))
            if self.labels is None
            else tuple(operator.index(label) for label in self.labels)
        )
        if not labels or min(labels) < 0 or max(labels) >= count:
            raise ValueError(
                f"ClassStream: labels must be at least one in 0 .. {count - 1} (data set "
                f"{self.dataset.name!r}), got {labels}"
            )
        object.__setattr__(self, "labels", labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, t):
        label = self.labels[check_index(t, self)]
        train, test = (_to_inputs(images[labels == label]) for images, labels in self._parts)
        return Task(
            self.dataset.class_names[label],
            x_train=train,
            x_test=test,
            image_shape=self._image_shape,
            label=label,
        )


@dataclass(frozen=True, eq=False)
class IncrementalStream:
    """Stream whose tasks have one list of classes, for one softmax over all classes seen so far.

    van de Ven and Tolias (2019), "Three scenarios for continual learning": in class-incremental
    learning, a learner must distinguish all classes seen so far, and does not know the task of an
    example.  Classes with the same name are the same class.  They are numbered in the order in
    which the tasks show them.

    Parameters
    ----------
    stream : sequence of ibpcl.continual.task.Task
        Classifications, such as a :class:`SplitStream`.

    Attributes
    ----------
    name : str
        Name of the stream, such as ``"incremental-split-mnist"``.
    class_names : tuple of tuple of str
        Names of the classes seen so far, for each task.

    Raises
    ------
    ValueError
        If a task is not a classification, or has ``seen`` already.

    Examples
    --------
    >>> tasks = [Task(names, [[0.0], [1.0]], [0, 1], [[0.0]], [0], class_names=tuple(names))
    ...     for names in ("ab", "cd")]
    >>> task = IncrementalStream(tasks)[1]
    >>> task.y_train.tolist(), task.class_names, task.seen
    ([2, 3], ('a', 'b', 'c', 'd'), (0, 1, 2, 3))
    """

    stream: Sequence[Task]

    def __post_init__(self):
        so_far = {}
        names = []
        for t in range(len(self.stream)):
            task = self.stream[t]
            if task.kind != "classification" or task.seen is not None:
                raise ValueError(
                    "IncrementalStream: tasks must be of kind classification, without `seen`, got "
                    f"task {task.name!r} of kind {task.kind} with seen = {task.seen}"
                )
            so_far |= dict.fromkeys(task.class_names)
            names.append(tuple(so_far))
        object.__setattr__(self, "class_names", tuple(names))

    @property
    def name(self):
        """Name of the stream, such as ``"incremental-split-mnist"``."""
        return f"incremental-{getattr(self.stream, 'name', 'tasks')}"

    def __len__(self):
        return len(self.stream)

    def __getitem__(self, t):
        t = check_index(t, self)
        task = self.stream[t]
        new_label = np.array([self.class_names[t].index(name) for name in task.class_names])
        return replace(
            task,
            y_train=new_label[task.y_train],
            y_test=new_label[task.y_test],
            classes=len(self.class_names[-1]),
            class_names=self.class_names[-1],
            seen=range(len(self.class_names[t])),
        )


def _to_inputs(images):
    pixels = math.prod(images.shape[1:])  # not -1: there may be no images
    return images.reshape(len(images), pixels) / np.float32(255)


def check_index(t, stream):
    """Return the number of a task in 0 .. len(stream) - 1.

    Parameters
    ----------
    t : int
        Number of the task; negative numbers count from the end.
    stream : sequence
        Stream of tasks.

    Returns
    -------
    t : int
        The number, counted from the start.

    Raises
    ------
    IndexError
        If there is no such task; this also ends a ``for`` loop over the stream.
    """
    t = operator.index(t)
    if not -len(stream) <= t < len(stream):
        raise IndexError(f"{type(stream).__name__}: task {t} of a stream of {len(stream)}")
    return t % len(stream)
