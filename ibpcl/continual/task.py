"""One task of a sequence, checked when it is made, so that nothing after it has to check again.

A *stream* is any object with ``len(stream)``, ``stream[t] -> Task`` and a ``name``: tasks are built when they
are asked for, so a long stream needs the memory of one task.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Task:
    """Hold the training and the test examples of one classification task.

    A task of Kumar et al. (2021), Sec. 2: the data D_t, seen once and never again.

    Parameters
    ----------
    name : str
        What the task is called in tables and messages, such as ``"0/1"``.
    x_train, x_test : array_like, shape (N, D) and (M, D)
        Inputs, finite real numbers; kept as float32 (an array that is float32 already is not copied).
    y_train, y_test : array_like, shape (N,) and (M,)
        Labels, integers in 0 .. classes - 1; kept as int64.
    classes : int
        The number C of classes, at least 1.  Not every class has to occur.
    class_names : sequence of str, length C
        What each label means.
    image_shape : (int, int), optional
        Height and width of the image that a row of ``x_train`` is, with height * width = D.

    Notes
    -----
    Inputs have no unit here; the streams of :mod:`ibpcl.data.tasks` give pixels in 0 .. 1.
    Two tasks are equal only when they are the same object.

    Raises
    ------
    TypeError
        When an argument has the wrong type: inputs that are not real numbers, labels that are not integers.
    ValueError
        On NaN or infinite inputs, labels out of range, empty arrays, and widths or counts that differ.

    Examples
    --------
    >>> task = Task("0/1", [[0.0, 1.0], [1.0, 0.0]], [0, 1], [[0.5, 0.5]], [1], 2, ("zero", "one"))
    >>> task.inputs, task.x_train.dtype.name
    (2, 'float32')
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: int
    class_names: tuple[str, ...]
    image_shape: tuple[int, int] | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"Task: name must be a non-empty string, got {self.name!r}")
        where = f"Task {self.name!r}"
        classes = _whole_number(self.classes, f"{where}: classes")
        if classes < 1:
            raise ValueError(f"{where}: classes must be at least 1, got {classes}")
        checked = {
            "classes": classes,
            "class_names": _names(self.class_names, classes, where),
            "x_train": _inputs(self.x_train, f"{where}: x_train"),
            "x_test": _inputs(self.x_test, f"{where}: x_test"),
        }
        for part in ("train", "test"):
            checked[f"y_{part}"] = _labels(getattr(self, f"y_{part}"), classes, f"{where}: y_{part}")
            images, labels = len(checked[f"x_{part}"]), len(checked[f"y_{part}"])
            if images != labels:
                raise ValueError(f"{where}: x_{part} and y_{part} must have the same length, "
                                 f"got {images} inputs and {labels} labels")
        width = checked["x_train"].shape[1]
        if checked["x_test"].shape[1] != width:
            raise ValueError(f"{where}: x_train and x_test must have the same width, "
                             f"got {width} and {checked['x_test'].shape[1]} columns")
        checked["image_shape"] = _image_shape(self.image_shape, width, where)
        for field, value in checked.items():
            object.__setattr__(self, field, value)          # frozen: the one place where fields are set

    @property
    def inputs(self):
        """The width D of one input."""
        return self.x_train.shape[1]

    @property
    def outputs(self):
        """How many outputs a network needs: one a class."""
        return self.classes


