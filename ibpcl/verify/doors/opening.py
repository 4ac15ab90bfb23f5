"""Targets of a file with their inputs, as pairs that can be checked."""

import difflib
import inspect
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify.doors import construction, guesses, leaves
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.contexts import is_function, pair_of_function
from ibpcl.verify.doors.discovery import loss_method, takes_inputs
from ibpcl.verify.doors.forms import opened
from ibpcl.verify.doors.frameworks import forward_of
from ibpcl.verify.doors.loss_and_gradient import globals_of
from ibpcl.verify.doors.methods import methods_of
from ibpcl.verify.doors.pair import Pair
from ibpcl.verify.doors.pairs import fits
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.second_order import hvp_pair, jvp_pair

# Guesses that run and are compared, to find one whose gradients have the right shapes.
OPENED = 12
ALIKE = 0.8  # of a misspelt attribute to the right one, as difflib measures it


class Disagreeing(Exception):
    """A gradient is right for some guessed inputs and wrong for others; the message lists both."""


class Ready(NamedTuple):
    """A target that can be checked: a pair, or two functions of the standard form.

    Attributes
    ----------
    forward : Pair or callable
        The pair, or the forward function.
    gradient : callable or None
        The gradient function; None for a pair.
    inputs : dict, sequence or None
        The inputs; None for a pair.
    guessed : str
        The guessed inputs in words; empty if none were guessed.
    wrt : sequence of int or str, or None
        The inputs to differentiate if the two functions have the standard form; None for all.
    """

    forward: object
    gradient: object
    inputs: object
    guessed: str
    wrt: object = None


def with_inputs(target, inputs, wrt, guessed):
    """Return a target with all its inputs, converted to a pair if necessary.

    Parameters
    ----------
    target : Target
        The target.
    inputs : dict or sequence
        All its inputs.
    wrt : sequence of int or str, or None
        The inputs to differentiate; None for all.
    guessed : str
        The guessed inputs in words.

    Returns
    -------
    Ready
        The pair, or the functions with their inputs.

    Raises
    ------
    FormError
        If the code raises, or its form is not recognized.
    """
    if target.kind == "framework":
        return Ready(opened(target.forward, None, inputs, wrt), None, None, guessed)
    if target.kind == "jvp":
        return Ready(jvp_pair(target.forward, target.gradient, inputs), None, None, guessed)
    if target.kind == "hvp":
        return Ready(
            hvp_pair(target.forward, target.gradient, inputs, target.beside), None, None, guessed
        )
    f = target.forward
    g = target.gradient
    if target.kind == "class" and is_function(f):
        given = (
            inputs
            if isinstance(inputs, dict)
            else dict(zip(takes_inputs(target).every, inputs, strict=False))
        )
        return Ready(pair_of_function(f, given), None, None, guessed)
    if target.kind == "class":
        f, inputs = construction.constructed(f, inputs)
        if methods_of(type(f)) is not None:
            try:
                return Ready(opened(f, g, inputs, wrt), None, None, guessed)
            except FormError:  # its sizes may have to be set before
                if not construction.set_up(f, inputs, {}):
                    raise
    if target.kind in ("class", "object") and methods_of(type(f)) is None:
        f = getattr(f, loss_method(type(f)))
    pair = opened(f, g, inputs, wrt)
    return Ready(f, g, inputs, guessed, wrt) if pair is None else Ready(pair, None, None, guessed)


