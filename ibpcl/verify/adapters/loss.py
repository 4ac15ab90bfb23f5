"""A function or method that returns a loss with its gradient: ``loss, dW, db = f(W, b, x)``."""

import inspect
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import leaves, reading, state
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments
from ibpcl.verify.adapters.build import Routine, build, evaluated
from ibpcl.verify.adapters.construction import constructed
from ibpcl.verify.adapters.refusals import FormError
from ibpcl.verify.adapters.signatures import parameters_of, returned_names

# Words in the names of methods that may return a loss with its gradient.
OF_METHODS = frozenset({"loss", "cost", "objective"})
# Names of a loss that a function returns first.
NAMES = frozenset({"loss", "cost", "j", "objective", "nll", "error", "mse", "l"})


class Source(NamedTuple):
    """The function that returns the loss.

    Attributes
    ----------
    function : callable
        The function, or an unbound method.
    holder : object
        The object of a bound method; None for a function.
    title : str
        Its name.
    paths : dict of str to tuple
        Paths in the object by the name of an array.
    """

    function: object
    holder: object
    title: str
    paths: dict

    def run(self, called, arguments, values, held):
        """Call the function with values of its arguments, and of arrays that it reaches otherwise.

        Parameters
        ----------
        called : callable
            The function, or another version of it.
        arguments : Arguments
            Its arguments.
        values : sequence
            Values of the arguments' leaves.
        held : dict of str to ndarray
            Values of arrays in the object or of global arrays, by name.

        Returns
        -------
        result : object
            What the function returns.
        holder : object
            The copy of the object after the call.
        """
        made = arguments.rebuilt(values)
        if self.holder is None:
            return _with_globals(called, held, lambda: arguments.passed_to(called, made)), None
        copy = leaves.duplicate(self.holder)
        for name, value in held.items():
            for path in self.paths[name]:
                leaves.put(copy, path, value)
        return arguments.passed_to(lambda *a, **k: called(copy, *a, **k), made), copy


def recognise(code):
    """Return the pair of a function, method, class or object that returns a loss and gradients.

    The gradients may belong to arguments, to items inside them, to arrays in the attributes of a
    method's object, or to global arrays.

    Parameters
    ----------
    code : Code
        The user's code.

    Returns
    -------
    Pair or None
        None for other forms.

    Raises
    ------
    FormError
        If the function raises, or its result does not contain a loss and a gradient.
    """
    function = code.forward
    inputs = code.inputs
    if code.gradient is not None:
        return None
    if inspect.isclass(function) and method_of(function) is not None:
        function, inputs = constructed(function, inputs)
    if not inspect.isroutine(function) and method_of(type(function)) is not None:
        function = getattr(function, method_of(type(function)))
    if inspect.isclass(function) or not callable(function):
        return None
    given, keywords = code._replace(inputs=inputs).named(parameters_of(function))
    arguments = Arguments(given, tuple(keywords))
    bound = inspect.ismethod(function) and not inspect.isclass(function.__self__)
    source = Source(
        function.__func__ if bound else function,
        function.__self__ if bound else None,
        getattr(function, "__name__", "f"),
        {},
    )
    return build(_routine(source, arguments))


def _routine(source, arguments):
    """Return how a function that returns its loss with gradients is run."""
    title = source.title
    listed = ", ".join(arguments.given)
    usage = (
        f"expected: loss, gradient = {title}({listed}), called as ibpcl.check({title}, ({listed},))"
        f", or a gradient function beside it: ibpcl.check({title}, {title}_vjp, ({listed},))"
    )
    inputs = arguments.spread
    plain = [leaf.value for leaf in inputs]
    result, after = evaluated(
        lambda: source.run(source.function, arguments, list(map(leaves.duplicate, plain)), {}),
        title,
        usage,
    )
    names = returned_names(source.function)
    position = _position_of_loss(result, names)
    if position is None:
        raise FormError(
            f"{title} returns {_described(result)}, not a loss with its gradient", usage
        )
    if source.holder is None:
        parameters = globals_of(source.function)
    else:
        held = _learned_in(source.holder, after, plain)
        source.paths.update({item.name: item.paths for item in held})
        parameters = [reading.Leaf(item.name, item.paths[0], item.value) for item in held]
    names = without_item(names, position) if isinstance(names, list) else None
    moved = [leaf for leaf in inputs if reading.is_moved(leaf)]

    def evaluate(called, values, held):
        returned, _ = source.run(called, arguments, values, held)
        return returned[position], (values, held)

    def pull(called, dout, cache):
        returned, _ = source.run(called, arguments, *cache)
        return without_item(returned, position)

    def assign(gradients):
        found = reading.assigned(gradients, names, moved)
        if parameters and (found.extra or not found.paths):
            found = reading.assigned(gradients, names, moved + parameters)
        extra = [entry for entry in found.extra if _is_gradient(entry)]
        return found._replace(extra=extra, positions=None)

    return Routine(
        source.function,
        source.function,
        title,
        evaluate,
        pull,
        assign,
        inputs,
        usage,
        takes_cotangent=False,
        parameters=parameters,
        returned_names=names,
        is_loss=True,
        name=title,
        owner=type(source.holder) if source.holder is not None else None,
    )


def _learned_in(holder, after, arguments):
    """Return the arrays of an object that it may learn."""
    return [
        item
        for item in state.parameters_in(holder, after, arguments)
        if not state.is_gradient(item)
        and (np.ndim(item.value) or words.is_learned(str(item.paths[0][-1])))
    ]


def method_of(kind):
    """Return the name of a method that returns a loss with gradients.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    str or None
        None if there is no such method.
    """
    return next(
        (
            name
            for name in dir(kind)
            if not OF_METHODS.isdisjoint(words.tokens(name))
            and inspect.isfunction(getattr(kind, name))
            and returns_gradients(getattr(kind, name))
        ),
        None,
    )


def returns_gradients(function):
    """Return whether a function returns a value followed by gradients, according to its source.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    bool
        True if the last ``return`` names a tuple whose later items have names of gradients.
    """
    names = returned_names(function)
    if not isinstance(names, list) or len(names) < 2 or not isinstance(names[0], str):
        return False
    known = parameters_of(function).every
    if any(_names_gradient(name, known) for name in names[1:]):
        return not words.looks_like_gradient(names[0])
    if words.plain(names[0]) in NAMES and names[1:] in (["dout"], ["delta"]):
        return True
    # expressions have no names: `return loss, (p - y) / n`
    return words.plain(names[0]) in NAMES and all(name is None for name in names[1:])


def _names_gradient(name, parameters):
    """Return whether a name is that of a gradient, or of one of several parameters."""
    if isinstance(name, list):
        return any(_names_gradient(one, parameters) for one in name)
    return isinstance(name, str) and (
        words.looks_like_gradient(name)
        or any(words.is_gradient_of(name, parameter) for parameter in parameters)
    )


def without_item(items, position):
    """Return the only other item of a sequence, or all others as a tuple or list.

    Parameters
    ----------
    items : tuple or list
        The sequence.
    position : int
        The item to leave out.

    Returns
    -------
    object
        The only other item, or a sequence of the same type.
    """
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
