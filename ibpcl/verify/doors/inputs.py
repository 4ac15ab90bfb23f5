"""The inputs of a target in a file: from ``check_inputs``, from shapes on the command line, or guessed."""

import inspect
from typing import NamedTuple

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify.doors import construction, guesses, leaves
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.classes import methods_of
from ibpcl.verify.doors.contexts import is_function, pair_of_function
from ibpcl.verify.doors.discovery import loss_method, takes_inputs
from ibpcl.verify.doors.forms import opened
from ibpcl.verify.doors.frameworks import forward_of
from ibpcl.verify.doors.implied import label_of
from ibpcl.verify.doors.pair import Pair
from ibpcl.verify.doors.pairs import fits
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.second_order import hvp_pair, jvp_pair
from ibpcl.verify.doors.signatures import method_parameters, parameters_of
from ibpcl.verify.trap import Trap

OPENED = 12     # guesses that can be opened, among which one is sought whose gradients have the right shapes


class Disagreeing(Exception):
    """A gradient that is right for some guessed inputs and wrong for others; the message lists both."""


class Ready(NamedTuple):
    """Something that can be checked: a pair, or a forward with its gradient in the checker's own form."""

    forward: object         # a Pair, or a function
    gradient: object        # None beside a Pair
    inputs: object          # None beside a Pair
    guessed: str            # the inputs that were guessed, in words; "" if none


def ready(module, target, path, shapes, seed, wrt):
    """Return a target with its inputs.

    Parameters
    ----------
    module : module
    target : ibpcl.verify.doors.discovery.Target
    path : str
        Path of the file, for messages.
    shapes : dict of str to tuple
        Shapes of inputs to draw; ``()`` is a number.
    seed : int
    wrt : list of str or None

    Raises
    ------
    UserError
        If inputs are missing and cannot be guessed, or the code has no form that is known.
    """
    given = given_inputs(module, target, path)
    parameters = takes_inputs(target)
    rng = np.random.default_rng(seed)
    known = [*parameters.every, *_constructor_names(target), *_label_names(target)]
    drawn = {name: rng.normal(size=shape) if shape else float(rng.normal()) for name, shape in shapes.items()
             if name in known or not parameters.known}
    if not isinstance(given, dict):
        if not drawn and len(given) >= len(parameters.required):
            return _opened(target, given, wrt, "")
        given = dict(zip(parameters.every, given, strict=False))
    values = {**given, **drawn}
    relevant = {name: values[name] for name in _ordered(values, known)}
    missing = [name for name in [*parameters.required, *_required_keywords(target)] if name not in relevant]
    if not missing:
        return _opened(target, relevant, wrt, "")
    return _guessed(target, relevant, missing, path, wrt)


def _ordered(values, known):
    return [name for name in known if name in values] or list(values)


def _constructor_names(target):
    return parameters_of(target.forward.__init__, skip=1).every if target.kind == "class" else []


def _label_names(target):
    """Return the labels that only the backward of a class takes."""
    if target.kind not in ("class", "object"):
        return []
    kind = target.forward if inspect.isclass(target.forward) else type(target.forward)
    methods = methods_of(kind)
    if methods is None:
        return []
    label = label_of(method_parameters(kind, methods.backward), method_parameters(kind, methods.forward).every)
    return [label] if label else []


def _required_keywords(target):
    if target.kind in ("class", "object"):
        return []
    try:
        every = inspect.signature(target.forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in every if p.kind is p.KEYWORD_ONLY and p.default is p.empty]


def given_inputs(module, target, path):
    """Return what a file gives as inputs of a target: a dict or a tuple, empty if it gives nothing.

    ``check_inputs_NAME`` is for one target; ``check_inputs`` is for all, or a dict of inputs by the names of targets.
    Both may be functions or values.
    """
    names = [target.name, *target.aliases]
    for name in names:
        if hasattr(module, f"check_inputs_{name}"):
            return _value_of(getattr(module, f"check_inputs_{name}"), f"check_inputs_{name}", path)
    if not hasattr(module, "check_inputs"):
        return {}
    given = _value_of(module.check_inputs, "check_inputs", path)
    if isinstance(given, dict):
        chosen = next((given[name] for name in names if isinstance(name, str) and name in given
                       and (callable(given[name]) or isinstance(given[name], (dict, tuple, list)))
                       and name not in takes_inputs(target).every), None)
        if chosen is not None:
            return _value_of(chosen, f"check_inputs[{target.name!r}]", path)
    return given


def _value_of(given, title, path):
    """Return inputs that a file gives as a value or by a function."""
    if callable(given):
        with Trap() as trap:
            given = given()
        if trap.error is not None:
            raise UserError(f"check: {path}: {raised(trap.error, title + '()')}; it must return a dict of the inputs "
                            "by name, or a tuple") from trap.error
    if isinstance(given, np.ndarray):
        return (given,)
    if not isinstance(given, (dict, tuple, list)):
        raise UserError(f"check: {path}: {title}() must return a dict or a tuple, got {type(given).__name__}")
    return given


