"""Functions of objects that record how they were computed, such as a loss of ``Value`` objects.

An object of such a class holds a number or an array, and records how it was computed.
``out.backward()`` goes through the record in reverse and adds gradients to the attribute ``grad``
of every object.
"""

import contextlib
import inspect
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.loading import is_library
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import method_parameters, parameters_of

MISSING = object()
BACKWARDS = ("backward", "backprop", "backpropagate")
VALUES = ("data", "cached_data", "value", "val", "array", "_data", "_value", "x", "v")
GRADIENTS = ("grad", "gradient", "_grad", "grads", "derivative", "adjoint")


class Record(NamedTuple):
    """Names of the attributes and methods by which objects of a class are made and read.

    Attributes
    ----------
    kind : type
        The class.
    value, gradient, backward : str
        Names of the attributes with the value and the gradient, and of the backward pass.
    options : dict of str to bool
        Options of the constructor.
    takes_cotangent : bool
        Whether the backward pass takes the gradient of its output.
    """

    kind: type
    value: str
    gradient: str
    backward: str
    options: dict
    takes_cotangent: bool

    def made(self, value, like):
        """Return an object that holds a value.

        Parameters
        ----------
        value : ndarray or float
            The value.
        like : object
            An object that holds a value of the same type, an array or a number.

        Returns
        -------
        object
            A new object without a record.
        """
        is_array = isinstance(getattr(like, self.value), np.ndarray)
        held = np.array(value) if is_array else np.asarray(value).item()
        return self.kind(held, **self.options)

    def read(self, holder):
        """Return the value of an object as an array.

        Parameters
        ----------
        holder : object
            The object.

        Returns
        -------
        ndarray
            Its value, as floating-point or complex numbers.
        """
        value = np.asarray(getattr(holder, self.value))
        return value if value.dtype.kind in "fc" else value.astype(float)

    def gradient_of(self, holder):
        """Return the gradient of an object after a backward pass; zero if there is none.

        Parameters
        ----------
        holder : object
            The object.

        Returns
        -------
        ndarray
            Its gradient.
        """
        found = getattr(holder, self.gradient, None)
        found = getattr(found, self.value) if isinstance(found, self.kind) else found
        return np.zeros(self.read(holder).shape) if found is None else np.asarray(found)


def record_of(kind):
    """Return how the objects of a class are made and read.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    Record or None
        None if the objects do not record how they were computed.
    """
    backward = next(
        (
            name
            for name in BACKWARDS
            if inspect.isfunction(getattr(kind, name, None))
            and not method_parameters(kind, name).required
        ),
        None,
    )
    if backward is None:
        return None
    parameters = parameters_of(kind.__init__, skip=1)
    options = {name: True for name in parameters.every if words.plain(name) == "requiresgrad"}
    optional = method_parameters(kind, backward).optional
    takes_cotangent = bool(optional) and words.is_cotangent(optional[0])
    for given in (0.25, np.array([0.25, 0.5])):
        try:
            holder = kind(given, **options)
        except Exception:  # it may take another kind of value
            continue
        value = next((name for name in VALUES if _holds(holder, name, given)), None)
        gradient = next((name for name in GRADIENTS if _may_have(holder, name)), None)
        if value is not None and gradient is not None:
            return Record(kind, value, gradient, backward, options, takes_cotangent)
    return None


def is_users(kind):
    """Return whether a class or function is the user's own: from no library, and not built in.

    Parameters
    ----------
    kind : type or function
        The class or function.

    Returns
    -------
    bool
        True for classes of the user's files, notebooks and interactive sessions.
    """
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    of_user = file is not None and not is_library(Path(file).resolve())
    return kind.__module__ == "__main__" or of_user


def _may_have(holder, name):
    """Return whether an object has an attribute, or its class announces it by an annotation."""
    announced = any(name in getattr(kind, "__annotations__", {}) for kind in type(holder).__mro__)
    try:
        return announced or hasattr(holder, name)
    except Exception:  # a property of the user's class may raise anything
        return True


def _holds(holder, name, given):
    try:
        value = getattr(holder, name)
        return np.shape(value) == np.shape(given) and bool(np.all(np.asarray(value) == given))
    except Exception:  # code under check may raise anything
        return False


