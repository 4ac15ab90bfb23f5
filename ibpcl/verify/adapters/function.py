"""Two functions: a forward and its gradient, which takes a cache, the inputs or the output.

``dx, dw = f_vjp(dout, cache)`` takes the gradient from above.  ``tanh_prime(x)`` takes none and
returns a derivative.  The names of the parameters decide how the gradient function is called, and
the shapes of its results decide what they differentiate.
"""

import inspect
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import binding, leaves, reading
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments
from ibpcl.verify.adapters.build import (
    LOSS_WORDS,
    Routine,
    build,
    cotangent,
    evaluated,
    joined,
    require_output,
)
from ibpcl.verify.adapters.pair import Adapted
from ibpcl.verify.adapters.refusals import FormError
from ibpcl.verify.adapters.signatures import parameters_of, returned_names

# Words in flags that do not ask for a derivative: `requires_grad`, `zero_grad`.
SWITCHES = frozenset({"requires", "require", "needs", "need", "retain", "zero", "clip", "no"})


class Cache(NamedTuple):
    """What a forward call leaves for the gradient function.

    Attributes
    ----------
    inputs : dict of str to object
        The arguments that the gradient function takes, by name.
    out : ndarray, float or tuple
        The output; None if the gradient function does not take it.
    extras : tuple
        Everything else that the forward returned.
    """

    inputs: dict
    out: object
    extras: tuple


def recognise(code):
    """Return the pair of two functions, or None if there is no gradient function.

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
        If the forward raises, or the meaning of a parameter of the gradient function is unknown.
    """
    if code.gradient is None:
        return None
    given, keywords = code.named(parameters_of(code.forward))
    shared = _shared_defaults(code.forward, code.gradient, given)
    return pair_of(
        code.forward, code.gradient, {**given, **shared}, [*keywords, *shared], code.output
    )


def _shared_defaults(f, g, given):
    """Return arguments that the gradient function requires and that have a default in the forward.

    A stride is an example: ``conv(x, w, stride=1)`` with ``conv_backward(dout, x, w, stride)``.
    """
    optional = parameters_of(f).optional
    return {
        name: inspect.signature(f).parameters[name].default
        for name in parameters_of(g).required
        if name in optional and name not in given
    }


def pair_of(f, g, given, keywords=(), output=None):
    """Return the pair of a forward and a gradient function.

    Parameters
    ----------
    f : callable
        Forward function.
    g : callable
        Gradient function.
    given : dict of str to object
        The arguments of ``f`` by name.
    keywords : sequence of str
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
    result = evaluated(
        lambda: arguments.passed_to(f, leaves.duplicate(given)), title_of(f), usage(f, g, given)
    )
    outputs = n_outputs(result, parameters)
    out, extras = split(result, outputs)
    require_output(out, title_of(f), title_of(g), usage(f, g, given))
    forward = binding.Forward(
        title_of(f), list(given), len(extras), max(outputs, 1), returned_names(f)
    )
    ways = binding.readings_of(g, parameters, forward, output)
    pair = joined([build(_routine(f, g, arguments, outputs, way)) for way in ways])
    return with_all_outputs(
        pair,
        ways[0],
        result,
        outputs,
        title_of(f),
        lambda every: build(_routine(f, g, arguments, every, ways[0])),
    )


def with_all_outputs(pair, way, result, outputs, title, make):
    """Return a pair with an excuse if its backward raises: it may take a tuple as ``dout``.

    Parameters
    ----------
    pair : Pair
        The pair, in which ``dout`` belongs to the first output.
    way : ibpcl.verify.adapters.binding.Reading
        How the gradient function is called.
    result : object
        What the forward returns.
    outputs : int
        The number of outputs in it, as :func:`n_outputs` counts them.
    title : str
        Name of the forward.
    make : callable
        ``make(number)`` returns the pair with more outputs.

    Returns
    -------
    Pair
        The same pair if it does not raise, if other results of the forward than its output are
        used, or if one of them is not an array.
    """
    extras = [role for role in way.call.roles if role == "cache" or isinstance(role, int)]
    if pair.raised is None or outputs != 1 or extras or not all(map(leaves.is_array, result)):
        return pair
    try:
        other = make(len(result))
    except FormError:
        return pair
    declare = "take one parameter for each output, as in backward(dh, dc)"
    every = f"dout is a tuple, with one array for each output of {title}"
    return replace(
        pair,
        assumed=f"dout belongs to the first output of {title}",
        declare=declare,
        excuses=(*pair.excuses, replace(other, assumed=every, declare=declare)),
    )


def _routine(f, g, arguments, outputs, way):
    """Return how two functions are run in one reading."""
    names = returned_names(g)
    inputs = arguments.spread
    moved = [leaf for leaf in inputs if reading.is_moved(leaf)]

    def evaluate(source, values, held):
        made = arguments.rebuilt(values)
        out, extras = split(arguments.passed_to(source, made), outputs)
        taken = {name: value for name, value in made.items() if (name,) in way.call.roles}
        return out, Cache(taken, out if "out" in way.call.roles else None, extras)

    def pull(source, dout, cache):
        positional, named = way.call.arguments(dout, cache.out, cache.extras, cache.inputs)
        return source(*positional, **named)

    def notes(found, mode):
        if mode == "elementwise" and "out" in way.call.roles:
            return [f"{title_of(g)} is called with the output of {title_of(f)}, not with its input"]
        return usual(found, mode)

    made = Routine(
        f,
        g,
        title_of(g),
        evaluate,
        pull,
        lambda result: reading.assigned(result, names, moved, inputs),
        inputs,
        usage(f, g, arguments.given),
        way.call.takes_cotangent,
        returned_names=names,
        is_loss=not LOSS_WORDS.isdisjoint(words.tokens(title_of(f))),
        name=title_of(f),
        assumed=way.assumed,
        declare=way.declare,
    )
    usual = made.usual_notes
    return made._replace(notes=notes)


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
    are_outputs = 1 < cotangents <= len(result) and all(map(leaves.is_array, result[:cotangents]))
    return cotangents if are_outputs else 1


def split(result, outputs):
    """Split the result of a forward into the output and everything else.

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
    return (result[0] if outputs == 1 else tuple(result[:outputs])), tuple(result[outputs:])


