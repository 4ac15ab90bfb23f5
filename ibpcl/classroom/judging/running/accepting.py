"""Conversion of students' return values: lists become arrays or tuples, dicts are read by name.

Only unambiguous values are accepted.  A gradient with additional axes of length one, as
``keepdims`` leaves them, has the same numbers in the same order.  A gradient with an axis too few
is ambiguous.
"""

import functools

import numpy as np

from ibpcl.classroom.judging.running.cleaning import clean, without_folders

SPELLINGS = ("{}", "d{}", "d_{}", "grad_{}", "g_{}")
MOST_REASON = 200  # characters of an exception in a note
MOST_SHOWN = 20


class Accepted:
    """Converts the answers of a hand-in into the types that an assignment requires.

    Parameters
    ----------
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        The assignment.

    Attributes
    ----------
    untyped : bool
        Whether the last answer was made of lists, whose numbers have no type of an array.
    reshaped : dict of (str, str) to str
        By gradient function and input, a sentence about axes of length one that the input lacks.
    """

    def __init__(self, assignment):
        self.tasks = {task.function: task for task in assignment.tasks if task.kind == "vjp"}
        self.assignment = assignment
        self.untyped = False
        self.reshaped = {}

    def output(self, out):
        """Convert the output of a forward.

        Parameters
        ----------
        out : object
            From the hand-in, so possibly of any type.

        Returns
        -------
        object
            A list of numbers as an array, a list of arrays as a tuple, anything else unchanged.
        """
        self.untyped = isinstance(out, list)
        return as_array(out) if self.untyped else out

    def gradients(self, function, inputs, out):
        """Convert the gradients that a function returns.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        inputs : sequence of ndarray or number
            Inputs of the forward, in its order.
        out : object
            From the hand-in, so possibly of any type.

        Returns
        -------
        object
            A tuple of arrays or one array, where ``out`` has one meaning; else ``out``.
        """
        task = self.tasks.get(function)
        if task is None:
            return out
        out = _by_name(out, task.wrt)
        several = out if isinstance(out, (tuple, list)) else (out,)
        self.untyped = all(type(each) in (list, float) for each in several)
        if isinstance(out, list):
            out = tuple(out) if len(task.wrt) > 1 else as_array(out)
        names = _inputs_of(self.assignment.maker(task.inputs))
        shapes = {name: np.shape(value) for name, value in zip(names, inputs, strict=False)}
        if not isinstance(out, tuple):
            return self._fitting(task, 0, out, shapes) if len(task.wrt) == 1 else out
        return tuple(self._fitting(task, at, each, shapes) for at, each in enumerate(out))

    def _fitting(self, task, at, value, shapes):
        """Return a gradient without axes of length one that its input lacks."""
        name = task.wrt[at] if at < len(task.wrt) else ""
        fitted = _fitting(value, shapes.get(name))
        if np.ndim(fitted) != np.ndim(value):
            self.reshaped[task.function, name] = other_shape(value, fitted)
        return fitted


@functools.lru_cache(maxsize=256)
def _inputs_of(maker):
    """Return the names of the inputs that a function of ``inputs.py`` makes, in order."""
    return tuple(maker(np.random.default_rng(0), "small"))


def skipped_cells(skipped, submission):
    """Return a sentence for each cell of a notebook that failed.

    Parameters
    ----------
    skipped : object
        The worker's answer, which must not be trusted.
    submission : ibpcl.classroom.intake.submission.Submission
        The hand-in.

    Returns
    -------
    list of str
        At most :data:`MOST_SHOWN` sentences.
    """
    sentences = []
    for item in skipped if isinstance(skipped, (list, tuple)) else ():
        if not isinstance(item, (list, tuple)) or len(item) != 4:
            continue
        cell, line, kind, message = item
        if type(cell) is int and type(line) is int and type(kind) is str and type(message) is str:
            place = submission.place(line) if line else f"code cell {cell} of {submission.file}"
            reason = clean(without_folders(f"{kind}: {message}" if message else kind), MOST_REASON)
            rest = "the rest of the cell" if cell else "its statement"
            sentences.append(
                f"skipped: {place} raises {reason}, so {rest} did not run"
                if kind not in ("ImportError", "ModuleNotFoundError")
                else f"skipped: {place}: {reason}"
            )
    return sentences[:MOST_SHOWN]


def _by_name(out, names):
    """Return the values of a dict in the order of the names; anything else unchanged."""
    if not isinstance(out, dict) or len(out) != len(names):
        return out
    for spelling in SPELLINGS:
        keys = [spelling.format(name) for name in names]
        if set(keys) == set(out):
            return tuple(out[key] for key in keys)
    return out


def _fitting(value, shape):
    """Return a gradient without axes of length one that its input lacks."""
    value = as_array(value) if isinstance(value, list) else value
    if shape is None or not isinstance(value, np.ndarray) or value.ndim <= len(shape):
        return value
    squeezed = [n for n in value.shape if n != 1]
    return value.reshape(shape) if squeezed == [n for n in shape if n != 1] else value


def other_shape(value, wanted):
    """Return the sentence about a result whose shape differs from the one asked for.

    Parameters
    ----------
    value, wanted : ndarray or number

    Returns
    -------
    str

    Examples
    --------
    >>> other_shape(np.zeros((1, 3)), np.zeros(3))
    'the shape is (1, 3), it should be (3,)'
    """
    return f"the shape is {np.shape(value)}, it should be {np.shape(wanted)}"


def as_array(values):
    """Return nested lists of numbers as an array; a list of other things as a tuple.

    Parameters
    ----------
    values : list or tuple

    Returns
    -------
    ndarray or tuple

    Examples
    --------
    >>> as_array([1.0, 2.0]), as_array([1.0, "x"])
    (array([1., 2.]), (1.0, 'x'))
    """
    try:
        array = np.array(values)
    except (ValueError, TypeError, OverflowError):
        array = None
    if (
        array is not None
        and array.dtype.kind in "biuf"
        and not any(isinstance(each, np.ndarray) for each in values)
    ):
        return array
    return tuple(values)
