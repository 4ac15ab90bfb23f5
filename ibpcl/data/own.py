"""Tasks made of your own arrays, from memory or from ``.npz`` files.

Nothing in a file is executed: arrays of Python objects, which would need pickle, are refused.
"""

import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from ibpcl import checkpoints, storage
from ibpcl.continual.task import Task, real_rows
from ibpcl.data.dataset import DataError, is_web_page
from ibpcl.data.pixels import as_trained, in_unit_range, scaled

ARRAYS = ("x_train", "y_train", "x_test", "y_test")
# A file may unpack to ROOM bytes or to RATIO times its size, whichever is more; real images are
# never compressed more.
ROOM = 2**28
RATIO = 200


@dataclass(frozen=True, eq=False)
class OwnTasks(Sequence):
    """Stream of user-defined tasks, with a checksum that identifies them.

    Parameters
    ----------
    tasks : sequence of ibpcl.continual.task.Task
        At least one task, all of one kind.
    name : str
        Name of a run on these tasks.
    place : str, optional
        File or folder from which they were read.
    classes : tuple of tuple of int, optional
        Labels of each task, if they were cut from one file.

    Attributes
    ----------
    kind : str
        ``"classification"``, ``"regression"`` or ``"images"``.
    sha256 : str
        SHA-256 of all arrays and names, in hexadecimal.

    Raises
    ------
    DataError
        If ``tasks`` is empty, an element is not a Task, or kinds differ.
    """

    tasks: Sequence
    name: str = "own"
    place: str | None = None
    classes: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self):
        if not len(self.tasks):
            raise DataError("tasks must hold at least one Task, got none")
        for task in self.tasks:
            if not isinstance(task, Task):
                raise DataError(
                    f"tasks must be a sequence of Task, got {type(task).__name__} in it"
                )
            if task.kind != self.kind:
                raise DataError(
                    f"tasks must all be of the same kind, got {self.kind} and {task.kind}"
                )

    @property
    def kind(self):
        """Kind of the tasks: ``"classification"``, ``"regression"`` or ``"images"``."""
        return self.tasks[0].kind

    def __len__(self):
        return len(self.tasks)

    def __getitem__(self, t):
        return self.tasks[t]

    @cached_property
    def sha256(self):
        """SHA-256 of all arrays, with the names of tasks and classes, in hexadecimal."""
        digest = hashlib.sha256()
        for task in self.tasks:
            about = (task.name, task.class_names, task.image_shape)
            about += () if task.seen is None else (task.seen,)
            digest.update(repr(about).encode())
            for name in ARRAYS:
                array = getattr(task, name)
                if array is not None:
                    digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
                    digest.update(np.ascontiguousarray(array))
        return digest.hexdigest()


