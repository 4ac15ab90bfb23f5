"""Pairs of two functions in any of the usual forms.

The gradient function may take the cotangent and a cache, the inputs, or the output.  It may take no
cotangent and return a derivative or a Jacobian.  The forward may return its output alone.  The
names of the parameters decide how the gradient function is called, and the shapes of its results
decide of what they are the gradient; no number is compared.  If two readings remain, the pair has
both.
"""

from dataclasses import replace

import numpy as np

from ibpcl.verify.adapters import binding, leaves, reading
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments, is_moved
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import parameters_of, returned_names

LOSS_WORDS = frozenset(
    {"loss", "losses", "cost", "costs", "error", "errors", "objective", "entropy"}
    | {"nll", "mse", "mae", "bce", "crossentropy"}
)


def pair_of(f, g, given, keywords=(), output=None):
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
    output : bool, optional
        Whether ``g`` takes the output of ``f`` (True) or its input (False), if its names leave
        both.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If ``f`` raises, or the meaning of a parameter of ``g`` is unknown.
    """
    arguments = Arguments(given, tuple(keywords))
    parameters = parameters_of(g)
    try:
        result = arguments.passed_to(f, copies(given))
    except (Exception, SystemExit) as error:
        raise FormError(f"check: {raised(error, _name(f))}; {usage(f, g, given)}") from error
    outputs = n_outputs(result, parameters)
    extras = split(result, outputs)[1]
    forward = binding.Forward(
        _name(f), list(given), len(extras), max(outputs, 1), returned_names(f)
    )
    if not any(map(leaves.is_array, _parts(split(result, outputs)[0]))):
        return _of_cache_alone(f, g, given, result)
    made = []
    for way in binding.readings_of(g, parameters, forward, output):
        made.append(_of_reading(f, g, arguments, outputs, result, way))
    if len(made) == 1 and made[0].raised is not None and _are_all_outputs(result, made[0], way):
        return _of_reading(f, g, arguments, len(result), result, way)
    return joined(made)


def _are_all_outputs(result, pair, way):
    """Return whether a gradient function that raises may expect a cotangent for each result.

    It uses no result of the forward as a cache, and it unpacks its cotangent.
    """
    uses_cache = any(role == "cache" or isinstance(role, int) for role in way.call.roles)
    return (
        isinstance(result, tuple)
        and len(result) > 1
        and all(map(leaves.is_array, result))
        and not uses_cache
        and "to unpack" in str(pair.raised)
    )


def _of_cache_alone(f, g, given, result):
    """Raise the error for a forward without a floating-point output."""
    out = split(result, n_outputs(result, parameters_of(g)))[0]
    kind = type(out).__name__
    if out is None:
        raise FormError(
            f"check: {_name(f)} returns None: it is not implemented yet, or its return statement "
            "is missing",
            in_gradient=True,
        )
    if isinstance(out, (np.ndarray, np.generic, int)):
        raise FormError(
            f"check: {_name(f)} returns only {np.asarray(out).dtype}, which has no derivative; "
            "return floats"
        )
    raise FormError(
        f"check: {_name(f)} returns no output, only a {kind}; write a function of the same inputs "
        f"that returns the output that {_name(g)} differentiates; {usage(f, g, given)}"
    )


def joined(made):
    """Return the first of several pairs, which has the others as alternatives.

    Parameters
    ----------
    made : list of Pair
        One pair for each reading.

    Returns
    -------
    Pair
        The likeliest reading.
    """
    first, *others = made
    return replace(first, alternatives=(*first.alternatives, *others))


def of_modes(modes, make, returned_by):
    """Return the pair of a gradient that may be that of several functions of the output.

    Parameters
    ----------
    modes : list of str
        Keys of :data:`ibpcl.verify.adapters.reading.MODES`, from
        :func:`ibpcl.verify.adapters.reading.modes_of`.
    make : callable
        ``make(mode)`` returns the pair for one of them.
    returned_by : str
        Name of the forward, for the line that tells what to declare.

    Returns
    -------
    Pair
        The pair of the first mode.  A second one is an alternative to the sum, and otherwise an
        excuse.
    """
    if len(modes) == 1:
        return make(modes[0])
    first, second = (
        replace(
            make(mode),
            assumed=f"it is the gradient of {reading.MEANT[mode]}",
            declare=f"let {returned_by} return what is differentiated",
        )
        for mode in modes
    )
    if modes[0] == "sum":
        return replace(first, alternatives=(second,))
    return replace(first, excuses=(second,))


def n_outputs(result, parameters):
    """Return the number of outputs in the result of a forward; 0 if the whole result is one output.

    Parameters
    ----------
    result : object
        The result.
    parameters : Parameters
        Parameters of the gradient function; several cotangents mean several outputs.

    Returns
    -------
    int
        The number of outputs, for :func:`split`.
    """
    if not isinstance(result, tuple) or len(result) < 2:
        return 0
    cotangents = sum(map(words.is_cotangent, parameters.required))
    if cotangents > 1 and (cotangents <= len(result) or cotangents == _outputs_in_tuple(result)):
        return cotangents
    return 1


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
    return len(first) if isinstance(first, tuple) and all(map(leaves.is_array, first)) else 0


def _parts(out):
    return out if isinstance(out, tuple) else (out,)


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
    parts = [rng.standard_normal(np.shape(part)) for part in _parts(out)]
    parts = [part if part.ndim else float(part) for part in parts]
    return tuple(parts) if isinstance(out, tuple) else parts[0]


def _of_reading(f, g, arguments, outputs, result, way):
    """Return the pair of one reading."""
    out, extras = split(result, outputs)
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    positional, named = way.call.arguments(
        cotangent(out, 0), leaves.duplicate(out), leaves.duplicate(extras), copies(arguments.given)
    )
    names = returned_names(g)
    try:
        returned = g(*positional, **named)
    except NotImplementedError as error:
        raise FormError(f"check: {raised(error, _name(g))}", in_gradient=True) from error
    except (Exception, SystemExit) as error:  # the mistake is found when the pair is judged
        learned = [leaf for leaf in moved if not reading.is_fixed(leaf)] or moved
        made = _pair(f, g, arguments, outputs, way, "vjp", learned, (), names)
        return replace(made, raised=error)
    if returned is None:
        raise FormError(
            f"check: {_name(g)} returns None: it is not implemented yet, or its return statement "
            "is missing",
            in_gradient=True,
        )
    found = reading.assigned(returned, names, moved, arguments.spread)
    if not found.paths:
        _refuse_objects(g, returned, moved)
        raise FormError(
            f"check: {_name(g)} returns no gradient of {', '.join(arguments.given)}; "
            f"{usage(f, g, arguments.given)}",
            in_gradient=True,
        )
    if found.positions is not None:
        return _of_two_orders(f, g, arguments, outputs, way, moved, names, found)
    judged = [leaf for leaf in moved if leaf.name in found.paths]
    matched = [(leaf, reading.at(returned, found.paths[leaf.name])) for leaf in judged]
    of_loss = not LOSS_WORDS.isdisjoint(words.tokens(_name(f)))
    main = out[0] if isinstance(out, tuple) else out
    modes = reading.modes_of(main, matched, way.call.takes_cotangent, of_loss)
    unjudged = tuple(reading.unjudged(found, moved, way.call.takes_cotangent))
    made = of_modes(
        modes,
        lambda mode: _pair(f, g, arguments, outputs, way, mode, judged, unjudged, names),
        _name(f),
    )
    return replace(made, shapes=reading.shapes_by_input(returned, names, arguments.spread))


def _refuse_objects(g, returned, moved):
    """Raise an error for a gradient that is an array of something else than numbers."""
    for value in returned if isinstance(returned, tuple) else (returned,):
        if isinstance(value, np.ndarray) and value.dtype.kind in "OUSV":
            other = next((one for one in value.flat if isinstance(one, str)), value.flat[0])
            raise FormError(
                f"check: {_name(g)} must return numbers, but its gradient of "
                f"{', '.join(leaf.name for leaf in moved)} is an array of {value.dtype} with "
                f"{other!r} in it",
                in_gradient=True,
            )


def _of_two_orders(f, g, arguments, outputs, way, moved, names, found):
    """Return the pair of gradients whose names contradict their order: right only if both are."""
    by_path = {path: leaf for leaf in moved for path in [found.paths.get(leaf.name)] if path}
    named = [by_path[path] for path in sorted(by_path)]
    mode = "vjp" if way.call.takes_cotangent else "loss"
    made = []
    for order, listed in ((moved, None), (named, names)):
        text = ", ".join(leaf.name for leaf in order)
        every = moved if listed is None else [leaf for leaf in moved if leaf.name in found.paths]
        pair = _pair(f, g, arguments, outputs, way, mode, every, (), listed)
        assumed = f"the gradients stand in the order {text}"
        made.append(replace(pair, assumed=assumed, declare=f"say so with wrt (--wrt {text})"))
    return joined(made)


def _pair(f, g, arguments, outputs, way, mode, judged, unjudged, names):
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    wrt = tuple(leaf.name for leaf in judged)
    shapes = {leaf.name: np.shape(leaf.value) for leaf in arguments.spread}

    def forward(source, *values):
        made = arguments.rebuilt(values)
        out, extras = split(arguments.passed_to(source, made), outputs)
        return reading.reduced(mode, out), (made, out, extras)

    def backward(source, dout, cache):
        made, out, extras = cache
        positional, named = way.call.arguments(dout, out, extras, made)
        result = source(*positional, **named)
        paths = reading.assigned(result, names, moved, arguments.spread).paths
        gradients = [reading.at(result, paths[name]) if name in paths else None for name in wrt]
        return tuple(
            None if gradient is None else reading.pulled(mode, dout, gradient, shapes[name])
            for name, gradient in zip(wrt, gradients, strict=True)
        )

    notes = [reading.MODES[mode].format(name=_name(g))] if reading.MODES[mode] else []
    if mode == "elementwise" and "out" in way.call.roles:
        notes = [f"{_name(g)} is called with the output of {_name(f)}, not with its input"]
    fixed = [leaf.name for leaf in moved if leaf not in judged]
    if fixed and not unjudged:
        notes.append(f"no gradient is returned for {', '.join(fixed)}, which is treated as data")
    return Pair(
        Adapted(f, forward),
        Adapted(g, backward),
        tuple(leaf.name for leaf in arguments.spread),
        (f, g),
        None,
        tuple(leaf.value for leaf in arguments.spread),
        wrt,
        tuple(notes),
        unjudged,
        way.assumed,
        way.declare,
        mode,
    )


def copies(given):
    """Return copies of arguments, so that a call cannot change them.

    Parameters
    ----------
    given : dict of str to object
        The arguments by name.

    Returns
    -------
    dict of str to object
        Copies of arrays and collections; other values stay.
    """
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