def with_guesses(target, given, missing, path, wrt):
    """Return a target with given and guessed inputs.

    The first guess is used for which the code runs and the gradients have the right shapes.

    Parameters
    ----------
    target : Target
        The target.
    given : dict of str to object
        The given inputs.
    missing : sequence of str
        Names of missing inputs, for the message.
    path : str
        Path of the file, for the message.
    wrt : sequence of int or str, or None
        The inputs to differentiate; None for all.

    Returns
    -------
    Ready
        The pair, or the functions with their inputs.

    Raises
    ------
    UserError
        If no guess works.
    Disagreeing
        If the gradient is right for some guesses and wrong for others.
    """
    if target.kind in ("class", "object"):
        kind = target.forward if inspect.isclass(target.forward) else type(target.forward)
        methods = methods_of(kind)
        method = methods.forward if methods else loss_method(kind)
        hint = kind.__name__
        static = isinstance(inspect.getattr_static(kind, method), (staticmethod, classmethod))
        function = getattr(kind, method)
        skip = (1 if is_function(kind) else 0) if static else 1
    else:
        function = target.forward
        skip = 0
        hint = ""
        if target.kind == "framework":
            function, skip = forward_of(function)
    arrays = [value for value in given.values() if isinstance(value, np.ndarray)]
    if target.kind == "object":
        arrays += [
            value for value in leaves.arrays_in(target.forward).values() if 0 < np.ndim(value) < 3
        ][:4]
    if target.kind == "loss":
        arrays += [leaf.value for leaf in globals_of(function)]
    beside = target.gradient if inspect.isroutine(target.gradient) else None
    options = guesses.candidates(function, skip, hint, arrays, beside)
    options = {name: values for name, values in options.items() if name not in given}
    error = None
    finite = None
    tried = 0
    first = None
    resized = None
    failed = None
    wanted = []
    combinations = guesses.combinations(options, guesses.documented(function, beside))
    for guess in _interleaved(combinations, wanted):
        named = {**given, **guess}
        try:
            with np.errstate(all="ignore"):
                ready = with_inputs(
                    target,
                    {name: leaves.duplicate(value) for name, value in named.items()},
                    wrt,
                    guesses.described(guess),
                )
                quality = _quality(ready)
        except (UserError, TypeError, ValueError) as reason:
            if _is_final(reason.__cause__):
                raise
            wanted += guesses.reshaped(guess, str(reason))
            wanted += guesses.indexed(guess, str(reason))
            error = error or reason
            failed = failed or (reason if getattr(reason, "in_gradient", False) else None)
            continue
        except Exception as reason:  # code under check may raise anything
            if _is_final(reason):
                raise FormError(f"check: {raised(reason, target.name)}") from reason
            wanted += guesses.reshaped(guess, str(reason))
            wanted += guesses.indexed(guess, str(reason))
            error = error or FormError(f"check: {raised(reason, target.name)}")
            continue
        tried += 1
        if quality == 2:
            fitting = not isinstance(ready.forward, Pair) or fits(ready.forward)
            if not fitting:
                special = first is None and _of_one_column(
                    target, given, guess, wrt, f"{hint}_{function.__name__}"
                )
                special = special or _of_symmetric(target, given, guess, wrt, ready)
                if special:
                    return special
            if first is None and fitting:
                return _without_settings(ready)
            if first is not None and fitting and _is_of_number(ready) > _is_of_number(first):
                return _without_settings(ready)
            if (
                first is not None
                and fitting
                and _ranks(ready) != _ranks(first)
                and _n_gradients(ready) >= _n_gradients(first)
            ):
                raise Disagreeing(
                    f"right for the guessed inputs {ready.guessed}, wrong for {first.guessed}: "
                    "provide suitable inputs by check_inputs() or --shape"
                )
            first = first or ready
        if quality == 0:
            wanted += guesses.positive(guess)
            error = error or FormError(
                f"check: {target.name} returns values that are not finite for {ready.guessed}"
            )
        if quality == 1 and resized is None and _fits_resized(ready):
            resized = ready
        finite = finite or (ready if quality == 1 else None)
        if tried >= OPENED:
            break
    if resized or first or (finite and failed is None):
        return resized or first or finite
    error = failed or error
    sizes = " ".join(f"--shape {name}=SIZES" for name in missing)
    several = "it" if len(missing) == 1 else "them"
    why = f" ({str(error).removeprefix('check: ').partition('; ')[0]})" if error is not None else ""
    raise UserError(
        f"check: {path}:{target.name}: no value for {', '.join(missing)}, and no guess "
        f"works{why}; let a function check_inputs() in the file return a dict with {several}, or "
        f"pass {sizes}, such as --shape {missing[0]}=3,4"
    ) from error


def _is_final(error):
    """Return whether an exception says that no other inputs help, such as an unknown name."""
    unknown = isinstance(error, NameError) and not isinstance(error, UnboundLocalError)
    misspelt = (
        isinstance(error, AttributeError)
        and isinstance(error.obj, (np.ndarray, np.generic))
        and difflib.get_close_matches(error.name, dir(error.obj), cutoff=ALIKE)
    )
    return unknown or bool(misspelt) or isinstance(error, SystemExit)


def _fits_resized(ready):
    """Return whether the numbers of gradients are right that have the sizes of their inputs."""
    if not isinstance(ready.forward, Pair):
        return False
    pair = ready.forward
    shapes = dict(zip(pair.names, map(np.shape, pair.inputs), strict=True))

    def backward(dout, cache):
        gradients = zip(pair.wrt, pair.backward(dout, cache), strict=True)
        return tuple(np.reshape(gradient, shapes[name]) for name, gradient in gradients)

    return fits(replace(pair, backward=backward))


def _interleaved(combinations, wanted):
    """Yield combinations, and before the next one those that the caller has put into a list."""
    for guess in combinations:
        yield guess
        while wanted:
            yield wanted.pop(0)


