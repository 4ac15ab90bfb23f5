"""Construction of an object from a class, with given arguments or at most three guessed numbers."""

import contextlib
import functools
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

MOST = 3  # guessed arguments; more are asked for
# Arguments that are arrays of a layer, as `plain`.
ARRAYS = re.compile(r"w[a-z]{0,2}\d?|weights?\d?|b[a-z]{0,2}\d?|bias(es)?|g|gamma|beta|gain|theta")
UNITS = 5  # outputs of a guessed layer
# Words in the names of an activation and of its derivative.
CALLED = frozenset({"activation", "act", "nonlinearity"})
DERIVED = frozenset({"prime", "deriv", "derivative"})
# Methods that create the parameters of a layer, or take the shape of its input.
SET_UP = re.compile(
    r"_*(build|init|initiali[sz]e|set_?up)"
    r"|_*(build|create|init|initiali[sz]e|make|reset|set_?up)_?(weights?|params?|parameters)"
    r"|_*(build|compute|init|initiali[sz]e|set|set_?up)_?(in(put)?_)?(dims?|dimensions|shapes?)",
    re.IGNORECASE,
)
# Attributes that others set before the first forward.
SHAPES = re.compile(r"in(put)?_?(shape|dims?|size)", re.IGNORECASE)
# Words in the names of the sides of a kernel or a window.
SIDES = frozenset({"kernel", "pool", "filter", "window"})
SIDE = 2
FRACTION = 0.5  # for a rate of dropout, a slope, a momentum


def constructed(kind, inputs):
    """Return an object of a class and the inputs of its forward method.

    At most three numbers are guessed: sizes that fit the input, and fractions.

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
        return _running(kind, given, inputs), inputs
    shape = np.shape(first_array(inputs))
    options = [values_for(kind, name, shape) for name in missing]
    if len(missing) > MOST or not all(options):
        raise FormError(
            f"the constructor of {kind.__name__} takes {', '.join(missing)}, which the "
            "checker does not guess",
            to_make(kind, missing),
        )
    refused = None
    for values in itertools.product(*options):
        arguments = {**given, **dict(zip(missing, values, strict=True))}
        try:
            return _running(kind, arguments, inputs), inputs
        except FormError as error:
            refused = refused or error
    raise refused


def _running(kind, arguments, inputs):
    """Return an object whose forward runs, set up with the shape of the input if that is needed."""
    holder = made(kind, arguments)
    called = _called(kind, arguments)
    try:
        runs(holder, inputs, called)
    except FormError:
        shape = np.shape(first_array(inputs))
        for given in (shape[1:], shape):
            holder = made(kind, arguments)
            with contextlib.suppress(FormError):
                _set_up(holder, given)
                runs(holder, inputs, called)
                return holder
        raise
    return holder


def _set_up(holder, shape):
    """Call the methods in which a layer creates its parameters; it may lack the input's shape."""
    for name, value in leaves.children(holder):
        if value is None and SHAPES.fullmatch(name):
            setattr(holder, name, shape[-1] if name.endswith("size") else shape)
    for name in set_up_methods(type(holder)):
        given = [shape] * len(method_parameters(type(holder), name).required)
        try:
            repeated(functools.partial(getattr(holder, name), *given))
        except Exception as error:  # code under check may raise anything
            raise FormError(raised(error, name)) from error


def set_up_methods(kind):
    """Return the names of the methods in which a layer creates its parameters.

    Parameters
    ----------
    kind : type
        The class of the layer.

    Returns
    -------
    list of str
        Methods without arguments, or with one: the shape of the input.

    Examples
    --------
    >>> class Layer:
    ...     def build(self, input_shape): ...
    ...     def reset(self): ...
    >>> set_up_methods(Layer)
    ['build']
    """
    names = dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base))
    return [
        name
        for name in names
        if SET_UP.fullmatch(name)
        and inspect.isfunction(getattr(kind, name))
        and len(method_parameters(kind, name).required) < 2
    ]


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


def _tanh_prime(x):
    return 1 - np.tanh(x) ** 2


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
        Sizes, fractions, a shape, or tanh for an activation and its derivative; empty for any other
        argument.
    """
    annotation = getattr(kind.__init__, "__annotations__", {}).get(name)
    parts = words.tokens(name)
    if not SIDES.isdisjoint(parts) and not {"num", "n", "number"}.intersection(parts):
        return [SIDE, (SIDE, SIDE)]
    shapes = []
    if ("shape" in parts or "dims" in parts) and annotation not in (int, "int"):
        shapes = [tuple(shape[1:]), tuple(shape)]
    if not DERIVED.isdisjoint(parts):
        return [_tanh_prime]
    if not CALLED.isdisjoint(parts) and annotation not in (str, "str"):
        return [np.tanh]
    usual = NUMBERS.get(words.plain(name))
    if isinstance(usual, (int, float)) and not words.is_vector(name):
        return [usual]
    if annotation in (float, "float") or words.is_fraction(name) or words.is_rate(name):
        return [FRACTION]
    if annotation in (int, "int") or words.is_size(name):
        sizes = [shape[-1] if shape else UNITS, *shape[1:2], *shape[:1]]
        order = [UNITS, *sizes] if words.is_output_size(name) else [*sizes, UNITS]
        return [*shapes, *dict.fromkeys(map(int, order))]
    return shapes


def runs(holder, inputs, called):
    """Call the forward method of a copy of an object once.

    Parameters
    ----------
    holder : object
        The object.
    inputs : dict, sequence, ndarray or None
        Inputs of the forward.
    called : str
        How the object was made, for the message.

    Raises
    ------
    FormError
        If the forward raises.
    """
    methods = methods_of(type(holder))
    values = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    named = inputs if isinstance(inputs, dict) else {}
    copy = leaves.duplicate(holder)
    title = f"{called}.{methods.forward}" if methods else ""
    try:
        with np.errstate(all="ignore"):
            if methods is not None and inputs is not None:
                getattr(copy, methods.forward)(*(() if named else values), **named)
    except (Exception, SystemExit) as error:  # other sizes may fit
        raise FormError(raised(error, title), to_make(type(holder), ["..."])) from error


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
