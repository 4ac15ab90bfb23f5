"""One task of a sequence, checked when it is made, so that nothing after it has to check again.

A *stream* is any object with ``len(stream)``, ``stream[t] -> Task`` and a ``name``: tasks are built
when they are asked for, so a long stream needs the memory of one task.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_UNNAMED = 10_000  # classes that get numbers for names


@dataclass(frozen=True, eq=False)
class Task:
    """Hold the training and the test examples of one task: of classification, of regression, or
    images without labels.

    A task of Kumar et al. (2021), Sec. 2: the data D_t, seen once and never again.  Its kind
    follows from the targets:

    ================  ===========================  ==============================================
    ``kind``          ``y_train``, ``y_test``      what is learned
    ================  ===========================  ==============================================
    classification    integers (N,) and (M,)       the class of an input
    regression        reals (N, C) and (M, C)      a function of the input (supplement F)
    images            None                         a generative model of the images (Sec. 3.3)
    ================  ===========================  ==============================================

    Parameters
    ----------
    name : str
        What the task is called in tables and messages, such as ``"0/1"``.
    x_train, x_test : array_like, shape (N, D) and (M, D)
        Inputs, finite real numbers, pixels in 0 .. 1 for a task of images; kept as float32 (an
        array that is float32 already is not copied).
    y_train, y_test : array_like, shape (N,) and (M,), or (N, C) and (M, C), optional
        Labels, integers in 0 .. classes - 1, kept as int64; or targets, finite real numbers, kept
        as float32; or neither.
    classes : int, optional
        The number C of classes, at least 1; not every class has to occur.  Without it as many as
        there are names, else as the largest label says.
    class_names : sequence of str, length C, optional
        What each label means; without it the label itself, as text.
    image_shape : (int, int), optional
        Height and width, with height * width = D, of the image that a row of ``x_train`` is, or of
        inputs on a map.
    label : int, optional
        The class of all images of a task of images, at least 0; for evaluation only, no learner
        looks at it.

    Notes
    -----
    Inputs have no unit here; the streams of :mod:`ibpcl.data.tasks` give pixels in 0 .. 1.
    Two tasks are equal only when they are the same object.

    Raises
    ------
    TypeError
        When an argument has the wrong type: inputs that are not real numbers, labels that are not
        integers.
    ValueError
        On NaN or infinite inputs, labels or pixels out of range, empty arrays, and widths or counts
        that differ.

    Examples
    --------
    >>> task = Task("0/1", [[0.0, 1.0], [1.0, 0.0]], [0, 1], [[0.5, 0.5]], [1])
    >>> task.kind, task.inputs, task.outputs, task.class_names, task.x_train.dtype.name
    ('classification', 2, 2, ('0', '1'), 'float32')
    >>> Task("line", [[0.0], [1.0]], [[0.0], [2.0]], [[0.5]], [[1.0]]).kind
    'regression'
    >>> Task("a", x_train=[[0.0, 0.5, 1.0, 0.0]], x_test=[[0.0, 0.0, 1.0, 0.0]], image_shape=(2, 2),
    ...     label=7).kind
    'images'
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray | None = None
    x_test: np.ndarray | None = None
    y_test: np.ndarray | None = None
    classes: int | None = None
    class_names: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None
    label: int | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"Task(name=...): must be a non-empty string, got {self.name!r}")
        if (self.y_train is None) != (self.y_test is None):
            missing, given = ("y_test", "y_train") if self.y_test is None else ("y_train", "y_test")
            raise TypeError(f"{self._at(missing)} must be given, since {given} is")
        self._set("x", lambda x, what: real_rows(_filled(x, what), what))
        self._set("y", lambda y, what: None if y is None else _filled(y, what))
        for argument, kind in (
            ("classes", "classification"),
            ("class_names", "classification"),
            ("label", "images"),
        ):
            if getattr(self, argument) is not None and self.kind != kind:
                raise ValueError(
                    f"{self._at(argument)} must be left out unless the task is one of {kind}; it "
                    "is one "
                    f"of {self.kind} with y_train of shape {getattr(self.y_train, 'shape', None)}"
                )
        if self.kind == "images":
            self._set("x", _pixels)
        if self.kind == "regression":
            self._set("y", real_rows)
        if self.kind == "classification":
            self._set("y", _labels)
            self._name_classes()
        if self.label is not None:
            object.__setattr__(self, "label", _at_least(0, self.label, self._at("label")))
        self._check_sizes()
        object.__setattr__(
            self,
            "image_shape",
            _image_shape(self.image_shape, self.inputs, self._at("image_shape")),
        )

    @property
    def kind(self):
        """What is to be learned: ``"classification"``, ``"regression"`` or ``"images"``."""
        if self.y_train is None:
            return "images"
        return "regression" if self.y_train.ndim == 2 else "classification"

    @property
    def inputs(self):
        """The width D of one input."""
        return self.x_train.shape[1]

    @property
    def outputs(self):
        """How many outputs a network needs: one for each class, element of a target, or pixel."""
        if self.kind == "classification":
            return self.classes
        return self.inputs if self.kind == "images" else self.y_train.shape[1]

    @property
    def targets(self):
        """What the outputs are compared with in training: labels, values, or the images
        themselves.
        """
        return self.x_train if self.kind == "images" else self.y_train

    def _at(self, argument):
        """Return how a message begins that is about an argument."""
        return f"Task({self.name!r}, {argument}=...):"

    def _set(self, side, read):
        """Read the training and the test part of x or y; the task is frozen, so nothing else sets
        its fields.
        """
        for field in (f"{side}_train", f"{side}_test"):
            object.__setattr__(self, field, read(getattr(self, field), self._at(field)))

    def _name_classes(self):
        """Fill in the number of classes and their names; refuse labels that are not among them."""
        classes = self.classes
        names = self.class_names
        what = self._at("class_names")
        if names is not None and (
            isinstance(names, str)
            or not isinstance(names, Sequence)
            or not all(isinstance(name, str) for name in names)
        ):
            raise TypeError(f"{what} must be a sequence of strings, got {names!r}")
        if classes is None:
            classes = (
                max(1, 1 + int(max(self.y_train.max(), self.y_test.max())))
                if names is None
                else len(names)
            )
        classes = _at_least(1, classes, self._at("classes"))
        if names is None and classes > MOST_UNNAMED:
            raise ValueError(
                f"{what} must be given for more than {MOST_UNNAMED} classes, got {classes} classes"
            )
        names = tuple(map(str, range(classes)) if names is None else names)
        if len(names) != classes:
            raise ValueError(
                f"{what} must hold one name a class, got {len(names)} names for {classes} classes"
            )
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "class_names", names)
        for field in ("y_train", "y_test"):
            y = getattr(self, field)
            if y.min() < 0 or y.max() >= classes:
                raise ValueError(
                    f"{self._at(field)} must lie in 0 .. {classes - 1}, got labels from {y.min()} "
                    f"to {y.max()}"
                )

    def _check_sizes(self):
        """Refuse parts of which one has more rows, or is wider, than the other."""
        for side in "xy"[: 1 if self.kind == "images" else 2]:
            train, test = (getattr(self, f"{side}_{part}") for part in ("train", "test"))
            if train.shape[1:] != test.shape[1:]:
                raise ValueError(
                    f"{self._at(f'{side}_test')} must be as wide as {side}_train, got "
                    f"{test.shape[1]} and {train.shape[1]} columns"
                )
        for part in ("train", "test"):
            x = getattr(self, f"x_{part}")
            y = getattr(self, f"y_{part}")
            if y is not None and len(x) != len(y):
                raise ValueError(
                    f"{self._at(f'y_{part}')} must have one row for each of x_{part}, "
                    f"got {len(y)} for {len(x)}"
                )