def as_name(text, default="own"):
    """Return a text as the name of a run: letters, digits, dots, dashes and underscores.

    Parameters
    ----------
    text : object
        Its string is used; other characters become dashes.
    default : str
        Name if no character is left.

    Returns
    -------
    name : str
        A name that is safe for files.
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(text)).strip("-.") or default


def own_tasks(stream):
    """Return a stream as :class:`OwnTasks`; its tasks are built once, to identify them.

    Parameters
    ----------
    stream : OwnTasks or sequence of ibpcl.continual.task.Task
        Object with ``len(stream)`` and ``stream[t]``.

    Returns
    -------
    tasks : OwnTasks
        The argument itself if it is one already.

    Raises
    ------
    DataError
        If ``stream`` is not a sequence of tasks, or one of them cannot be built.
    """
    if isinstance(stream, OwnTasks):
        return stream
    if (
        isinstance(stream, Task)
        or not hasattr(stream, "__len__")
        or not hasattr(stream, "__getitem__")
    ):
        raise DataError(f"a stream must be a sequence of Task, got {type(stream).__name__}")
    try:
        tasks = tuple(stream[t] for t in range(len(stream)))
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error
    return OwnTasks(tasks, as_name(getattr(stream, "name", "own")))


def tasks_from_arrays(x, y, classes=None, test=0.2, seed=0, class_names=None, image_shape=None):
    """Return classification tasks cut from arrays, each split into training and test examples.

    Parameters
    ----------
    x : array_like, shape (N, D), or (N, height, width) for images
        Inputs.  Pixels 0..255 of any type are divided by 255: see :func:`ibpcl.data.pixels.scaled`.
    y : array_like of int, shape (N,)
        Labels.
    classes : sequence of sequence of int, optional
        Labels of each task, in the order of learning; each label in ``y`` must be in one of them.
        A single task with all labels if not given.
    test : float
        Share of each class that is held out for testing, strictly between 0 and 1; at least one
        example.
    seed : int
        Seed of this choice, at least 0; task t draws from ``numpy.random.default_rng((seed, t))``.
    class_names : sequence of str, optional
        Name of each label, ``class_names[label]``; the labels themselves if not given.
    image_shape : (int, int), optional
        Height and width, if rows are images.

    Returns
    -------
    tasks : OwnTasks
        One task per element of ``classes``.

    Raises
    ------
    DataError
        If shapes do not fit together, a label is in no task, a task's label has fewer than two
        examples, or ``test`` or ``seed`` is out of range.
    TypeError, ValueError
        If the inputs are not finite real numbers, or an image shape does not fit.

    Examples
    --------
    >>> tasks = tasks_from_arrays(np.eye(8), [0, 0, 1, 1, 2, 2, 3, 3], classes=[(0, 1), (3, 2)],
    ...     test=0.5)
    >>> [task.name for task in tasks], tasks[1].y_train.tolist()
    (['0/1', '3/2'], [1, 0])
    """
    x, image_shape = _rows(x, "x", image_shape)
    y = _labels(y, "y", len(x), "x")
    if isinstance(test, bool) or not isinstance(test, Real) or not 0 < test < 1:
        raise DataError(f"test must be a number strictly between 0 and 1, got {test!r}")
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise DataError(f"seed must be a whole number, at least 0, got {seed!r}")
    _check_names(class_names)
    x = scaled(x)
    chosen = _classes(classes, y, "y")
    held_out = np.zeros(len(y), bool)
    for t, labels in enumerate(chosen):
        rng = np.random.default_rng((seed, t))
        for label in labels:
            members = rng.permutation(np.flatnonzero(y == label))
            if len(members) < 2:
                raise DataError(
                    f"y has {len(members)} example of label {label}; training and testing need "
                    "at least one each"
                )
            # otherwise an earlier task has the label, too
            if not held_out[members].any():
                held_out[members[: min(max(1, round(test * len(members))), len(members) - 1)]] = (
                    True
                )
    return OwnTasks(
        _cut(
            (x[~held_out], y[~held_out], x[held_out], y[held_out]), chosen, class_names, image_shape
        )
    )


def read_tasks(place, classes=None):
    """Return the tasks in an ``.npz`` file, or in a folder with one such file per task.

    A file has the arrays ``x_train``, ``y_train``, ``x_test`` and ``y_test``.

    Parameters
    ----------
    place : path-like
        The file, or the folder; its files are taken in the order of their names.
    classes : sequence of sequence of int, optional
        Labels of each task, to cut a single file into tasks.

    Returns
    -------
    tasks : OwnTasks
        Named after the file or folder.

    Raises
    ------
    DataError
        If the file does not exist, is damaged or contains other arrays; the message names it.
    """
    place = Path(place)
    name = as_name(place.resolve().stem)
    try:
        if place.is_dir():
            files = sorted(place.glob("*.npz"))
            if not files:
                raise DataError("the folder contains no .npz file")
            if classes is not None:
                raise DataError(
                    "classes cut one file into tasks, not a folder, whose files are the tasks"
                )
            tasks = tuple(_read(file, None, file.stem)[0] for file in files)
            return OwnTasks(tasks, name, str(place.resolve()))
        if storage.is_special(place):
            raise DataError("this is a device or a pipe; give the .npz file itself")
        chosen = None if classes is None else tuple(map(tuple, classes))
        return OwnTasks(_read(place, classes), name, str(place.resolve()), chosen)
    except (TypeError, ValueError) as error:
        raise DataError(f"{place}: {error}") from error


def _read(file, classes, name=None):
    """Return the tasks of one file."""
    arrays = read_arrays(file, ARRAYS)
    (x_train, shape), (x_test, _) = (_rows(arrays[x], x) for x in ("x_train", "x_test"))
    y_train = _labels(arrays["y_train"], "y_train", len(x_train), "x_train")
    y_test = _labels(arrays["y_test"], "y_test", len(x_test), "x_test")
    x_train = scaled(x_train)
    x_test = as_trained(x_test, in_unit_range(x_train), "x_test")
    chosen = _classes(classes, np.concatenate([y_train, y_test]), "y_train")
    return _cut((x_train, y_train, x_test, y_test), chosen, None, shape, name)


def _cut(arrays, classes, class_names, image_shape, name=None):
    """Return one task for each tuple of labels, which are renumbered from 0 in their order."""
    tasks = []
    for labels in classes:
        order = np.argsort(labels)
        examples = []
        for x, y in (arrays[:2], arrays[2:]):
            chosen = np.isin(y, labels)
            examples += [x[chosen], order[np.searchsorted(labels, y[chosen], sorter=order)]]
        try:
            names = tuple(
                str(label if class_names is None else class_names[label]) for label in labels
            )
        except (IndexError, KeyError) as error:
            raise DataError(
                f"class_names must name every label, got {class_names!r} for {list(labels)}"
            ) from error
        title = name or ("/".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]}")
        tasks.append(Task(title, *examples, len(labels), names, image_shape))
    return tuple(tasks)


def read_arrays(path, names):
    """Return named arrays of an ``.npz`` file, without unpacking more than its headers announce.

    Parameters
    ----------
    path : path-like
        File to read.
    names : sequence of str
        Names of the arrays.

    Returns
    -------
    arrays : dict of str to ndarray
        The arrays by name.

    Raises
    ------
    DataError
        If the file is missing or damaged, lacks an array, unpacks to far more than its size, or
        contains Python objects.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            announced = sum(entry.file_size for entry in archive.infolist())
            if announced > max(ROOM, RATIO * size):
                raise DataError(
                    f"{path.name} has {size} bytes and unpacks to {announced}; it is not read"
                )
            files = archive.namelist()
            present = [name.removesuffix(".npy") for name in files]
            missing = [name for name in names if name not in present]
            if missing:
                raise DataError(
                    f"{path.name} has no array {', '.join(missing)} (needs {', '.join(names)}; it "
                    f"has {', '.join(present) or 'none'})"
                )
            return {
                name: checkpoints.parse_npy(
                    archive.read(f"{name}.npy" if f"{name}.npy" in files else name)
                )
                for name in names
            }
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError("there is no such file or folder") from error
    except ValueError as error:
        objects = "Object arrays" in str(error)
        raise DataError(
            f"{path.name} holds Python objects, which are not read"
            if objects
            else f"{path.name} is damaged: {error}"
        ) from error
    except checkpoints.BROKEN_ZIP as error:
        if is_web_page(path):
            raise DataError(
                f"{path.name} is a web page, not an .npz file; download the file itself"
            ) from error
        raise DataError(f"{path.name} is not a valid .npz file: {error}") from error