def kind_of(inputs):
    """Return the class of the objects in the inputs that record how they were computed.

    Parameters
    ----------
    inputs : object, sequence or dict
        The inputs of a function.

    Returns
    -------
    type or None
        The most general such class; None if no input is such an object.
    """
    for _, value in _leaves(inputs, "input"):
        for kind in reversed(type(value).__mro__[:-1]):
            if is_users(kind) and record_of(kind) is not None:
                return kind
    return None


def recognise(code):
    """Return the pair of a function of recorded objects.

    The function is called with the given objects, so it may also reach them in another way, as a
    loss reaches the parameters of its model.  For each call, the objects get their values and new
    gradients; afterwards they are as before.  The inputs are recorded objects, also in lists,
    tuples and dicts, and models with a method ``parameters``.  Everything else in them stays as it
    is.

    Parameters
    ----------
    code : Code
        The user's code.

    Returns
    -------
    Pair or None
        The value of the result, and the gradients of the objects.  If the backward pass takes no
        gradient of its output, the value is the sum of the result's entries.  None for other forms.

    Raises
    ------
    FormError
        If the function raises, returns something else, or computes in single precision.
    """
    f = code.forward
    inputs = code.inputs
    kind = kind_of(inputs) if callable(f) and code.gradient is None else None
    if kind is None:
        return None
    record = record_of(kind)
    arguments, _ = code.named(parameters_of(f))
    recorded = {
        name: value
        for argument, given in arguments.items()
        for name, value in _leaves(given, argument)
        if isinstance(value, kind)
    }

    def result(source):
        out = source(**inputs) if isinstance(inputs, dict) else source(*arguments.values())
        if not isinstance(out, kind):
            name = getattr(f, "__name__", "f")
            raise TypeError(f"{name} must return a {kind.__name__}, got {type(out).__name__}")
        return out

    @contextlib.contextmanager
    def holding(arrays):
        """Let the objects hold arrays, with new gradients, for the calls inside."""
        new = map(record.made, arrays, recorded.values())
        states = [
            (one, name, getattr(fresh, name, None))
            for one, fresh in zip(recorded.values(), new, strict=True)
            for name in (record.value, record.gradient)
        ]
        with _changed(states):
            yield

    def forward(source, *arrays):
        with holding(arrays):
            value = np.array(record.read(result(source)))
        return (value if record.takes_cotangent else value.sum()), arrays

    def backward(source, dout, arrays):
        with holding(arrays):
            out = result(source)
            start = getattr(kind, record.backward)
            if record.takes_cotangent:
                start(out, np.array(dout) if np.ndim(dout) else float(dout))
            else:
                start(out)
            found = [np.array(record.gradient_of(one)) for one in recorded.values()]
        return tuple(found if record.takes_cotangent else (dout * one for one in found))

    values = tuple(np.array(record.read(one)) for one in recorded.values())
    values = tuple(value.astype(float) for value in values)
    try:
        with np.errstate(all="ignore"):
            out, _ = forward(f, *values)
    except Exception as error:  # code under check may raise anything
        raise FormError(raised(error, getattr(f, "__name__", "f"))) from error
    if np.asarray(out).dtype.itemsize < 8:
        raise FormError(
            f"{kind.__name__} computes with {np.asarray(out).dtype}, in which differences "
            f"are too coarse; let {kind.__name__} keep float64 for the check"
        )
    return Pair(
        Adapted(f, forward),
        Adapted(f, backward),
        tuple(recorded),
        (f, f),
        values,
        tuple(recorded),
        (f"the inputs are {kind.__name__} objects; {record.backward}() gives their gradients",),
    )


def _leaves(value, name):
    """Yield what lists, tuples, dicts and the parameters of models hold, with its name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for n, item in enumerate(value):
            yield from _leaves(item, f"{name}[{n}]")
    elif is_users(type(value)) and callable(getattr(value, "parameters", None)):
        yield from _leaves(value.parameters(), f"{name}.parameters()")
    else:
        yield name, value


@contextlib.contextmanager
def _changed(states):
    """Set attributes, given as (object, name, value), for the calls inside; then undo it."""
    before = [(holder, name, getattr(holder, name, MISSING)) for holder, name, _ in states]
    try:
        for holder, name, value in states:
            setattr(holder, name, value)
        yield
    finally:
        for holder, name, value in before:
            if value is MISSING:
                delattr(holder, name)
            else:
                setattr(holder, name, value)
