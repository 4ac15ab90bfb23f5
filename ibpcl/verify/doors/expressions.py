"""Functions of objects that record how they were computed, such as a loss of ``Value`` objects."""

import contextlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.pairs import fits
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import parameters_of
from ibpcl.verify.doors.tapes import (
    Record,
    allows_reuse,
    for_double,
    is_users,
    is_weighted,
    on_reuse,
    record_of,
    run_backward,
)

MISSING = object()


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
            if is_users(kind):
                with _changed(for_double(kind)):
                    if record_of(kind) is not None:
                        return kind
    return None


def pair_of_expression(f, inputs, kind, names=None):
    """Return the pair of a function of recorded objects.

    The function is called with the given objects, so it may also reach them in another way, as a
    loss reaches the parameters of its model.  For each call, the objects get their values and new
    gradients; afterwards they are as before.

    Parameters
    ----------
    f : callable
        The function.
    inputs : object, sequence or dict
        Its inputs: recorded objects, also in lists, tuples and dicts, and models with a method
        ``parameters``.  Everything else in them stays as it is.
    kind : type
        The class of the objects.
    names : sequence of str, optional
        Names of the inputs.

    Returns
    -------
    Pair
        The value of the result, and the gradients of the objects.

    Raises
    ------
    FormError
        If the function raises or returns something else.
    """
    changes = for_double(kind)
    with _changed(changes):
        record = record_of(kind)
        weighted = is_weighted(record)
        doubled = allows_reuse(record, weighted, f)
    call = _Call(f, inputs, _named(f, inputs, names), record, changes)
    once = _pair(call, weighted, False)
    twice = _pair(call, weighted, True) if doubled else once
    if doubled and fits(once) and not fits(twice):
        return replace(twice, notes=(on_reuse(record, once, twice), *twice.notes))
    return twice


class _Call(NamedTuple):
    """A call of a function with objects, whose values change while the objects stay the same."""

    function: object
    inputs: object
    arguments: dict
    record: Record
    changes: list  # of attributes, so that everything is computed with float64

    @property
    def recorded(self):
        """The recorded objects in the arguments, by name."""
        return {
            name: value
            for argument, given in self.arguments.items()
            for name, value in _leaves(given, argument)
            if isinstance(value, self.record.kind)
        }

    def result(self, source):
        """Return what a version of the function returns."""
        if isinstance(self.inputs, dict):
            out = source(**self.inputs)
        else:
            out = source(*self.arguments.values())
        if not isinstance(out, self.record.kind):
            name = getattr(self.function, "__name__", "f")
            raise TypeError(
                f"{name} must return a {self.record.kind.__name__}, got {type(out).__name__}"
            )
        return out

    @contextlib.contextmanager
    def holding(self, arrays):
        """Let the objects hold arrays, with new gradients, for the calls inside."""
        with _changed(self.changes):
            states = [
                (one, name, getattr(new, name, None))
                for one, new in zip(
                    self.recorded.values(), map(self.record.made, arrays), strict=True
                )
                for name in (self.record.value, self.record.gradient)
            ]
            with _changed(states):
                yield


def _pair(call, weighted, doubled):
    """Return the pair of a call; with ``doubled``, of the sum of two equal calls."""
    record = call.record
    kind = record.kind
    title = getattr(call.function, "__name__", "f")

    def result(source):
        return call.result(source) + call.result(source) if doubled else call.result(source)

    def forward(source, *arrays):
        with call.holding(arrays):
            value = np.array(record.read(result(source)))
        return (value if weighted else value.sum()), arrays

    def backward(source, dout, arrays):
        with call.holding(arrays):
            start = getattr(kind, record.backward)
            run_backward(record, start, result(source), dout if weighted else None)
            found = [np.array(record.gradient_of(one)) for one in call.recorded.values()]
        return tuple(found if weighted else (dout * one for one in found))

    names = tuple(call.recorded)
    values = tuple(np.array(record.read(one)) for one in call.recorded.values())
    in_gradient = False
    try:
        with np.errstate(all="ignore"):
            out, cache = forward(call.function, *values)
            in_gradient = True
            backward(call.function, np.ones(np.shape(out)), cache)
    except Exception as error:  # code under check may raise anything
        raise FormError(f"check: {raised(error, title)}", in_gradient) from error
    notes = [f"the inputs are {kind.__name__} objects; {record.backward}() gives their gradients"]
    if doubled:
        notes.append("it is done twice with the same objects, and the results are added")
    if call.changes:
        notes.append("it was computed with float64 in the place of float32")
    return Pair(
        Adapted(call.function, forward),
        Adapted(call.function, backward),
        names,
        (call.function, call.function),
        None,
        values,
        names,
        tuple(notes),
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


def _named(f, inputs, names):
    """Return the inputs by name: those of a dict, the given ones, or the parameters of ``f``."""
    if isinstance(inputs, dict):
        return inputs
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    known = list(names or parameters_of(f).every)
    known += [f"input[{n}]" for n in range(len(known), len(values))]
    return dict(zip(known, values, strict=False))


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
