"""Recognition of the form of a user's code, and its conversion to a :class:`Pair`."""

import inspect
from dataclasses import replace

import numpy as np

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments, is_moved, named
from ibpcl.verify.adapters.binding import Forward, readings_of
from ibpcl.verify.adapters.closures import is_closure, pair_of_closure
from ibpcl.verify.adapters.construction import constructed
from ibpcl.verify.adapters.contexts import is_function, pair_of_function
from ibpcl.verify.adapters.expressions import kind_of, pair_of_expression
from ibpcl.verify.adapters.loss_and_gradient import pair_of_loss
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.objects import pair_of_object
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.pairs import copies, cotangent, pair_of
from ibpcl.verify.adapters.reading import assigned
from ibpcl.verify.adapters.refusals import FormError
from ibpcl.verify.adapters.signatures import parameters_of, returned_names


def opened(f, f_vjp, inputs, wrt=None, names=None, output=None, ordered=True):
    """Return code of any form as a pair, or None if it has the standard form.

    Parameters
    ----------
    f : callable, object or class
        A forward, an object with a forward and a backward, or a function that returns a loss and
        its gradient.
    f_vjp : callable or None
        The gradient function, if there is one.
    inputs : dict, sequence or ndarray
        The inputs of the forward.
    wrt : sequence of int or str, optional
        The inputs to differentiate.  By default, all with a gradient.
    names : sequence of str, optional
        Names of the inputs.  By default, the parameter names of the forward.
    output : bool, optional
        Whether the gradient function takes the output of the forward (True) or its input (False),
        if the names of its parameters leave both.
    ordered : bool
        Whether gradients in a tuple are known to be in the order of the inputs, as the standard
        form demands.  In a user's file, their names may say that they are not.

    Returns
    -------
    Pair or None
        None for the standard form ``out, cache = f(*inputs)`` and ``f_vjp(dout, cache)``.

    Raises
    ------
    FormError
        If the form is not recognized or the forward raises.  The message contains the expected form
        and a call that works.
    """
    if isinstance(f, Pair):
        return _chosen(f, wrt)
    if f_vjp is not None and not callable(f_vjp):
        raise FormError(
            "check: the second argument is the gradient function or, for a class or a function "
            f"that returns a loss and its gradient, the inputs; got {type(f_vjp).__name__}; calls "
            "that work: ibpcl.check(f, f_vjp, (x, w)), ibpcl.check(layer, x)"
        )
    if f_vjp is None:
        return _chosen(_without_gradient(f, inputs, names, output), wrt)
    if not callable(f):
        raise FormError(
            f"check: f must be a function or an object with a forward, got {type(f).__name__}; "
            "a call that works: ibpcl.check(f, f_vjp, (x, w))"
        )
    given, keywords = named(inputs, parameters_of(f), names)
    if _is_standard(f, f_vjp, given, keywords, wrt, ordered):
        return None
    shared = _shared_defaults(f, f_vjp, given)
    return _chosen(pair_of(f, f_vjp, {**given, **shared}, [*keywords, *shared], output), wrt)


def _shared_defaults(f, f_vjp, given):
    """Return arguments that the gradient function requires and that have a default in the forward.

    A stride is an example: ``conv(x, w, stride=1)`` with ``conv_backward(dout, x, w, stride)``.
    """
    optional = parameters_of(f).optional
    return {
        name: inspect.signature(f).parameters[name].default
        for name in parameters_of(f_vjp).required
        if name in optional and name not in given
    }


def _without_gradient(f, inputs, names, output):
    """Return the pair of an object, a class, or a function that returns its gradient."""
    if inspect.isclass(f):
        if is_function(f):
            given, _ = named(inputs, parameters_of(f.forward, skip=1), names)
            return pair_of_function(f, given)
        f, inputs = constructed(f, inputs)
    kind = kind_of(inputs) if callable(f) else None
    if kind is not None:
        return pair_of_expression(f, inputs, kind, names)
    if inspect.isroutine(f) or (callable(f) and methods_of(type(f)) is None):
        given, keywords = named(inputs, parameters_of(f), names)
        try:
            result = Arguments(given, tuple(keywords)).passed_to(f, copies(given))
        except (Exception, SystemExit):  # the adapter of a loss raises an error with a message
            result = None
        if is_closure(result):
            return pair_of_closure(f, given, keywords, result)
        return pair_of_loss(f, given, keywords)
    methods = methods_of(type(f))
    if methods is None:
        raise FormError(
            f"check: {type(f).__name__} has no forward with a backward; a class needs methods "
            "out = layer.forward(x) and dx = layer.backward(dout), and is called as "
            "ibpcl.check(layer, x)"
        )
    parameters = parameters_of(getattr(f, methods.forward))
    given, keywords = named(inputs, parameters, names)
    if "copy" in parameters.optional and "copy" not in given:  # else it works in place
        given, keywords = {**given, "copy": True}, [*keywords, "copy"]
    pair = pair_of_object(f, given, keywords, methods, output)
    flag = next((name for name in parameters.optional if words.is_training(name)), None)
    if pair.raised is None or flag is None or flag in given:
        return pair
    # The forward keeps what the backward needs only in training.
    pair = pair_of_object(f, {**given, flag: True}, [*keywords, flag], methods, output)
    return replace(pair, notes=(*pair.notes, f"the forward is called with {flag}=True"))