def _check_names(class_names):
    """Raise DataError unless the class names are a sequence, or a dictionary by label."""
    if class_names is not None and (
        isinstance(class_names, str) or not isinstance(class_names, Sequence | Mapping | np.ndarray)
    ):
        raise DataError(f"class_names must be a sequence of strings, got {class_names!r}")


def _plain_array(values, what):
    """Return an array, or raise DataError for ragged rows and masked elements."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(
            f"{what} must not have masked elements, got {np.ma.count_masked(values)}; fill them, "
            "or leave out their rows"
        )
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"{what} must have rows of equal length: {error}") from error


def _rows(values, what, image_shape=None):
    """Return inputs as rows, and the shape of the images if they are images."""
    x = _plain_array(values, what)
    if x.size == 0:
        raise DataError(f"{what} must not be empty, got shape {x.shape}")
    if x.ndim == 3:
        x, image_shape = x.reshape(len(x), -1), x.shape[1:]
    if x.ndim != 2:
        raise DataError(
            f"{what} must have shape (N, D), or (N, height, width) for images, got {x.shape}"
        )
    if x.dtype.kind in "iu":
        return x, image_shape  # kept as integers: the type distinguishes pixels from numbers
    try:
        # checked here, where row numbers are those of the user's array
        return real_rows(x, what), image_shape
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error


def _labels(values, what, count, inputs):
    """Return labels as int64 (count,), or raise DataError.

    A task cannot refuse wrong labels later, because it only gets those of its classes.
    """
    y = _plain_array(values, what)
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise DataError(f"{what} must hold whole numbers of shape (N,), got {y.dtype} {y.shape}")
    if len(y) != count:
        raise DataError(
            f"{what} must have one label for each of the {count} rows of {inputs}, got {len(y)}"
        )
    return y.astype(np.int64)


def _classes(classes, labels, what):
    """Return the labels of each task, or raise DataError if they do not fit the data.

    Every label must have examples and be in some task.
    """
    present = set(labels.tolist())
    if classes is None:
        return (tuple(sorted(present)),)
    try:
        listed = [list(task) for task in classes]
    except TypeError:
        listed = [[None]]
    if isinstance(classes, str) or not all(
        isinstance(label, Integral) and not isinstance(label, bool)
        for task in listed
        for label in task
    ):
        raise DataError(
            "classes must be a list of whole numbers for each task, such as [[0, 1], [2, 3]], got "
            f"{classes!r}"
        )
    chosen = tuple(tuple(map(int, task)) for task in listed)
    if not chosen or not all(chosen):
        raise DataError(f"classes must name at least one label per task, got {classes!r}")
    if repeated := [list(task) for task in chosen if len(set(task)) < len(task)]:
        raise DataError(f"classes: a task must have different labels, got {repeated[0]}")
    named = {label for task in chosen for label in task}
    for problem, others in (
        ("has no examples of", named - present),
        ("has labels that no task has:", present - named),
    ):
        if others:
            listed = ", ".join(map(str, sorted(others)))
            raise DataError(f"{what} {problem} {listed} (classes = {[*map(list, chosen)]})")
    return chosen
