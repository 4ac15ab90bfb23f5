"""Pairs of two functions in any of the usual forms.

The gradient function may take the cotangent and a cache, the inputs, or the output.  It may take no
cotangent and return a derivative or a Jacobian.  The forward may return its output alone.  Where
names leave several readings, they are tried.  The first one is used that gives gradients of the
right shapes, and right numbers if any reading does.
"""

from dataclasses import replace

import numpy as np

from ibpcl.verify.doors import implied, leaves, reading, schemes
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.arguments import Arguments, is_moved
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import parameters_of, returned_names
from ibpcl.verify.doors.ways import cotangent, is_ambiguous, split, ways_of

# Step and relative tolerance of the quick comparison that decides between two readings.
STEP = 1e-6
CLOSE = 1e-4


def pair_of(f, g, given, keywords=()):
    """Return the pair of a forward and a gradient function in any form.

    Parameters
    ----------
    f : callable
        Forward function.
    g : callable
        Gradient function.
    given : dict of str to object
        The arguments of ``f`` by name.
    keywords : tuple of str
        Names of keyword-only arguments of ``f``.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If ``f`` raises, or no way to call ``g`` is found.
    """
    parameters = parameters_of(g)
    label = implied.label_of(parameters, given)
    if label is None or any(map(words.is_cotangent, parameters.required)):
        return _of_loss(f, g, given, keywords)
    # the label may also be a name for the output
    try:
        plain = _of_loss(f, g, given, keywords)
    except FormError:
        return _of_implied_loss(f, g, given, keywords, label)
    if fits(plain):
        return plain
    try:
        return _of_implied_loss(f, g, given, keywords, label)
    except FormError:
        return plain


def _of_implied_loss(f, g, given, keywords, label):
    """Return the pair of a gradient that begins with a loss of the output and labels.

    A loss that stands in the file is taken first, then the first usual loss that fits.  If none
    fits, the gradient is judged with the loss in the file.
    """
    own = list(implied.losses_in(g, label))
    out = split(_result(f, g, given, keywords), 1)[0]
    every = [
        *((words_of, loss, labels) for words_of, loss in own for labels in implied.labels_for(out)),
        *(
            (words_of, lambda out, y, loss=loss, of=labels: loss(*of.arguments(out, y)), labels)
            for labels in implied.labels_for(out)
            for words_of, loss in implied.LOSSES.items()
        ),
    ]
    first = None
    for words_of, loss, labels in every:
        try:
            with np.errstate(all="ignore"):
                pair = _of_loss(f, g, {**given, label: labels.values}, keywords, (label, loss))
                fitting = fits(pair)
        except FormError:  # the loss does not fit the output
            continue
        note = f"the loss inside {_name(g)} is assumed to be {words_of.format(y=label)}"
        pair = replace(pair, notes=(*pair.notes, note))
        if fitting:
            return pair
        first = first or (pair if own else None)
    if first is not None:
        return first
    raise FormError(
        f"check: {_name(g)} takes {label}, which {_name(f)} does not take, but its gradients do "
        f"not fit any of the usual losses; put the loss into the file as cost(output, {label}), "
        f"or let {_name(g)} take dout",
        in_gradient=True,
    )


def _result(f, g, given, keywords):
    """Return the result of a forward; an exception becomes a FormError."""
    try:
        return Arguments(given, tuple(keywords)).passed_to(f, _copies(given))
    except (Exception, SystemExit) as error:
        raise FormError(f"check: {raised(error, _name(f))}; {usage(f, g, given)}") from error


def _of_loss(f, g, given, keywords, loss=None):
    """Return the pair of two functions; with ``loss = (label, function)``, that of a loss.

    ``function(out, labels)`` is then the loss of the output, whose gradient ``g`` returns.
    """
    arguments = Arguments(given, tuple(keywords))
    parameters = parameters_of(g)
    shown = {name: value for name, value in given.items() if loss is None or name != loss[0]}
    result = _result(f, g, shown, keywords)

    def call(way, dout, out, extras):
        positional, named = way.arguments(
            leaves.duplicate(dout), leaves.duplicate(out), leaves.duplicate(extras), _copies(given)
        )
        return g(*positional, **named)

    names = returned_names(g)
    ways = []
    errors = []
    try:
        data = () if loss is None else (loss[0],)
        for way in ways_of(result, parameters, arguments, call, names, forward=f, data=data):
            if isinstance(way, Exception):
                errors.append(way)
            elif loss is not None:
                place = parameters.required.index(loss[0])
                if not way.call.takes_cotangent and way.call.positional[place] == (loss[0],):
                    ways.append(way._replace(mode="loss"))
            else:
                ways.append(way)
                if (
                    way.fitting
                    and way.call.takes_cotangent
                    and words.has_clear_cotangent(parameters.required)
                    and not errors
                    and not is_ambiguous(way, arguments)
                ):
                    break  # the plainest reading works
    except SystemExit as error:
        errors.append(error)
    if not ways:
        why = (
            raised(errors[0], _name(g))
            if errors
            else f"{_name(g)} returns no gradient of {', '.join(given)}"
        )
        raise FormError(f"check: {why}; {usage(f, g, given)}", in_gradient=True) from (
            errors[0] if errors else None
        )
    made = [(way, _pair(f, g, arguments, way, loss)) for way in ways]
    return chosen(made)


