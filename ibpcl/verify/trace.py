"""Watch a function compute: every NumPy operation with its operands, its source line and its result.

A gradient function is run on arrays that record what is done with them.  The record serves two ends: its results
are candidates for a missing term or factor, and a single operation can be changed while the function runs again
(see :mod:`ibpcl.verify.repair`), which shows which line is wrong.
"""

import dataclasses
import linecache
import os
import sys
from typing import NamedTuple

import numpy as np

from ibpcl.verify.labels import expression

_HIDDEN = (os.path.dirname(np.__file__), __file__)      # frames that are not the user's
_SAME = ("reshape", "astype", "copy", "real")           # the same numbers: they keep their name
_METHODS = {**{name: getattr(np.ndarray, name) for name in _SAME[:3]}, "real": lambda array: array.real}


class Step(NamedTuple):
    """One recorded operation."""

    index: int
    name: str               # of the ufunc, "<name>.reduce", or of the NumPy function
    operands: tuple
    labels: tuple
    options: dict
    result: np.ndarray
    label: str              # the operation as an expression
    line: str               # the source line it stands on, "" if unknown


class Recorder:
    """Numbers the operations of one run, keeps them, and replaces the results of some if told so.

    Parameters
    ----------
    target : int or None
        The operation to change.
    change : callable or None
        ``change(compute, operands, options, recorder)`` returns the result to go on with.
    more : iterable of (int, callable)
        Further operations to change, each with its change.
    keep : bool
        Whether labels and source lines are kept (a first run) or only results (quicker).
    """

    def __init__(self, target=None, change=None, keep=True, more=()):
        self.changes, self.keep = {target: change, **dict(more)}, keep
        self.steps, self.results, self.roots, self.computations = [], [], {}, []
        self.outputs = None

    def root(self, array, label):
        """Return ``array`` as a recording array that is known as ``label``."""
        copy = np.array(array)
        self.roots.setdefault(label, copy)
        return _wrapped(copy, self, label, "root")

    def run(self, name, compute, operands, options):
        """Carry out one operation (or its replacement) on plain arrays and record it."""
        plain_operands = [plain(item) for item in operands]
        given, options = options, {key: plain(item) for key, item in options.items()}
        index = len(self.results)
        if index in self.changes:
            result = self.changes[index](compute, plain_operands, options, self)
        else:
            result = compute(*plain_operands, **options)
        if isinstance(result, (tuple, list)):
            self.results.append(None)
            return type(result)(_wrapped(part, self, name) if isinstance(part, (np.ndarray, np.generic)) else part
                                for part in result)
        self.results.append(result)
        label = name
        if self.keep:
            labels = tuple(_label(item) for item in operands)
            label = labels[0] if name in _SAME else expression(name, labels, options)
            self.computations.append((compute, operands, given))
            self.steps.append(Step(index, name, tuple(plain_operands), labels, options, result, label, _line()))
        return _wrapped(result, self, label, index) if isinstance(result, (np.ndarray, np.generic)) else result