@dataclass(frozen=True, eq=False)
class RegressionTask:
    """Hold the training and the test examples of one regression task.

    Parameters
    ----------
    name : str
        What the task is called in tables and messages.
    x_train, x_test : array_like, shape (N, D) and (M, D)
        Inputs, finite real numbers; kept as float32.
    y_train, y_test : array_like, shape (N, C) and (M, C)
        Targets, finite real numbers; kept as float32.
    image_shape : (int, int), optional
        Height and width, with height * width = D, of inputs that lie on a map.

    Raises
    ------
    TypeError, ValueError
        As :class:`Task`.

    Examples
    --------
    >>> RegressionTask("line", [[0.0], [1.0]], [[0.0], [2.0]], [[0.5]], [[1.0]]).outputs
    1
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    image_shape: tuple[int, int] | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"RegressionTask: name must be a non-empty string, got {self.name!r}")
        where = f"RegressionTask {self.name!r}"
        for side in "xy":
            train, test = (_inputs(getattr(self, f"{side}_{part}"), f"{where}: {side}_{part}")
                           for part in ("train", "test"))
            if train.shape[1] != test.shape[1]:
                raise ValueError(f"{where}: {side}_train and {side}_test must have the same width, "
                                 f"got {train.shape[1]} and {test.shape[1]} columns")
            object.__setattr__(self, f"{side}_train", train)         # frozen: the one place where fields are set
            object.__setattr__(self, f"{side}_test", test)
        for part in ("train", "test"):
            x, y = getattr(self, f"x_{part}"), getattr(self, f"y_{part}")
            if len(x) != len(y):
                raise ValueError(f"{where}: x_{part} and y_{part} must have the same length, "
                                 f"got {len(x)} inputs and {len(y)} targets")
        object.__setattr__(self, "image_shape", _image_shape(self.image_shape, self.inputs, where))

    @property
    def inputs(self):
        """The width D of one input."""
        return self.x_train.shape[1]

    @property
    def outputs(self):
        """The width C of one target."""
        return self.y_train.shape[1]


@dataclass(frozen=True, eq=False)
class ImageTask:
    """Hold the training and the test images of one task without labels: the images of one class.

    Kumar et al. (2021), Sec. 3.3: each task is to learn a generative model.

    Parameters
    ----------
    name : str
        What the task is called in tables and messages.
    x_train, x_test : array_like, shape (N, D) and (M, D)
        Pixels in 0 .. 1; kept as float32.
    image_shape : (int, int), optional
        Height and width of the image that a row is, with height * width = D.
    label : int
        The class that the task holds, at least 0; for evaluation only, no learner looks at it.

    Raises
    ------
    TypeError, ValueError
        As :class:`Task`; also for pixels outside 0 .. 1.

    Examples
    --------
    >>> ImageTask("a", [[0.0, 0.5, 1.0, 0.0]], [[0.0, 0.0, 1.0, 0.0]], (2, 2), 7).inputs
    4
    """

    name: str
    x_train: np.ndarray
    x_test: np.ndarray
    image_shape: tuple[int, int] | None = None
    label: int = 0

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"ImageTask: name must be a non-empty string, got {self.name!r}")
        where = f"ImageTask {self.name!r}"
        train, test = (_pixels(getattr(self, f"x_{part}"), f"{where}: x_{part}") for part in ("train", "test"))
        if train.shape[1] != test.shape[1]:
            raise ValueError(f"{where}: x_train and x_test must have the same width, "
                             f"got {train.shape[1]} and {test.shape[1]} columns")
        label = _whole_number(self.label, f"{where}: label")
        if label < 0:
            raise ValueError(f"{where}: label must be at least 0, got {label}")
        checked = {"x_train": train, "x_test": test, "label": label,
                   "image_shape": _image_shape(self.image_shape, train.shape[1], where)}
        for field, value in checked.items():
            object.__setattr__(self, field, value)          # frozen: the one place where fields are set

    @property
    def inputs(self):
        """The width D of one image."""
        return self.x_train.shape[1]


class Stream(Protocol):
    """What a sequence of tasks offers; any object that has these is a stream."""

    name: str

    def __len__(self) -> int: ...

    def __getitem__(self, t: int) -> Task: ...


def check_width(task, width, first):
    """Refuse a task whose inputs are not as wide as the inputs of the tasks before it.

    Parameters
    ----------
    task : Task
        The task that has arrived.
    width : int
        The width D that the network was made for.
    first : str
        The name of the task that set ``width``, for the message.

    Raises
    ------
    ValueError
        When ``task.inputs`` is not ``width``; names both tasks and both widths.

    Examples
    --------
    >>> task = Task("b", [[0.0, 1.0]], [0], [[1.0, 0.0]], [0], 1, ("only",))
    >>> check_width(task, 2, "a")
    """
    if task.inputs != width:
        raise ValueError(f"Task {task.name!r}: inputs are {task.inputs} wide, but those of task {first!r} "
                         f"are {width} wide; all tasks of a stream must have one input width")


def check_stream(stream):
    """Build every task of a stream once and return the input width that all of them share.

    Building a task checks it, so this finds a bad task before any training has been spent on the good ones.

    Parameters
    ----------
    stream : Stream
        The tasks, built one at a time and dropped again.

    Returns
    -------
    width : int
        The shared input width D.

    Raises
    ------
    ValueError
        When the stream is empty, a task is not valid, or a task has another input width than task 0.

    Examples
    --------
    >>> check_stream([Task("a", [[0.0, 1.0]], [0], [[1.0, 0.0]], [0], 1, ("only",))])
    2
    """
    if len(stream) == 0:
        raise ValueError(f"check_stream: the stream {getattr(stream, 'name', '')!r} has no tasks")
    first = stream[0]
    for t in range(1, len(stream)):
        check_width(stream[t], first.inputs, first.name)
    return first.inputs


def _whole_number(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{what} must be an integer, got {value!r}")
    return int(value)


def _names(names, classes, where):
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{where}: class_names must be a sequence of strings, got {names!r}")
    if len(names) != classes:
        raise ValueError(f"{where}: class_names must hold one name a class, "
                         f"got {len(names)} names for {classes} classes")
    return tuple(names)


def _inputs(values, what):
    x = real_rows(values, what)
    if x.size == 0:
        raise ValueError(f"{what} is empty, got shape {x.shape}; "
                         "a task needs at least one example and one input")
    return x


def real_rows(values, what):
    """Return an array of float32 (N, D), finite; ``what`` it is stands in the error.

    Raises
    ------
    TypeError, ValueError
        For anything else.

    Examples
    --------
    >>> real_rows([[1.0, np.nan]], "x")
    Traceback (most recent call last):
    ...
    ValueError: x must be finite, got 1 NaN or infinite values (the first in row 0, column 1: nan)
    """
    try:
        x = np.asarray(values)
    except ValueError as error:                              # rows of different lengths
        raise ValueError(f"{what} must have shape (N, D), got rows that do not make an array: {error}") from error
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} must hold real numbers, got dtype {x.dtype}")
    if x.ndim != 2:
        raise ValueError(f"{what} must have shape (N, D), got {x.shape}")
    with np.errstate(over="ignore"):                        # too large for float32: reported just below
        x = np.asarray(x, dtype=np.float32)
    finite = np.isfinite(x)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(f"{what} must be finite, got {np.count_nonzero(~finite)} NaN or infinite values "
                         f"(the first in row {row}, column {column}: {x[row, column]})")
    return x


def _pixels(values, what):
    x = _inputs(values, what)
    if x.min() < 0 or x.max() > 1:
        raise ValueError(f"{what} must lie in 0 .. 1, got pixels from {x.min():g} to {x.max():g}")
    return x


def _labels(values, classes, what):
    y = np.asarray(values)
    if y.ndim != 1:
        raise ValueError(f"{what} must have shape (N,), got {y.shape}")
    if y.size == 0:
        raise ValueError(f"{what} is empty; a task needs at least one example")
    if y.dtype.kind not in "iu":
        raise TypeError(f"{what} must hold integers, got dtype {y.dtype}")
    lowest, highest = int(y.min()), int(y.max())
    if lowest < 0 or highest >= classes:
        raise ValueError(f"{what} must lie in 0 .. {classes - 1}, got labels from {lowest} to {highest}")
    return y.astype(np.int64, copy=False)


def _image_shape(shape, width, where):
    if shape is None:
        return None
    if len(shape) != 2:
        raise ValueError(f"{where}: image_shape must be (height, width), got {shape!r}")
    height, columns = (_whole_number(side, f"{where}: image_shape") for side in shape)
    if height < 1 or columns < 1 or height * columns != width:
        raise ValueError(f"{where}: image_shape {height} x {columns} "
                         f"does not make the {width} inputs of a row")
    return height, columns
