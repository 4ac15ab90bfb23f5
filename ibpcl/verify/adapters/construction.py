"""Construction of an object from a class, with given arguments, or at most three guessed sizes."""

import inspect
import itertools
import re

import numpy as np

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.draws import repeated
from ibpcl.verify.adapters.layouts import NUMBERS
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import method_parameters, parameters_of
from ibpcl.verify.adapters.static import is_function

MOST = 3  # guessed sizes; with more, the user makes the object
# Arguments that are arrays of a layer, as `plain`.
ARRAYS = re.compile(r"w[a-z]{0,2}\d?|weights?\d?|b[a-z]{0,2}\d?|bias(es)?|g|gamma|beta|gain|theta")
UNITS = 5  # outputs of a guessed layer
# Words in the names of the sides of a kernel or a window.
SIDES = frozenset({"kernel", "pool", "filter", "window"})
SIDE = 2
# Words in the names of numbers of equal parts of the features; with two, no part has size one.
PARTS = frozenset({"head", "heads", "groups"})
FRACTION = 0.5  # for a rate of dropout, a slope, a momentum


def constructed(kind, inputs):
    """Return an object of a class and the inputs of its forward method.

    At most three sizes that fit the input are guessed, and numbers with usual names.

    Parameters
    ----------
    kind : type
        The class.
    inputs : dict, sequence, ndarray or None
        Inputs of the forward; a dict may also contain arguments of the constructor.

    Returns
    -------
    holder : object
        The object.
    inputs : dict, sequence, ndarray or None
        The inputs without arguments of the constructor.

    Raises
    ------
    FormError
        If no object can be made.  The message has the line to write in the file.
    """
    given = {}
    if isinstance(inputs, dict):
        known = parameters_of(kind.__init__, skip=1).every
        of_forward = forward_names(kind)
        given = {
            name: value
            for name, value in inputs.items()
            if name in known and name not in of_forward
        }
        inputs = {name: value for name, value in inputs.items() if name not in given}
    missing = [name for name in required(kind) if name not in given]
    if not missing:
        return made(kind, given), inputs
    shape = np.shape(first_array(inputs))
    options = [values_for(kind, name, shape) for name in missing]
    if sum(len(option) > 1 for option in options) > MOST or not all(options):
        raise FormError(
            f"the constructor of {kind.__name__} takes {', '.join(missing)}, which the "
            "checker does not guess",
            to_make(kind, missing),
        )
    refused = None
    holders = []
    defaults = [p.default for p in inspect.signature(kind.__init__).parameters.values()]
    usual = sum(type(value) is int and value == 1 for value in defaults)  # such as a stride
    for values in itertools.product(*options):
        arguments = {**given, **dict(zip(missing, values, strict=True))}
        try:
            seen = _seen(kind, arguments, inputs)
            # a penalty that this forward lacks cannot be judged with it
            for name in filter(words.is_penalty, missing):
                without = {**arguments, name: 0.0}
                if _are_same(seen, _seen(kind, without, inputs)):
                    arguments = without
        except FormError as error:  # other sizes may fit
            refused = refused or error
            continue
        holder = made(kind, arguments)
        holders.append(holder)
        if _ones(holder) <= usual:
            break
    if not holders:
        raise refused
    return min(holders, key=_ones), inputs


def _ones(holder):
    """Return how many sizes of an object are one: a power or a root of them hides a mistake."""
    values = [value for _, value in leaves.children(holder)]
    return sum(type(value) is int and value == 1 for value in values)


def required(kind):
    """Return the names of the arguments that a constructor needs.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    list of str
        Empty if the constructor takes any arguments, and for anything else than a class.
    """
    if not inspect.isclass(kind) or is_function(kind):
        return []
    parameters = parameters_of(kind.__init__, skip=1)
    return parameters.required if parameters.known and not parameters.open_ended else []


def arrays(kind, given):
    """Return the arguments of a constructor whose names are usual for weights and biases.

    Parameters
    ----------
    kind : type or object
        The class; anything else has none.
    given : collection of str
        Names of arguments that are known.

    Returns
    -------
    list of str
        They are guessed together with the inputs.
    """
    return [
        name for name in required(kind) if name not in given and ARRAYS.fullmatch(words.plain(name))
    ]


