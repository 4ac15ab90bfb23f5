"""Two functions in any of the usual forms: ``f`` and a gradient of it that is called in its own way.

The gradient may take the cotangent and a cache, the inputs, or the output; it may take no cotangent and return a
derivative or a Jacobian; the forward may return its output alone.  What the names leave open is tried: the first way
to call that gives gradients of the right shapes, and numbers that fit if any does, is the one that is judged.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import binding, leaves, reading
from ibpcl.verify.doors.arguments import Arguments, is_moved
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import parameters_of, returned_names
from ibpcl.verify.doors.vocabulary import is_cotangent

STEP, CLOSE = 1e-6, 1e-4    # of the quick comparison that decides between two ways to read a gradient


class Way(NamedTuple):
    """One way to call a gradient function, and to read its result."""

    outputs: int        # how many of the forward's results are outputs; 0 if its result is one output
    call: binding.Call
    mode: str           # of :data:`ibpcl.verify.doors.reading.MODES`
    paths: dict         # where the gradient of each input is in the result
    fitting: bool       # whether all shapes are those of the inputs


def split(result, outputs):
    """Return the output and the tuple of everything else that a forward returned."""
    if outputs == 0 or not isinstance(result, tuple):
        return result, ()
    return (result[0] if outputs == 1 else tuple(result[:outputs])), tuple(result[outputs:])


def splits_of(result, parameters):
    """Return how many of a forward's results may be outputs, the likeliest number first."""
    if not isinstance(result, tuple) or len(result) < 2:
        return [0]
    cotangents = sum(map(is_cotangent, parameters.required))
    if cotangents > 1 and cotangents <= len(result):
        return [cotangents, 1]
    beside_a_loss = np.ndim(result[0]) == 0 and leaves.is_array(result[1]) and np.ndim(result[1]) > 0
    return [1, 0] if leaves.is_array(result[1]) and not beside_a_loss else [1]


def ways_of(result, parameters, arguments, call, names, method=False):
    """Yield every :class:`Way` that gives gradients, and the errors of those that raise as ``Exception`` objects.

    Parameters
    ----------
    result : object
        The forward's result.
    parameters : Parameters
        Parameters of the gradient function.
    arguments : Arguments
        Arguments of the forward.
    call : callable
        ``call(way, dout, out, extras)`` calls the gradient function on copies and returns its result.
    names : list or None
        What the source calls the results.
    method : bool
        True if the forward is a method, so that its object has everything that the gradient needs.
    """
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    for outputs in splits_of(result, parameters):
        out, extras = split(result, outputs)
        if not _differentiable(out):
            continue
        for way in binding.calls_of(parameters, list(arguments.given), len(extras), method, max(outputs, 1)):
            dout = cotangent(out, 0)
            try:
                gradients = call(way, dout, out, extras)
            except Exception as error:                  # another way may work
                yield error
                continue
            entries = reading.entries_of(gradients, names)
            values = {entry.path: entry.value for entry in entries}
            by_name = {leaf.name: leaf for leaf in moved}
            for paths in reading.alternatives(entries, moved) \
                    or [reading.assigned(entries, moved, ordered=way.takes_cotangent)]:
                if not paths and not method:
                    continue
                found = [(by_name[name], values[path]) for name, path in paths.items()]
                modes = reading.modes_of(out[0] if isinstance(out, tuple) else out, found, way.takes_cotangent)
                for mode in modes:
                    fitting = mode != "vjp" or all(np.shape(leaf.value) == np.shape(g) for leaf, g in found)
                    yield Way(outputs, way, mode, paths, fitting)


def _differentiable(out):
    parts = out if isinstance(out, tuple) else (out,)
    return all(isinstance(part, (np.ndarray, np.generic, int, float, list)) for part in parts)


def cotangent(out, seed):
    """Return a normal cotangent of one output, or of several in a tuple."""
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal(np.shape(part)) for part in (out if isinstance(out, tuple) else (out,))]
    parts = [part if part.ndim else float(part) for part in parts]
    return tuple(parts) if isinstance(out, tuple) else parts[0]


def pair_of(f, g, given, keywords=()):
    """Return the :class:`Pair` of a forward and a gradient function in any form.

    Parameters
    ----------
    f, g : callable
    given : dict
        The arguments of ``f`` by name.
    keywords : tuple
        Names of arguments that ``f`` takes by keyword only.

    Returns
    -------
    Pair

    Raises
    ------
    FormError
        If ``f`` raises, or no way to call ``g`` is found.
    """
    arguments, parameters = Arguments(given, tuple(keywords)), parameters_of(g)
    try:
        result = arguments.passed_to(f, _copies(given))
    except (Exception, SystemExit) as error:
        raise FormError(f"check: {raised(error, _name(f))}; {usage(f, g, given)}") from error

    def call(way, dout, out, extras):
        positional, named = way.arguments(leaves.duplicate(dout), leaves.duplicate(out), leaves.duplicate(extras),
                                          _copies(given))
        return g(*positional, **named)

    names = returned_names(g)
    ways, errors = [], []
    try:
        for way in ways_of(result, parameters, arguments, call, names):
            if isinstance(way, Exception):
                errors.append(way)
            else:
                ways.append(way)
                if way.fitting and way.call.takes_cotangent and not errors and not is_ambiguous(way, arguments):
                    break                               # the plainest reading works
    except SystemExit as error:
        errors.append(error)
    if not ways:
        why = raised(errors[0], _name(g)) if errors else f"{_name(g)} returns no gradient of {', '.join(given)}"
        raise FormError(f"check: {why}; {usage(f, g, given)}") from (errors[0] if errors else None)
    made = [(way, _pair(f, g, arguments, way)) for way in ways]
    return chosen(made)


