"""Ways to call a gradient function and to read its result, tried one after another."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import binding, leaves, reading
from ibpcl.verify.doors.arguments import is_moved
from ibpcl.verify.doors.signatures import returned_names
from ibpcl.verify.doors.vocabulary import is_cotangent, looks_like_gradient


class Way(NamedTuple):
    """One way to call a gradient function and to read its result.

    Attributes
    ----------
    outputs : int
        Number of the forward's results that are outputs; 0 if the whole result is one output.
    call : Call
        The arguments of the gradient function.
    mode : str
        Meaning of the result, a key of :data:`ibpcl.verify.doors.reading.MODES`.
    paths : dict of str to tuple
        Path in the result for the gradient of each input.
    fitting : bool
        Whether the shapes of all gradients are those of their inputs.
    """

    outputs: int
    call: binding.Call
    mode: str
    paths: dict
    fitting: bool


def split(result, outputs):
    """Split the result of a forward into the output and everything else.

    Several outputs may also be in an inner tuple: ``((y, s), cache)`` and ``(y, s, cache)`` are
    split alike.

    Parameters
    ----------
    result : object
        The result.
    outputs : int
        Number of outputs; 0 if the whole result is one output.

    Returns
    -------
    out : object
        The output, or a tuple of several outputs.
    extras : tuple
        Everything else.
    """
    if outputs == 0 or not isinstance(result, tuple):
        return result, ()
    if outputs > 1 and _outputs_in_tuple(result) == outputs:
        return result[0], tuple(result[1:])
    return (result[0] if outputs == 1 else tuple(result[:outputs])), tuple(result[outputs:])


def _outputs_in_tuple(result):
    """Return the number of outputs in the tuple that a result begins with, 0 if there is none."""
    first = result[0]
    return len(first) if isinstance(first, tuple) and _differentiable(first) else 0


def splits_of(result, parameters):
    """Return the possible numbers of outputs in the result of a forward, the likeliest first.

    Parameters
    ----------
    result : object
        The result.
    parameters : Parameters
        Parameters of the gradient function; several cotangents suggest several outputs.

    Returns
    -------
    list of int
        Values for ``outputs`` of :func:`split`.
    """
    if not isinstance(result, tuple) or len(result) < 2:
        return [0]
    cotangents = sum(map(is_cotangent, parameters.required))
    if cotangents > 1 and (cotangents <= len(result) or cotangents == _outputs_in_tuple(result)):
        return [cotangents, 1]
    beside_a_loss = (
        np.ndim(result[0]) == 0 and leaves.is_array(result[1]) and np.ndim(result[1]) > 0
    )
    return [1, 0] if leaves.is_array(result[1]) and not beside_a_loss else [1]


def ways_of(result, parameters, arguments, call, names, method=False, forward=None, data=()):
    """Yield every way to call a gradient function that gives gradients.

    Parameters
    ----------
    result : object
        The forward's result.
    parameters : Parameters
        Parameters of the gradient function.
    arguments : Arguments
        Arguments of the forward.
    call : callable
        ``call(way, dout, out, extras)`` calls the gradient function on copies and returns its
        result.
    names : str, list or None
        Names of the results in the source.
    method : bool
        Whether the forward is a method, so that its object stores everything that the gradient
        needs.
    forward : callable, optional
        The forward, whose source names its results.
    data : collection of str
        Names of arguments without a gradient, such as labels.

    Yields
    ------
    Way or Exception
        A way that works, or the exception of one that raises.
    """
    moved = [leaf for leaf in arguments.spread if is_moved(leaf) and leaf.keys[0] not in data]
    returned = None if forward is None else returned_names(forward)
    for outputs in splits_of(result, parameters):
        out, extras = split(result, outputs)
        if not _differentiable(out):
            continue
        for way in binding.calls_of(
            parameters, list(arguments.given), len(extras), method, max(outputs, 1), returned
        ):
            dout = cotangent(out, 0)
            try:
                gradients = call(way, dout, out, extras)
            except Exception as error:  # another way may work
                yield error
                continue
            entries = reading.unpacked(reading.entries_of(gradients, names), moved)
            values = {entry.path: entry.value for entry in entries}
            by_name = {leaf.name: leaf for leaf in moved}
            readings = reading.alternatives(entries, moved) or [
                reading.assigned(entries, moved, ordered=way.takes_cotangent)
            ]
            named = [entry for entry in entries if entry.name and looks_like_gradient(entry.name)]
            if 0 < len(named) < len(entries):  # others may be no gradients, as in `grad, error`
                readings += reading.alternatives(named, moved) or [reading.assigned(named, moved)]
            for paths in readings:
                if not paths and not method:
                    continue
                matched = [(by_name[name], values[path]) for name, path in paths.items()]
                modes = reading.modes_of(
                    out[0] if isinstance(out, tuple) else out, matched, way.takes_cotangent
                )
                several = isinstance(out, tuple) and len(out) > 1
                for mode in modes:
                    if several and mode in ("mean", "sum"):
                        continue  # which of the outputs?
                    fitting = mode != "vjp" or all(
                        np.shape(leaf.value) == np.shape(g) for leaf, g in matched
                    )
                    yield Way(outputs, way, mode, paths, fitting)


def _differentiable(out):
    parts = out if isinstance(out, tuple) else (out,)
    return all(isinstance(part, (np.ndarray, np.generic, int, float, list)) for part in parts)


def cotangent(out, seed):
    """Return a standard normal cotangent for an output.

    Parameters
    ----------
    out : ndarray, float or tuple
        The output, or several in a tuple.
    seed : int
        Seed for the cotangent.

    Returns
    -------
    ndarray, float or tuple
        One array or number for each output.
    """
    rng = np.random.default_rng(seed)
    parts = [
        rng.standard_normal(np.shape(part)) for part in (out if isinstance(out, tuple) else (out,))
    ]
    parts = [part if part.ndim else float(part) for part in parts]
    return tuple(parts) if isinstance(out, tuple) else parts[0]


def is_ambiguous(way, arguments):
    """Return whether the only gradient of a way might belong to another input of the same shape.

    Parameters
    ----------
    way : Way
        The way.
    arguments : Arguments
        Arguments of the forward.

    Returns
    -------
    bool
        True if there is one gradient and two inputs share a shape.
    """
    shapes = [np.shape(leaf.value) for leaf in arguments.spread if is_moved(leaf)]
    return len(way.paths) == 1 and len(shapes) > len(set(shapes))