def _opened(target, inputs, wrt, guessed):
    """Return a target with all its inputs, converted by the door that it needs."""
    if target.kind == "framework":
        return Ready(opened(target.forward, None, inputs, wrt), None, None, guessed)
    if target.kind == "jvp":
        return Ready(jvp_pair(target.forward, target.gradient, inputs), None, None, guessed)
    if target.kind == "hvp":
        return Ready(hvp_pair(target.forward, target.gradient, inputs, target.beside), None, None, guessed)
    f, g = target.forward, target.gradient
    if target.kind == "class" and is_function(f):
        given = inputs if isinstance(inputs, dict) else dict(zip(takes_inputs(target).every, inputs, strict=False))
        return Ready(pair_of_function(f, given), None, None, guessed)
    if target.kind == "class":
        f, inputs = construction.constructed(f, inputs)
        x = construction.first_array(inputs)
        if methods_of(type(f)) is not None:
            try:
                return Ready(opened(f, g, inputs, wrt), None, None, guessed)
            except FormError:                           # its sizes may have to be set before
                if not construction.set_up(f, np.shape(x) if x is not None else (3, 4), {}):
                    raise
    if target.kind in ("class", "object") and methods_of(type(f)) is None:
        f = getattr(f, loss_method(type(f)))
    pair = opened(f, g, inputs, wrt)
    return Ready(f, g, inputs, guessed) if pair is None else Ready(pair, None, None, guessed)


def _guessed(target, given, missing, path, wrt):
    """Return a target with guessed inputs beside those given: the first that run and give gradients of right shapes."""
    if target.kind in ("class", "object"):
        kind = target.forward if inspect.isclass(target.forward) else type(target.forward)
        methods = methods_of(kind)
        method, hint = methods.forward if methods else loss_method(kind), kind.__name__
        static = isinstance(inspect.getattr_static(kind, method), (staticmethod, classmethod))
        function, skip = getattr(kind, method), (1 if is_function(kind) else 0) if static else 1
    else:
        function, skip, hint = target.forward, 0, ""
        if target.kind == "framework":
            function, skip = forward_of(function)
    arrays = [value for value in given.values() if isinstance(value, np.ndarray)]
    if target.kind == "object":
        arrays += [value for value in leaves.arrays_in(target.forward).values() if 0 < np.ndim(value) < 3][:4]
    options = guesses.candidates(function, skip, hint, arrays)
    options = {name: values for name, values in options.items() if name not in given}
    error, kept, tried, first = None, None, 0, None
    for guess in guesses.combinations(options):
        named = {**given, **guess}
        try:
            with np.errstate(all="ignore"):
                found = _opened(target, {name: leaves.duplicate(value) for name, value in named.items()}, wrt,
                                guesses.described(guess))
                quality = _quality(found)
        except (UserError, TypeError, ValueError) as reason:
            if isinstance(reason.__cause__, NameError):     # no other input mends that
                raise
            error = error or reason
            continue
        except Exception as reason:                     # code under check may raise anything
            if isinstance(reason, NameError):
                raise FormError(f"check: {raised(reason, target.name)}") from reason
            error = error or FormError(f"check: {raised(reason, target.name)}")
            continue
        tried += 1
        if quality == 2:
            fitting = not isinstance(found.forward, Pair) or fits(found.forward)
            if first is None and fitting:
                return found
            if first is not None and fitting and _ranks(found) != _ranks(first):
                raise Disagreeing(f"right for the guessed inputs {found.guessed}, wrong for {first.guessed}: give "
                                  "inputs that it is meant for, by check_inputs() or --shape")
            first = first or found
        kept = kept or (found if quality == 1 else None)
        if tried >= OPENED:
            break
    if first is not None or kept is not None:
        return first or kept
    sizes = " ".join(f"--shape {name}=3,4" for name in missing)
    several = "it" if len(missing) == 1 else "them"
    why = f" ({str(error).removeprefix('check: ').partition('; ')[0]})" if error is not None else ""
    raise UserError(f"check: {path}:{target.name}: no value for {', '.join(missing)}, and no guess works{why}; let a "
                    f"function check_inputs() in the file return a dict with {several}, or pass {sizes}") from error


def _ranks(found):
    """Return the numbers of axes of the inputs of a pair."""
    return [np.ndim(value) for value in found.forward.inputs]


def _quality(found):
    """Return 2 if all gradients have the shapes of their inputs and the output is finite, 1 if it is finite, else 0."""
    if isinstance(found.forward, Pair):
        pair = found.forward
        out, cache = pair.forward(*(leaves.duplicate(value) for value in pair.inputs))
        point = dict(zip(pair.names, pair.inputs, strict=True))
        values = [point[name] for name in pair.wrt]
        gradients = pair.backward(_ones(out), cache)
    else:
        named = found.inputs
        out, cache = found.forward(**{name: leaves.duplicate(value) for name, value in named.items()})
        returned = found.gradient(_ones(out), cache)
        gradients = list(returned.values()) if isinstance(returned, dict) else \
            returned if isinstance(returned, (tuple, list)) else [returned]
        values = [value for value in named.values() if leaves.is_array(value)][:len(gradients)]
    parts = out if isinstance(out, (tuple, list)) else (out,)
    if not all(np.asarray(part).dtype.kind in "fc" and np.all(np.isfinite(part)) for part in parts):
        return 0
    same = len(gradients) == len(values) and all(
        gradient is not None and np.shape(gradient) == np.shape(value)
        for gradient, value in zip(gradients, values, strict=True))
    return 2 if same else 1


def _ones(out):
    if isinstance(out, (tuple, list)):
        return tuple(_ones(part) for part in out)
    return np.ones(np.shape(out)) if np.ndim(out) else 1.0


def refuse_shapes(targets, shapes):
    """Refuse shapes of inputs that no target has; ``targets`` are those asked for."""
    known = [name for target in targets for name in [*takes_inputs(target).every, *_constructor_names(target)]]
    unknown = [name for name in shapes if name not in known]
    if unknown and all(takes_inputs(target).known for target in targets):
        names = " or ".join(target.name for target in targets)
        raise UserError(f"check: --shape names {unknown[0]!r}, which is no parameter of {names} "
                        f"({', '.join(dict.fromkeys(known))})")


def is_input(name):
    """Return whether a name in a file is that of inputs, not of something to check."""
    return words.plain(name).startswith("checkinputs")