def _is_standard(f, f_vjp, given, keywords, wrt, ordered):
    """Return whether a pair has the form ``out, cache = f(...)`` and ``f_vjp(dout, cache)``.

    It returns one gradient for each floating-point input, or for each name in ``wrt``, in their
    order.
    """
    if any(leaves.is_container(value) for value in given.values()):
        return False
    arguments = Arguments(given, tuple(keywords))
    parameters = parameters_of(f_vjp)
    if parameters.known and not (
        len(parameters.required) == 2
        or len(parameters.required) < 2 <= len(parameters.required) + len(parameters.optional)
        or parameters.open_ended
    ):
        return False
    try:
        result = arguments.passed_to(f, copies(given))
    except (Exception, SystemExit):  # the adapter raises an error with a message
        return False
    if not isinstance(result, tuple) or len(result) != 2 or not _are_outputs(result[0]):
        return False
    if not _takes_cache(f, f_vjp, parameters, list(given), ordered):
        return False
    try:
        returned = f_vjp(cotangent(result[0], 0), result[1])
    except (Exception, SystemExit):  # the mistake is found, and named, when the pair is judged
        return wrt is not None or _runs_exchanged(f_vjp, *result)
    if wrt is not None:
        return True
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    in_order = returned if isinstance(returned, tuple) else (returned,)
    if any(isinstance(one, np.ndarray) and one.dtype.kind in "OUSV" for one in in_order):
        return True  # refused when the pair is judged
    if any(isinstance(item, (dict, list, tuple)) or item is None for item in in_order):
        return False
    if len(moved) != len(in_order):
        first = in_order[0]
        stacked = len(in_order) == 1 < len(moved) and np.shape(first)[:1] == (len(moved),)
        return ordered and stacked and isinstance(first, np.ndarray)
    if ordered:
        return True
    paths = assigned(returned, returned_names(f_vjp), moved, arguments.spread).paths
    places = [(n,) if isinstance(returned, tuple) else () for n in range(len(in_order))]
    return list(paths.values()) == places


def _runs_exchanged(f_vjp, out, cache):
    """Return whether a gradient function runs with its two arguments exchanged."""
    try:
        f_vjp(leaves.duplicate(cache), cotangent(out, 0))
    except (Exception, SystemExit):  # code under check may raise anything
        return False
    return True


def _are_outputs(out):
    """Return whether a value is one or several floating-point outputs."""
    parts = out if isinstance(out, (tuple, list)) else (out,)
    return bool(parts) and all(leaves.is_array(part) for part in parts)


def _takes_cache(f, f_vjp, parameters, inputs, ordered):
    """Return whether a gradient function is called with the cotangent and the cache.

    With ``ordered``, exchanged arguments are a mistake, which is reported when the pair is judged.
    """
    exchanged = [("cache", "dout")] if ordered else []
    if not parameters.known or len(parameters.required) != 2:
        return True
    forward = Forward(getattr(f, "__name__", "f"), inputs, 1, 1, returned_names(f))
    try:
        [way, *others] = readings_of(f_vjp, parameters, forward)
    except FormError:
        return False
    return not others and way.call.positional in (("dout", "cache"), *exchanged)


def _chosen(pair, wrt):
    """Return a pair with only the gradients that ``wrt`` names.

    An entry of ``wrt`` is a name, or the beginning of the names of nested arrays.
    """
    if wrt is None:
        return pair
    wanted = [wrt] if isinstance(wrt, (str, int)) else list(wrt)
    wanted = [
        pair.names[item] if isinstance(item, int) and item < len(pair.names) else item
        for item in wanted
    ]
    selected = [
        n
        for n, name in enumerate(pair.wrt)
        if any(
            name == item or (str(item) and name.startswith((f"{item}[", f"{item}.")))
            for item in wanted
        )
    ]
    missing = [
        item
        for item in wanted
        if not any(name == item or name.startswith((f"{item}[", f"{item}.")) for name in pair.wrt)
    ]
    if missing:
        raise FormError(
            f"check: wrt names {missing[0]!r}; gradients were found for "
            f"{', '.join(pair.wrt) or 'none'}"
        )
    inner = pair.backward
    chosen = Adapted(
        inner, lambda source, *arguments: tuple(source(*arguments)[n] for n in selected)
    )
    return replace(
        pair,
        backward=chosen,
        wrt=tuple(pair.wrt[n] for n in selected),
        unjudged=(),
        alternatives=tuple(_chosen(other, wrt) for other in pair.alternatives),
    )
