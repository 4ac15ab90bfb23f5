"""Functions that return a loss together with its gradient: ``loss, dW, db = f(W, b, x)``."""

import inspect

import numpy as np

from ibpcl.verify.adapters import leaves, reading, state
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments, is_moved
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.pairs import of_modes
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import returned_names


def pair_of_loss(function, given, keywords=()):
    """Return the pair of a function, or a bound method, that returns a loss and gradients.

    The gradients may belong to arguments, to items inside them, to arrays in the attributes of a
    method's object, or to global arrays.

    Parameters
    ----------
    function : callable
        The function.
    given : dict of str to object
        Its arguments by name.
    keywords : tuple of str
        Names of keyword-only arguments.

    Returns
    -------
    Pair
        The loss and its gradient.

    Raises
    ------
    FormError
        If the function raises, or its result does not contain a loss and a gradient.
    """
    arguments = Arguments(given, tuple(keywords))
    holder = (
        function.__self__
        if inspect.ismethod(function) and not inspect.isclass(function.__self__)
        else None
    )
    source = function.__func__ if holder is not None else function
    title = getattr(function, "__name__", "f")
    usage = (
        f"expected: loss, gradient = {title}({', '.join(given)}), called as ibpcl.check({title}, "
        f"({', '.join(given)},)), or a gradient function beside it: ibpcl.check({title}, "
        f"{title}_vjp, ({', '.join(given)},))"
    )

    def run(called, values, held=()):
        copy = leaves.duplicate(holder)
        made = arguments.rebuilt(values[: len(arguments.spread)])
        others = list(zip(held, values[len(arguments.spread) :], strict=True))
        if holder is None:
            return _with_globals(
                called,
                {leaf.name: value for leaf, value in others},
                lambda: arguments.passed_to(called, made),
            ), copy
        for item, value in others:
            for path in item.paths:
                leaves.put(copy, path, value)
        return arguments.passed_to(lambda *a, **k: called(copy, *a, **k), made), copy

    parameters = []
    plain = [leaf.value for leaf in arguments.spread]
    try:
        result, after = run(source, [leaves.duplicate(value) for value in plain])
    except (Exception, SystemExit) as error:
        raise FormError(f"check: {raised(error, title)}; {usage}") from error
    names = returned_names(source)
    position = _position_of_loss(result, names)
    if position is None:
        raise FormError(
            f"check: {title} returns {_described(result)}, not a loss with its gradient; {usage}"
        )
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    if holder is not None:
        parameters = [
            item
            for item in state.parameters_in(holder, after, plain)
            if not state.is_gradient(item)
            and (np.ndim(item.value) or words.is_learned(str(item.paths[0][-1])))
        ]
    parameter_leaves = [
        reading.Leaf(item.name, item.paths[0], item.value) for item in parameters
    ] or globals_of(source)
    gradients = _without_item(result, position)
    names = _without_item(names, position) if isinstance(names, list) else None
    owners = moved
    found = reading.assigned(gradients, names, owners)
    if parameter_leaves and (found.extra or not found.paths):
        owners = moved + parameter_leaves
        found = reading.assigned(gradients, names, owners)
    if not found.paths:
        raise FormError(f"check: {title} returns no gradient of {', '.join(given)}; {usage}")
    by_name = {leaf.name: leaf for leaf in owners}
    matched = [(by_name[name], reading.at(gradients, path)) for name, path in found.paths.items()]
    held = [item for item in parameters or parameter_leaves if item.name in found.paths]
    every = [*arguments.spread, *held]
    wrt = tuple(leaf.name for leaf in every if leaf.name in found.paths)
    unjudged = tuple(
        reading.unjudged(
            found._replace(extra=[one for one in found.extra if _is_gradient(one)]),
            moved,
            False,
        )
    )
    owner = type(holder) if holder is not None else None
    fixed = [leaf.name for leaf in moved if leaf.name not in found.paths]
    note = f"no gradient is returned for {', '.join(fixed)}, which is treated as data"

    def pair_of(mode):
        shapes = {name: np.shape(by_name[name].value) for name in wrt}

        def forward(called, *values):
            returned, _ = run(called, values, held)
            return reading.reduced(mode, returned[position]), values

        def backward(called, dout, values):
            returned, _ = run(called, values, held)
            items = _without_item(returned, position)
            paths = reading.assigned(items, names, owners).paths
            values_of = [reading.at(items, paths[name]) if name in paths else None for name in wrt]
            return tuple(
                None if value is None else reading.pulled(mode, dout, value, shapes[name])
                for name, value in zip(wrt, values_of, strict=True)
            )

        return Pair(
            Adapted(source, forward, owner),
            Adapted(source, backward, owner),
            tuple(leaf.name for leaf in every),
            (source, source),
            None,
            tuple(leaf.value for leaf in every),
            wrt,
            (note,) if fixed else (),
            unjudged,
            mode=mode,
            shapes=reading.shapes_by_input(gradients, names, arguments.spread),
        )

    modes = reading.modes_of(result[position], matched, takes_cotangent=False, of_loss=True)
    return of_modes(modes, pair_of, title)


def _without_item(items, position):
    """Return the only other item of a sequence, or all others as a tuple or list."""
    left = [item for n, item in enumerate(items) if n != position]
    if len(left) == 1:
        return left[0]
    return left if isinstance(items, list) else tuple(left)


def _is_gradient(entry):
    """Return whether an entry is probably a gradient, and not another value beside the loss."""
    return words.looks_like_gradient(entry.name) or (not entry.name and np.ndim(entry.value) > 0)


def globals_of(function):
    """Return the global arrays that a function reads, which may be parameters.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    list of ibpcl.verify.adapters.reading.Leaf
        One for each floating-point array, in the order of the bytecode's names.
    """
    code = getattr(function, "__code__", None)
    scope = getattr(function, "__globals__", {})
    return [
        reading.Leaf(name, (name,), scope[name])
        for name in getattr(code, "co_names", ())
        if isinstance(scope.get(name), np.ndarray) and leaves.is_array(scope[name])
    ]


def _with_globals(function, values, call):
    """Call a function while global variables of another function's module have other values."""
    scope = getattr(function, "__globals__", {})
    before = {name: scope[name] for name in values}
    scope.update({name: np.array(value) for name, value in values.items()})
    try:
        return call()
    finally:
        scope.update(before)


def _position_of_loss(result, names):
    """Return the position of the loss in a result, or None.

    It is the first single number, or the first item if gradients follow it.
    """
    if not isinstance(result, (tuple, list)) or len(result) < 2:
        return None
    numbers = [n for n, item in enumerate(result) if leaves.is_array(item) and np.size(item) == 1]
    if numbers:
        return numbers[0]
    listed = names if isinstance(names, list) else []
    named = any(isinstance(name, str) and words.looks_like_gradient(name) for name in listed[1:])
    return 0 if leaves.is_array(result[0]) and named else None


def _described(result):
    if isinstance(result, (tuple, list)):
        return f"{type(result).__name__} of {len(result)}"
    shape = f" of shape {result.shape}" if isinstance(result, np.ndarray) and result.ndim else ""
    return f"one {type(result).__name__}{shape}"