def is_standard(code, wrt):
    """Return whether code has the form ``out, cache = f(...)`` and ``f_vjp(dout, cache)``.

    It returns one gradient for each floating-point input, or for each name in ``wrt``, in their
    order.

    Parameters
    ----------
    code : Code
        The user's code.
    wrt : sequence of int or str, or None
        The inputs to differentiate.

    Returns
    -------
    bool
        False also if one of the functions raises, except if the gradient function then raises for
        another reason than its arguments.
    """
    f = code.forward
    g = code.gradient
    given, keywords = code.named(parameters_of(f))
    if any(leaves.is_container(value) for value in given.values()):
        return False
    if len(parameters_of(g).every) < 2 and not parameters_of(g).open_ended:
        return False
    arguments = Arguments(given, tuple(keywords))
    try:
        result = arguments.passed_to(f, leaves.duplicate(given))
    except (Exception, SystemExit):  # the adapter raises an error with a message
        return False
    if not isinstance(result, tuple) or len(result) != 2 or not _are_outputs(result[0]):
        return False
    if not _takes_cache(f, g, list(given)):
        return False
    try:
        returned = g(cotangent(result[0], 0), result[1])
    except (Exception, SystemExit):  # the mistake is found, and named, when the pair is judged
        return wrt is not None or _runs_exchanged(g, *result)
    moved = [leaf for leaf in arguments.spread if reading.is_moved(leaf)]
    return wrt is not None or _are_gradients(returned, len(moved))


def _are_outputs(out):
    """Return whether a value is one or several floating-point outputs."""
    parts = out if isinstance(out, (tuple, list)) else (out,)
    return bool(parts) and all(leaves.is_array(part) for part in parts)


def _takes_cache(f, g, inputs):
    """Return whether a gradient function is called with the cotangent and the cache.

    Exchanged arguments are a mistake, which is reported when the pair is judged.
    """
    parameters = parameters_of(g)
    if len(parameters.required) != 2:
        return True
    forward = binding.Forward(title_of(f), inputs, 1, 1, returned_names(f))
    try:
        [way, *others] = binding.readings_of(g, parameters, forward)
    except FormError:
        return False
    return not others and sorted(map(str, way.call.positional)) == ["cache", "dout"]


def _runs_exchanged(g, out, cache):
    """Return whether a gradient function runs with its two arguments exchanged."""
    try:
        g(leaves.duplicate(cache), cotangent(out, 0))
    except (Exception, SystemExit):  # code under check may raise anything
        return False
    return True


def _are_gradients(returned, count):
    """Return whether a result has one array for each of some inputs, or one stack of them."""
    gradients = returned if isinstance(returned, tuple) else (returned,)
    if any(isinstance(one, (dict, list, tuple)) or one is None for one in gradients):
        return False
    is_stack = len(gradients) == 1 < count and np.shape(gradients[0])[:1] == (count,)
    return len(gradients) == count or is_stack


def flagged(function):
    """Return the derivative of a function that has a flag for it, as in ``relu(x, deriv=False)``.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    Adapted or None
        The function with the flag set, without the flag among its parameters.  None if it has no
        such flag.

    Examples
    --------
    >>> def square(x, derivative=False):
    ...     return 2 * x if derivative else x * x
    >>> flagged(square)(3), flagged(abs)
    (6, None)
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    flag = next(
        (
            name
            for name, parameter in signature.parameters.items()
            if parameter.default is False
            and not words.DERIVATIVE_WORDS.isdisjoint(words.tokens(name))
            and SWITCHES.isdisjoint(words.tokens(name))
        ),
        None,
    )
    if flag is None:
        return None
    gradient = Adapted(
        function,
        lambda source, *arguments, **options: source(*arguments, **options, **{flag: True}),
    )
    others = [one for name, one in signature.parameters.items() if name != flag]
    gradient.__signature__ = signature.replace(parameters=others)
    return gradient


def title_of(function):
    """Return the name of a function, for messages.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    str
        The name of its type if it has no name.
    """
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
        f"expected: out, cache = {title_of(f)}({inputs}) and {gradients} = {title_of(g)}(dout, "
        f"cache), called as ibpcl.check({title_of(f)}, {title_of(g)}, {several})"
    )
