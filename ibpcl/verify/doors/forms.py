"""Recognition of the form of a user's code, and its conversion to a :class:`Pair`."""

import inspect
from dataclasses import replace

import numpy as np

from ibpcl.verify.doors import frameworks, leaves
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.arguments import Arguments, named
from ibpcl.verify.doors.classes import pair_of_object
from ibpcl.verify.doors.closures import pair_of_closure, returns_closure
from ibpcl.verify.doors.construction import constructed
from ibpcl.verify.doors.contexts import is_function, pair_of_function
from ibpcl.verify.doors.expressions import kind_of, pair_of_expression
from ibpcl.verify.doors.loss_and_gradient import pair_of_loss
from ibpcl.verify.doors.methods import methods_of
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.pairs import pair_of, usage
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import parameters_of
from ibpcl.verify.doors.ways import cotangent


def opened(f, f_vjp, inputs, wrt=None, names=None):
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

    Returns
    -------
    Pair or None
        None for the standard form ``out, cache = f(*inputs)`` and ``f_vjp(dout, cache)``.

    Raises
    ------
    FormError
        If the form is not recognized or the code raises.  The message contains the expected form
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
        return _chosen(_without_gradient(f, inputs, names), wrt)
    if not callable(f):
        raise FormError(
            f"check: f must be a function or an object with a forward, got {type(f).__name__}; "
            "a call that works: ibpcl.check(f, f_vjp, (x, w))"
        )
    given, keywords = named(inputs, parameters_of(f), names)
    if _is_standard(f, f_vjp, given, keywords):
        _refuse_what_raises(f, f_vjp, given, keywords)
        return None
    shared = _shared_defaults(f, f_vjp, given)
    return _chosen(pair_of(f, f_vjp, {**given, **shared}, [*keywords, *shared]), wrt)


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


def _without_gradient(f, inputs, names):
    """Return the pair of an object, a class, or a function that returns its gradient."""
    framework = frameworks.pair_of_framework(f, inputs, names)
    if framework is not None:
        return framework
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
        if returns_closure(f):
            return pair_of_closure(f, given, keywords)
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
    try:
        return pair_of_object(f, given, keywords, methods)
    except FormError as error:
        flag = next((name for name in parameters.optional if words.is_training(name)), None)
        if flag is None or flag in given or not error.in_gradient:
            raise
    # The forward keeps what the backward needs only in training.
    pair = pair_of_object(f, {**given, flag: True}, [*keywords, flag], methods)
    return replace(pair, notes=(*pair.notes, f"the forward is called with {flag}=True"))


def _is_standard(f, f_vjp, given, keywords):
    """Return whether a pair has the form ``out, cache = f(...)`` and ``f_vjp(dout, cache)``."""
    parameters = parameters_of(f_vjp)
    if any(leaves.is_container(value) for value in given.values()):
        return False
    if (
        parameters.known
        and not parameters.open_ended
        and len(parameters.required) != 2
        and not len(parameters.required) < 2 <= len(parameters.required) + len(parameters.optional)
    ):
        return False
    try:
        copies = {
            name: np.array(value) if isinstance(value, np.ndarray) else value
            for name, value in given.items()
        }
        result = f(
            *(value for name, value in copies.items() if name not in keywords),
            **{name: value for name, value in copies.items() if name in keywords},
        )
    except (Exception, SystemExit):  # the adapter raises an error with a message
        return False
    return isinstance(result, tuple) and len(result) == 2


def _refuse_what_raises(f, f_vjp, given, keywords):
    """Call a pair of the standard form once; an exception of the gradient becomes a FormError."""
    result = Arguments(given, tuple(keywords)).passed_to(
        f, {name: leaves.duplicate(value) for name, value in given.items()}
    )
    dout = cotangent(result[0], 0)
    try:
        f_vjp(dout, result[1])
    except (Exception, SystemExit) as error:
        try:
            f_vjp(result[1], dout)
        except (Exception, SystemExit):
            title = getattr(f_vjp, "__name__", "f_vjp")
            raise FormError(
                f"check: {raised(error, title)}; {usage(f, f_vjp, given)}", in_gradient=True
            ) from error


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
    return replace(pair, backward=chosen, wrt=tuple(pair.wrt[n] for n in selected))