class Traced(np.ndarray):
    """An array that reports what is done with it to its recorder."""

    def __array_finalize__(self, parent):
        self.recorder = getattr(parent, "recorder", None)
        self.label = getattr(parent, "label", "")
        self.origin = None                              # a view that nobody recorded has no origin

    def __array_ufunc__(self, ufunc, method, *operands, out=None, **options):
        """Record a ufunc call or reduction; results are written into ``out`` afterwards if it is given."""
        recorder = _recorder_of((*operands, *(out or ())))
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if recorder is None or method == "at":
            return getattr(ufunc, method)(*map(plain, operands), **options,
                                          **({"out": tuple(map(plain, out))} if out else {}))
        result = recorder.run(name, getattr(ufunc, method), operands, options)
        if out is not None and isinstance(out[0], np.ndarray):
            np.copyto(plain(out[0]), plain(result), casting="unsafe")
            return _wrapped(plain(out[0]), recorder, getattr(result, "label", name))
        return result

    def __array_function__(self, function, types, operands, options):
        """Record a call of a NumPy function such as ``np.sum`` or ``np.where``."""
        recorder = _recorder_of((operands, options))
        if recorder is None:
            return function(*plain(operands), **plain(options))
        return recorder.run(function.__name__, function, operands, options)

    def __getitem__(self, index):
        """Record an indexing, so that an index can be shifted."""
        if self.recorder is None:
            return plain(self)[plain(index)]
        return self.recorder.run("getitem", lambda array, at: array[at], (self, plain(index)), {})

    def __setitem__(self, index, value):
        """Record the writing of values into a part of the array."""
        if self.recorder is None:
            plain(self)[plain(index)] = plain(value)
        else:
            self.recorder.run("setitem", _write, (self, plain(index), value), {})

    def sum(self, axis=None, **options):
        """Record ``np.sum``."""
        return np.sum(self, axis=axis, **options)

    def mean(self, axis=None, **options):
        """Record ``np.mean``."""
        return np.mean(self, axis=axis, **options)

    def cumsum(self, axis=None, **options):
        """Record ``np.cumsum``."""
        return np.cumsum(self, axis=axis, **options)

    def dot(self, other):
        """Record ``np.dot``."""
        return np.dot(self, other)

    def transpose(self, *axes):
        """Record ``np.transpose``."""
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def reshape(self, *shape, **options):
        """Record the method."""
        return self._method("reshape", *shape, **options)

    def astype(self, *dtype, **options):
        """Record the method."""
        return self._method("astype", *dtype, **options)

    def copy(self, *order):
        """Record the method."""
        return self._method("copy", *order)

    @property
    def real(self):
        """Record the real part."""
        return self._method("real")

    def _method(self, name, *arguments, **options):
        if self.recorder is None:
            return _METHODS[name](plain(self), *arguments, **options)
        return self.recorder.run(name, _METHODS[name], (self, *arguments), options)

    @property
    def T(self):
        """Record ``np.transpose``."""
        return np.transpose(self)


def wrap(cache, recorder, label="cache", names=None):
    """Return ``cache`` with every float array (and float) in it recording; ``names`` name its first level."""
    label = names if isinstance(names, str) else label
    if isinstance(cache, np.ndarray):
        return recorder.root(cache, label)
    if isinstance(cache, (float, np.floating)):
        return recorder.root(np.asarray(cache), label)
    if isinstance(cache, (tuple, list)):
        fields = getattr(cache, "_fields", None) or (names if isinstance(names, list) else None)
        labels = fields if fields and len(fields) == len(cache) else [f"{label}[{i}]" for i in range(len(cache))]
        items = [wrap(item, recorder, name) for item, name in zip(cache, labels, strict=True)]
        return type(cache)(*items) if hasattr(cache, "_fields") else type(cache)(items)
    if isinstance(cache, dict):
        return {key: wrap(item, recorder, f"{label}[{key!r}]") for key, item in cache.items()}
    if dataclasses.is_dataclass(cache) and not isinstance(cache, type):
        return dataclasses.replace(cache, **{item.name: wrap(getattr(cache, item.name), recorder, item.name)
                                             for item in dataclasses.fields(cache) if item.init})
    return cache


def _write(array, index, value):
    array[index] = value
    return array


def _wrapped(value, recorder, label, origin=None):
    array = np.asarray(value).view(Traced)
    array.recorder, array.label, array.origin = recorder, label, origin
    return array


def plain(value):
    """Return a value with every recording array in it as a plain one."""
    if isinstance(value, Traced):
        return value.view(np.ndarray)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _recorder_of(values):
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, Traced) and value.recorder is not None:
            return value.recorder
        if isinstance(value, (tuple, list, dict)):
            found = _recorder_of(value)
            if found is not None:
                return found
    return None


def _label(item):
    if isinstance(item, Traced):
        return item.label
    if isinstance(item, np.ndarray):
        return "array"
    if isinstance(item, (tuple, list)):
        return "(" + ", ".join(_label(part) for part in item) + ")"
    return repr(item) if isinstance(item, (int, float, slice, str, type(None))) else type(item).__name__


def _line():
    """Return the source line of the user's code that is running."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_HIDDEN):
        frame = frame.f_back
    if frame is None:
        return ""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f"line {frame.f_lineno}: {text}" if text else ""
