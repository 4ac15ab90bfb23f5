"""Cutting a data set into tasks: splits and permutations.

A stream keeps the bytes of its data set and converts only the task that is asked for, to float32 in
0 .. 1 (a byte divided by 255), so a long stream needs the memory of one task.
"""

import math
import operator
from dataclasses import dataclass

import numpy as np

from ibpcl.continual.task import Task
from ibpcl.data.dataset import Dataset, check_dataset

CONSECUTIVE_PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))


@dataclass(frozen=True, eq=False)
class ImageStream:
    """What the streams of tasks have in common that a data set is cut into."""

    dataset: Dataset
    kind = ""  # what the stream's name begins with

    def __post_init__(self):
        check_dataset(self.dataset)

    @property
    def name(self):
        """The stream's name, such as ``"split-mnist"``."""
        return f"{self.kind}-{self.dataset.name.replace('_', '-')}"

    @property
    def _parts(self):
        return (
            (self.dataset.train_images, self.dataset.train_labels),
            (self.dataset.test_images, self.dataset.test_labels),
        )


@dataclass(frozen=True, eq=False)
class SplitStream(ImageStream):
    """Give each task a few of the classes: 0/1, 2/3, 4/5, 6/7, 8/9 as in Kumar et al. (2021), Sec.
    5.

    For Fashion-MNIST the same labels are the paper's pairs T-shirt/Trouser, Pullover/Dress,
    Coat/Sandal, Shirt/Sneaker and Bag/Ankle boot, for the letters A/B to I/J.

    Parameters
    ----------
    dataset : Dataset
    pairs : sequence of sequences of int
        The labels of each task, in the order of the new labels: the k-th becomes k.  Tasks may have
        any number of classes.

    Raises
    ------
    ValueError
        If there are no pairs, or a task is empty, repeats a label or names one that the data set
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
        return Task("/".join(names), *arrays, len(pair), names, self.dataset.train_images.shape[1:])


@dataclass(frozen=True, eq=False)
class PermutedStream(ImageStream):
    """Give every task all classes, its pixels in an order of its own.

    Task t reorders the pixels of all its images by one fixed permutation drawn from
    ``numpy.random.default_rng((seed, t))``, so it does not depend on how many tasks there are.

    .. note:: Task 0 is permuted too, as in the paper's experiments; elsewhere it often is not.

    Parameters
    ----------
    dataset : Dataset
    tasks : int, at least 1
        The number of tasks; 5 in the paper.
    seed : int, at least 0
        Which permutations.

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
        """Return the order (D,) of the pixels of task t: input i is pixel ``order[i]`` of the
        image.
        """
        pixels = self.dataset.train_images[0].size
        return np.random.default_rng((self.seed, check_index(t, self))).permutation(pixels)

    def __getitem__(self, t):
        order = self.permutation(t)
        arrays = []
        for images, labels in self._parts:
            # row after row
            arrays += [_to_inputs(images.reshape(len(images), -1).take(order, axis=1)), labels]
        names = self.dataset.class_names
        return Task(
            f"permuted {check_index(t, self) + 1}",
            *arrays,
            len(names),
            names,
            self.dataset.train_images.shape[1:],
        )


@dataclass(frozen=True, eq=False)
class ClassStream(ImageStream):
    """Give each task the images of one class and no labels: digits 0 to 9, or letters A to J.

    Kumar et al. (2021), Sec. 6.2: the tasks of a generative model.

    Parameters
    ----------
    dataset : Dataset
    labels : sequence of int, optional
        The class of each task; all, in their order, if not given.

    Raises
    ------
    ValueError
        If there are no labels, or the data set lacks one.

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
            image_shape=self.dataset.train_images.shape[1:],
            label=label,
        )


def _to_inputs(images):
    pixels = math.prod(images.shape[1:])  # not -1: there may be no images
    return images.reshape(len(images), pixels) / np.float32(255)


def check_index(t, stream):
    """Return the number of a task, which may count from the end, in 0 .. len(stream) - 1.

    Raises IndexError if there is no such task; this also ends a ``for`` loop over the stream.
    """
    t = operator.index(t)
    if not -len(stream) <= t < len(stream):
        raise IndexError(f"{type(stream).__name__}: task {t} of a stream of {len(stream)}")
    return t % len(stream)