def is_ambiguous(way, arguments):
    """Return whether the only gradient of a way might as well be that of another input of the same shape."""
    shapes = [np.shape(leaf.value) for leaf in arguments.spread if is_moved(leaf)]
    return len(way.paths) == 1 and len(shapes) > len(set(shapes))


def chosen(made):
    """Return the first pair whose numbers fit, else the first whose shapes do, else the first."""
    if len(made) == 1:
        return made[0][1]
    right = [pair for way, pair in made if way.fitting]
    return next((pair for pair in right if fits(pair)), right[0] if right else made[0][1])


def _pair(f, g, arguments, way):
    wrt = tuple(way.paths)
    shapes = {leaf.name: np.shape(leaf.value) for leaf in arguments.spread}

    def forward(source, *values):
        made = arguments.rebuilt(values)
        result = arguments.passed_to(source, made)
        out, extras = split(result, way.outputs)
        return reading.reduced(way.mode, out), (made, out, extras)

    def backward(source, dout, cache):
        made, out, extras = cache
        positional, named = way.call.arguments(dout, out, extras, made)
        result = source(*positional, **named)
        return tuple(reading.pulled(way.mode, dout, reading.at(result, way.paths[name]), shapes[name])
                     if reading.at(result, way.paths[name]) is not None else None for name in wrt)

    every = arguments.spread
    notes = [reading.MODES[way.mode].format(name=_name(g))] if reading.MODES[way.mode] else []
    if way.mode == "elementwise" and "out" in way.call.roles:
        notes = [f"{_name(g)} is called with the output of {_name(f)}, not with its input"]
    left = [leaf.name for leaf in every if is_moved(leaf) and leaf.name not in wrt]
    if left:
        notes.append(f"no gradient is returned for {', '.join(left)}, taken as data")
    return Pair(Adapted(f, forward), Adapted(g, backward), tuple(leaf.name for leaf in every), (f, g), None,
                tuple(leaf.value for leaf in every), wrt, tuple(notes))


def fits(pair):
    """Return whether the gradients of a pair agree with a difference along one direction, roughly."""
    rng = np.random.default_rng(1)
    try:
        out, cache = pair.forward(*_values(pair.inputs))
        dout = cotangent(out, 2)
        gradients = dict(zip(pair.wrt, pair.backward(dout, cache), strict=True))
        moves = {name: rng.standard_normal(np.shape(value)) for name, value in
                 zip(pair.names, pair.inputs, strict=True) if gradients.get(name) is not None}
        ends = []
        for sign in (1, -1):
            moved = [value if name not in moves else np.asarray(value, float) + sign * STEP * moves[name]
                     for name, value in zip(pair.names, pair.inputs, strict=True)]
            ends.append(_dot(dout, pair.forward(*moved)[0]))
        slope = (ends[0] - ends[1]) / (2 * STEP)
        expected = sum(float(np.sum(np.asarray(gradients[name]) * move)) for name, move in moves.items())
    except Exception:                                   # what raises does not fit
        return False
    return abs(slope - expected) <= CLOSE * (abs(slope) + abs(expected)) + 1e-12


def _dot(dout, out):
    parts = zip(dout, out, strict=True) if isinstance(out, tuple) else ((dout, out),)
    return float(sum(np.sum(np.asarray(a) * np.asarray(b)) for a, b in parts))


def _values(values):
    return [np.array(value, dtype=float) if leaves.is_array(value) and np.ndim(value) else value for value in values]


def _copies(given):
    return {name: leaves.duplicate(value) if leaves.is_container(value) or isinstance(value, np.ndarray) else value
            for name, value in given.items()}


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


def usage(f, g, given):
    """Return the expected form and a call that works, for a message."""
    inputs = ", ".join(given) or "x"
    several = f"({inputs},)" if len(given) == 1 else f"({inputs})"
    gradients = ", ".join(f"d{name}" for name in given) or "dx"
    return f"expected: out, cache = {_name(f)}({inputs}) and {gradients} = {_name(g)}(dout, cache), " \
        f"called as ibpcl.check({_name(f)}, {_name(g)}, {several})"