def chosen(made):
    """Return the first pair whose numbers fit, else the first whose shapes fit, else the first.

    Parameters
    ----------
    made : list of (Way, Pair)
        At least one way to call the gradient function, with its pair.

    Returns
    -------
    Pair
        The chosen one.
    """
    if len(made) == 1:
        return made[0][1]
    right = [pair for way, pair in made if way.fitting]
    return next((pair for pair in right if fits(pair)), right[0] if right else made[0][1])


def _pair(f, g, arguments, way, loss=None):
    wrt = tuple(way.paths)
    shapes = {leaf.name: np.shape(leaf.value) for leaf in arguments.spread}

    def forward(source, *values):
        made = arguments.rebuilt(values)
        if loss is None:
            out, extras = split(arguments.passed_to(source, made), way.outputs)
            return reading.reduced(way.mode, out), (made, out, extras)
        label, of_output = loss
        shown = {name: value for name, value in made.items() if name != label}
        out, extras = split(arguments.passed_to(source, shown), way.outputs)
        return of_output(out, made[label]), (made, out, extras)

    def backward(source, dout, cache):
        made, out, extras = cache
        positional, named = way.call.arguments(dout, out, extras, made)
        result = source(*positional, **named)
        return tuple(
            reading.pulled(way.mode, dout, reading.at(result, way.paths[name]), shapes[name])
            if reading.at(result, way.paths[name]) is not None
            else None
            for name in wrt
        )

    every = arguments.spread
    mode_words = reading.MODES[way.mode] if loss is None else ""
    notes = [mode_words.format(name=_name(g))] if mode_words else []
    if way.mode == "elementwise" and "out" in way.call.roles:
        notes = [f"{_name(g)} is called with the output of {_name(f)}, not with its input"]
    left = [
        leaf.name
        for leaf in every
        if is_moved(leaf)
        and leaf.name not in wrt
        and not schemes.is_settings(leaf.keys[0])
        and (loss is None or leaf.keys[0] != loss[0])
    ]
    if left:
        notes.append(f"no gradient is returned for {', '.join(left)}, which is treated as data")
    return Pair(
        Adapted(f, forward),
        Adapted(g, backward),
        tuple(leaf.name for leaf in every),
        (f, g),
        None,
        tuple(leaf.value for leaf in every),
        wrt,
        tuple(notes),
    )


def fits(pair):
    """Return whether the gradients of a pair roughly agree with a difference along one direction.

    Parameters
    ----------
    pair : Pair
        The pair.

    Returns
    -------
    bool
        False also if a function raises.
    """
    rng = np.random.default_rng(1)
    try:
        out, cache = pair.forward(*_values(pair.inputs))
        dout = cotangent(out, 2)
        gradients = dict(zip(pair.wrt, pair.backward(dout, cache), strict=True))
        moves = {
            name: rng.standard_normal(np.shape(value))
            for name, value in zip(pair.names, pair.inputs, strict=True)
            if gradients.get(name) is not None
        }
        ends = []
        for sign in (1, -1):
            moved = [
                value if name not in moves else np.asarray(value, float) + sign * STEP * moves[name]
                for name, value in zip(pair.names, pair.inputs, strict=True)
            ]
            ends.append(_dot(dout, pair.forward(*moved)[0]))
        slope = (ends[0] - ends[1]) / (2 * STEP)
        expected = sum(
            float(np.sum(np.asarray(gradients[name]) * move)) for name, move in moves.items()
        )
    except Exception:  # code under check may raise anything
        return False
    return abs(slope - expected) <= CLOSE * (abs(slope) + abs(expected)) + 1e-12


def _dot(dout, out):
    parts = zip(dout, out, strict=True) if isinstance(out, tuple) else ((dout, out),)
    return float(sum(np.sum(np.asarray(a) * np.asarray(b)) for a, b in parts))


def _values(values):
    return [
        np.array(value, dtype=float) if leaves.is_array(value) and np.ndim(value) else value
        for value in values
    ]


def _copies(given):
    return {
        name: leaves.duplicate(value)
        if leaves.is_container(value) or isinstance(value, np.ndarray)
        else value
        for name, value in given.items()
    }


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


def usage(f, g, given):
    """Return the expected form and a call that works, for an error message.

    Parameters
    ----------
    f : callable
        Forward function.
    g : callable
        Gradient function.
    given : collection of str
        Names of the inputs.

    Returns
    -------
    str
        Part of a sentence.
    """
    inputs = ", ".join(given) or "x"
    several = f"({inputs},)" if len(given) == 1 else f"({inputs})"
    gradients = ", ".join(f"d{name}" for name in given) or "dx"
    return (
        f"expected: out, cache = {_name(f)}({inputs}) and {gradients} = {_name(g)}(dout, cache), "
        f"called as ibpcl.check({_name(f)}, {_name(g)}, {several})"
    )