def _at_least(least, value, what):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{what} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{what} must be at least {least}, got {value}")
    return int(value)


def _array(values, what):
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise ValueError(
                f"{what} must have no masked elements, got {np.ma.count_masked(values)}; fill "
                "them, or leave their rows out"
            )
        values = values.data
    try:
        return np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{what} must have rows of one length: {error}") from error


def _filled(values, what):
    array = _array(values, what)
    if array.size == 0:
        raise ValueError(f"{what} must not be empty, got shape {array.shape}")
    return array


def real_rows(values, what):
    """Return an array of float32 (N, D), finite; the error for anything else says ``what`` it is.

    >>> real_rows([[1.0, np.nan]], "x")
    Traceback (most recent call last):
    ...
    ValueError: x must be finite, got 1 NaN or infinite values (the first in row 0, column 1: nan)
    """
    x = _array(values, what)
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} must hold real numbers, got dtype {x.dtype}")
    if x.ndim != 2:
        raise ValueError(f"{what} must have shape (N, D), got {x.shape}")
    # too large for float32: reported just below
    with np.errstate(over="ignore"):
        x = np.asarray(x, dtype=np.float32)
    finite = np.isfinite(x)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{what} must be finite, got {np.count_nonzero(~finite)} NaN or infinite values "
            f"(the first in row {row}, column {column}: {x[row, column]})"
        )
    return x


def _pixels(x, what):
    if x.min() < 0 or x.max() > 1:
        raise ValueError(f"{what} must lie in 0 .. 1, got pixels from {x.min():g} to {x.max():g}")
    return x


def _labels(y, what):
    if y.ndim != 1:
        raise ValueError(f"{what} must have shape (N,), or (N, C) for a regression, got {y.shape}")
    if y.dtype.kind not in "iu":
        raise TypeError(
            f"{what} must hold integers, or have shape (N, C) for a regression, got dtype {y.dtype}"
        )
    return y.astype(np.int64, copy=False)


def _image_shape(shape, width, what):
    if shape is None:
        return None
    if np.shape(shape) != (2,):
        raise ValueError(f"{what} must be (height, width), got {shape!r}")
    height, columns = (_at_least(1, side, what) for side in shape)
    if height * columns != width:
        raise ValueError(
            f"{what} must be of {width} pixels, the width of x_train, got {height} x {columns}"
        )
    return height, columns
