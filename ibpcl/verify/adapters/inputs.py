"""Inputs of a target in a file: from ``check_inputs``, from given shapes, or guessed."""

import inspect

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify.adapters import options
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.choosing import with_guesses
from ibpcl.verify.adapters.forms import recognised
from ibpcl.verify.adapters.product import kind_of
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import axes_of, parameters_of, required_keywords
from ibpcl.verify.running.trap import Trap

MOST_AXES = 4  # of an input that is tried because the source asks for it


def ready(module, target, shapes, seed, wrt, chosen=None):
    """Return a target with its inputs.

    Parameters
    ----------
    module : module
        The user's file as a module.
    target : Target
        The target.
    shapes : dict of str to tuple of int
        Shapes of inputs to draw; ``()`` is a number.
    seed : int
        Seed for drawn inputs.
    wrt : sequence of int or str, or None
        The inputs to differentiate; None for all.
    chosen : dict of str to object, optional
        Inputs from :func:`other_choices`.

    Returns
    -------
    Pair
        The target with its inputs.

    Raises
    ------
    UserError
        If inputs are missing and cannot be guessed, or the form of the code is not recognized.
    """
    given = given_inputs(module, target)
    parameters = target.parameters
    rng = np.random.default_rng(seed)
    known = [*parameters.every, *_constructor_names(target)]
    drawn = {
        name: rng.normal(size=shape) if shape else float(rng.normal())
        for name, shape in shapes.items()
        if name in known or not parameters.known
    }
    if not isinstance(given, dict):
        if not drawn and len(given) >= len(parameters.required):
            return recognised(target.code(given), wrt)
        given = dict(zip(parameters.every, given, strict=False))
    values = {**(chosen or {}), **given, **drawn}
    relevant = {name: values[name] for name in _ordered(values, known)}
    required = [*parameters.required]
    if inspect.isroutine(target.forward):
        required += required_keywords(target.forward)
    missing = [name for name in required if name not in relevant]
    if parameters.known and parameters.open_ended and not parameters.every and not relevant:
        raise FormError(
            "it takes any number of inputs",
            "let a function check_inputs() in the file return them as a tuple, or as "
            f"{{{target.name!r}: (...)}}",
        )
    if not missing:
        return recognised(target.code(relevant), wrt)
    return with_guesses(target, relevant, missing, wrt)


def other_choices(module, target, pair):
    """Return inputs that reach other branches of the code than those of :func:`ready`.

    The main input has another number of axes if the source compares ``ndim`` with this number.
    Options have other values that the source reads (:mod:`ibpcl.verify.adapters.options`).

    Parameters
    ----------
    module : module
        The user's file as a module.
    target : Target
        The target.
    pair : Pair
        The target with its inputs.

    Returns
    -------
    list of dict of str to object
        One further value each; empty if the file provides the inputs.
    """
    given = given_inputs(module, target)
    if not pair.guessed or kind_of(target.name) or not isinstance(given, dict):
        return []
    return [*_of_other_axes(target, given, pair), *options.of_target(target, given)]


def _of_other_axes(target, given, pair):
    """Return the main input with each number of axes that the source asks for."""
    name = next(iter(pair.names), "")
    if name in given or name not in target.parameters.every:
        return []
    shape = np.shape(pair.inputs[0])
    asked = {n for source in pair.source_functions for n in axes_of(source)}
    rng = np.random.default_rng(3)
    return [
        {name: rng.normal(size=(2,) * (n - len(shape)) + shape)}
        for n in sorted(asked)
        if 1 < len(shape) < n <= MOST_AXES
    ]


def _ordered(values, known):
    return [name for name in known if name in values] or list(values)


def _constructor_names(target):
    kind = target.forward
    return parameters_of(kind.__init__, skip=1).every if inspect.isclass(kind) else []


def given_inputs(module, target):
    """Return the inputs that a file provides for a target.

    ``check_inputs_NAME`` is for one target.  ``check_inputs`` is for all targets, or a dict of
    inputs by the names of targets.  Both may be functions or values.

    Parameters
    ----------
    module : module
        The user's file as a module.
    target : Target
        The target.

    Returns
    -------
    dict, tuple or list
        The inputs; an empty dict if the file provides none.

    Raises
    ------
    UserError
        If a function raises, or does not return a dict or a tuple.
    """
    names = [target.name, *target.aliases]
    for name in names:
        if hasattr(module, f"check_inputs_{name}"):
            return _value_of(getattr(module, f"check_inputs_{name}"), f"check_inputs_{name}")
    if not hasattr(module, "check_inputs"):
        return {}
    given = _value_of(module.check_inputs, "check_inputs")
    if isinstance(given, dict):
        chosen = next(
            (
                given[name]
                for name in names
                if isinstance(name, str)
                and name in given
                and (callable(given[name]) or isinstance(given[name], (dict, tuple, list)))
                and name not in target.parameters.every
            ),
            None,
        )
        if chosen is not None:
            return _value_of(chosen, f"check_inputs[{target.name!r}]")
    return given


def _value_of(given, title):
    """Return inputs that a file provides as a value or by a function."""
    if callable(given):
        with Trap() as trap:
            given = given()
        if trap.error is not None:
            usage = "it must return a dict of the inputs by name, or a tuple"
            raise FormError(raised(trap.error, f"{title}()"), usage)  # no fault of the target
    if isinstance(given, np.ndarray):
        return (given,)
    if not isinstance(given, (dict, tuple, list)):
        raise FormError(f"{title}() must return a dict or a tuple, got {type(given).__name__}")
    return given


def refuse_shapes(targets, shapes):
    """Raise an error for shapes of inputs that no target has.

    Parameters
    ----------
    targets : sequence of Target
        The selected targets.
    shapes : dict of str to tuple of int
        Shapes by input.

    Raises
    ------
    UserError
        If a name is not an input or a constructor argument of any target.
    """
    known = [
        name
        for target in targets
        for name in [*target.parameters.every, *_constructor_names(target)]
    ]
    unknown = [name for name in shapes if name not in known]
    if unknown and all(target.parameters.known for target in targets):
        names = " or ".join(target.name for target in targets)
        raise UserError(
            f"check: --shape names {unknown[0]!r}, which is not a parameter of {names} "
            f"({', '.join(dict.fromkeys(known))})"
        )


def is_input(name):
    """Return whether a name in a file provides inputs instead of code to check.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for ``check_inputs`` and ``check_inputs_NAME``.
    """
    return words.plain(name).startswith("checkinputs")