def values_for(kind, name, shape):
    """Return values for an argument of a constructor, the likeliest first.

    Parameters
    ----------
    kind : type
        The class.
    name : str
        Name of the argument.
    shape : tuple of int
        Shape of the input of the forward.

    Returns
    -------
    list
        Sizes, or a usual number; empty for any other argument.
    """
    annotation = getattr(kind.__init__, "__annotations__", {}).get(name)
    parts = words.tokens(name)
    usual = NUMBERS.get(words.plain(name))
    if not SIDES.isdisjoint(parts) and not {"num", "n", "number"}.intersection(parts):
        return [SIDE, (SIDE, SIDE)]
    if not PARTS.isdisjoint(parts):
        return [2, 1]
    if isinstance(usual, (int, float)) and not words.is_vector(name):
        return [usual]
    if annotation in (float, "float") or words.is_fraction(name) or words.is_rate(name):
        return [FRACTION]
    if annotation in (int, "int") or words.is_size(name):
        sizes = [shape[-1] if shape else UNITS, *shape[1:2], *shape[:1]]
        order = [UNITS, *sizes] if words.is_output_size(name) else [*sizes, UNITS]
        return list(dict.fromkeys(map(int, order)))
    return []


def _seen(kind, arguments, inputs):
    """Return the arrays that the forward of a new object returns and keeps.

    Raises
    ------
    FormError
        If the object cannot be made, or its forward raises.
    """
    holder = made(kind, arguments)
    methods = methods_of(kind)
    if methods is None or inputs is None:
        return {}
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    named = inputs if isinstance(inputs, dict) else {}
    copy = leaves.duplicate(holder)
    try:
        with np.errstate(all="ignore"):
            out = getattr(copy, methods.forward)(*(() if named else given), **named)
    except (Exception, SystemExit) as error:  # code under check may raise anything
        title = f"{_called(kind, arguments)}.{methods.forward}"
        raise FormError(raised(error, title), to_make(kind, ["..."])) from error
    kept = {path: one for path, one in leaves.arrays_in(copy).items() if np.ndim(one)}
    return {**kept, **{("out", *path): one for path, one in leaves.arrays_in([out]).items()}}


def _are_same(first, second):
    """Return whether two dicts of arrays are equal."""
    return first.keys() == second.keys() and all(
        np.array_equal(value, second[key], equal_nan=True) for key, value in first.items()
    )


def forward_names(kind):
    """Return the names of the arguments of a class's forward method.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    list of str
        Empty if the class has no forward and backward methods.
    """
    methods = methods_of(kind)
    return method_parameters(kind, methods.forward).every if methods else []


def first_array(inputs):
    """Return the first array among inputs, without values.

    Parameters
    ----------
    inputs : dict, sequence, ndarray or None
        The inputs.

    Returns
    -------
    ndarray or float
        0.0 if there is no array.
    """
    if isinstance(inputs, np.ndarray):
        return inputs
    values = list(inputs.values()) if isinstance(inputs, dict) else list(inputs or ())
    return next((value for value in values if isinstance(value, np.ndarray)), 0.0)


def made(kind, arguments):
    """Return an object of a class, made with the same random draws each time.

    Parameters
    ----------
    kind : type
        The class.
    arguments : dict of str to object
        Arguments of the constructor.

    Returns
    -------
    object
        The object.

    Raises
    ------
    FormError
        If the constructor raises.
    """
    try:
        return repeated(lambda: kind(**arguments))
    except (Exception, SystemExit) as error:  # code under check may raise anything
        title = _called(kind, arguments)
        raise FormError(raised(error, title), to_make(kind, ["..."])) from error


def _called(kind, arguments):
    """Return the call of a constructor as text."""
    shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
    return f"{kind.__name__}({shown})"


def to_make(kind, names):
    """Return what to write so that an object of a class is checked.

    Parameters
    ----------
    kind : type
        The class.
    names : sequence of str
        Names of the arguments of its constructor.

    Returns
    -------
    str
        Part of a sentence.
    """
    arguments = ", ".join("..." if name == "..." else f"{name}=..." for name in names)
    call = f"{kind.__name__}({arguments})"
    return f"make an object in the file: layer = {call}, or in Python: ibpcl.check({call}, x)"


def _short(value):
    return f"array{value.shape}" if isinstance(value, np.ndarray) else repr(value)