def _without_settings(ready):
    """Return a target of which settings, such as a rate of dropout, need no gradient."""
    if isinstance(ready.forward, Pair) or ready.wrt is not None:
        return ready
    out, cache = ready.forward(
        **{name: leaves.duplicate(value) for name, value in ready.inputs.items()}
    )
    gradients = ready.gradient(_ones(out), cache)
    moved = [name for name, value in ready.inputs.items() if leaves.is_array(value)]
    learned = [name for name in moved if not guesses.is_setting(name)]
    count = len(gradients) if isinstance(gradients, (tuple, list, dict)) else 1
    if not len(learned) == count < len(moved):
        return ready
    left = ", ".join(name for name in moved if name not in learned)
    return ready._replace(wrt=learned, guessed=f"{ready.guessed} ({left} has no gradient)")


def _of_one_column(target, given, guess, wrt, name):
    """Return a binary loss with one column per array if its gradient fits there, else None.

    It has one output per example, so its mean over the examples may be written as a mean over all
    entries.
    """
    arrays = {one: value for one, value in guess.items() if np.ndim(value) == 2}
    if {"binary", "bce", "logistic"}.isdisjoint(words.tokens(name)) or len(arrays) < 2:
        return None
    columns = {**guess, **{one: value[:, :1] for one, value in arrays.items()}}
    return _special(target, {**given, **columns}, wrt, guesses.described(columns))


def _of_symmetric(target, given, guess, wrt, ready):
    """Return a quadratic form with a symmetric matrix if its gradient fits there, else None.

    The form x^T A x has the gradient 2 A x only if A is symmetric. The value must be the same for A
    and for (A + A^T) / 2: otherwise, symmetry would hide a missing transpose.
    """
    square = {
        name: (value + value.T) / 2
        for name, value in guess.items()
        if np.ndim(value) == 2
        and len(set(value.shape)) == 1 < value.shape[0]
        and name not in ready.forward.wrt
    }
    if not square:
        return None
    made = {**guess, **square}
    described = f"{guesses.described(made)} ({', '.join(square)} symmetric)"
    special = _special(target, {**given, **made}, wrt, described)
    if special is None:
        return None
    one, other = (pair.forward(*pair.inputs)[0] for pair in (ready.forward, special.forward))
    return special if np.allclose(one, other, rtol=1e-9) else None


def _special(target, inputs, wrt, guessed):
    """Return a target with special inputs if its gradient fits there, else None."""
    try:
        with np.errstate(all="ignore"):
            ready = with_inputs(target, inputs, wrt, guessed)
            works = _quality(ready) == 2 and isinstance(ready.forward, Pair) and fits(ready.forward)
    except Exception:  # code under check may raise anything
        return None
    return ready if works else None


def _is_of_number(ready):
    """Return whether the output of a pair is one number, as that of an objective."""
    return np.ndim(ready.forward.forward(*ready.forward.inputs)[0]) == 0


def _n_gradients(ready):
    """Return for how many inputs and parameters there is a gradient."""
    return len(ready.forward.wrt) if isinstance(ready.forward, Pair) else 0


def _ranks(ready):
    """Return the numbers of axes of the inputs of a pair."""
    return [np.ndim(value) for value in ready.forward.inputs]


def _quality(ready):
    """Return how well a guess works.

    2 if the output is finite and all gradients have the shapes of their inputs, 1 if only the
    output is finite, else 0.
    """
    if isinstance(ready.forward, Pair):
        pair = ready.forward
        out, cache = pair.forward(*(leaves.duplicate(value) for value in pair.inputs))
        point = dict(zip(pair.names, pair.inputs, strict=True))
        values = [point[name] for name in pair.wrt]
        gradients = pair.backward(_ones(out), cache)
    else:
        named = ready.inputs
        out, cache = ready.forward(
            **{name: leaves.duplicate(value) for name, value in named.items()}
        )
        returned = ready.gradient(_ones(out), cache)
        gradients = (
            list(returned.values())
            if isinstance(returned, dict)
            else returned
            if isinstance(returned, (tuple, list))
            else [returned]
        )
        values = [value for value in named.values() if leaves.is_array(value)][: len(gradients)]
    parts = out if isinstance(out, (tuple, list)) else (out,)
    if not all(np.asarray(part).dtype.kind in "fc" and np.all(np.isfinite(part)) for part in parts):
        return 0
    same = len(gradients) == len(values) and all(
        gradient is not None and np.shape(gradient) == np.shape(value)
        for gradient, value in zip(gradients, values, strict=True)
    )
    return 2 if same else 1


def _ones(out):
    if isinstance(out, (tuple, list)):
        return tuple(_ones(part) for part in out)
    return np.ones(np.shape(out)) if np.ndim(out) else 1.0
