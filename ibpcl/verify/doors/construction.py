"""An object of a class whose constructor's arguments are not given: guessed sizes, tried until the class works."""

import inspect
import re

import numpy as np

from ibpcl.verify.doors import leaves
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.draws import repeated
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import parameters_of

OUT = r"n?_?(num_?)?(out|output|outputs|units|neurons|nodes|nout)\w*|fan_?out|n_?hidden|hidden\w*|n_?filters?" \
      r"|num_?filters|filters|depth|n_?classes|num_?classes|layer_depth|m|embed\w*_dim|out_?ch\w*"


def constructed(kind, inputs, given_arguments=None):
    """Return an object of a class and the inputs of its forward.

    Parameters
    ----------
    kind : type
    inputs : dict, sequence, array or None
        For the forward; a dict may also hold arguments of the constructor.

    Raises
    ------
    FormError
        If no object can be made.
    """
    parameters = parameters_of(kind.__init__, skip=1) if "__init__" in dir(kind) else None
    wanted = list(parameters.required) if parameters and parameters.known and not parameters.open_ended else []
    given = dict(given_arguments or {})
    if isinstance(inputs, dict) and parameters is not None:
        given.update({name: value for name, value in inputs.items()
                      if name in parameters.every and name not in forward_names(kind)})
        inputs = {name: value for name, value in inputs.items() if name not in given}
    missing = [name for name in wanted if name not in given]
    if not missing:
        return made(kind, given), inputs
    x = first_array(inputs)
    errors = []
    for options in settings(kind, missing, np.shape(x) if x is not None else (3, 4)):
        try:
            holder = made(kind, {**given, **options})
        except FormError as error:
            errors.append(error)
            continue
        if x is None or _runs(holder, inputs):
            return holder, inputs
    raise errors[0] if errors else FormError(
        f"check: {kind.__name__}({', '.join(wanted)}) could not be made with guessed arguments; give an object "
        f"instead: ibpcl.check({kind.__name__}(...), x)")


def forward_names(kind):
    """Return the names of the arguments of a class's forward."""
    from ibpcl.verify.doors.classes import methods_of
    methods = methods_of(kind)
    return parameters_of(getattr(kind, methods.forward), skip=1).every if methods else []


def first_array(inputs):
    """Return the first array among inputs, None if there is none."""
    if isinstance(inputs, np.ndarray):
        return inputs
    values = list(inputs.values()) if isinstance(inputs, dict) else list(inputs or ())
    return next((value for value in values if isinstance(value, np.ndarray)), None)


def _runs(holder, inputs):
    from ibpcl.verify.doors.classes import methods_of
    methods = methods_of(type(holder))
    if methods is None:
        return True
    values = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    named = inputs if isinstance(inputs, dict) else {}
    try:
        with np.errstate(all="ignore"):
            getattr(leaves.duplicate(holder), methods.forward)(*(() if named else values), **named)
    except Exception:                                   # other sizes may fit
        return False
    return True


def made(kind, arguments):
    """Make an object, with the same draws from NumPy's global generator each time."""
    try:
        return repeated(lambda: kind(**arguments))
    except (Exception, SystemExit) as error:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
        raise FormError(f"check: {raised(error, f'{kind.__name__}({shown})')}; give an object instead: "
                        f"ibpcl.check({kind.__name__}(...), x), or make one in the file: "
                        f"layer = {kind.__name__}(...)") from error


def _short(value):
    return f"array{value.shape}" if isinstance(value, np.ndarray) else repr(value)


def settings(kind, missing, shape):
    """Yield guesses for missing constructor arguments that fit inputs of a shape, the likeliest first."""
    rng = np.random.default_rng(1)
    source = vars(inspect.getmodule(kind) or kind)
    annotations = getattr(kind.__init__, "__annotations__", {})
    for last in dict.fromkeys((shape[-1] if shape else 4, *(shape[1:2] if len(shape) > 2 else ()), *shape[:1])):
        yield {name: _setting(name, shape, last, annotations.get(name), source, rng) for name in missing}


def _setting(name, shape, size, annotation, source, rng):
    """Return a guess for one constructor argument."""
    word, text = words.plain(name), name.lower()
    if word in ("w", "weights", "weight", "kernel"):
        return rng.normal(size=(2, shape[1], 3, 3) if len(shape) == 4 else (size, 5))
    if word in ("b", "bias", "biases"):
        return rng.normal(size=(2,) if len(shape) == 4 else (5,))
    if word in ("gamma", "beta"):
        return rng.normal(size=shape[1:] if len(shape) < 4 else (1, shape[1], 1, 1))
    if "prime" in word or "deriv" in word or ("activation" in word and "grad" in word):
        return lambda x: 1 - np.tanh(x) ** 2
    if "shape" in word or word in ("xdim", "inputdims", "indims"):
        return (3, 3) if "kernel" in word or "filter" in word else tuple(shape[1:]) if len(shape) > 1 else tuple(shape)
    if "activation" in word or word in ("act", "func", "fn", "nonlinearity"):
        return source.get("tanh") or np.tanh if annotation not in (str, "str") else "tanh"
    if "stride" in word:
        return 1
    if "pad" in word:
        return 0
    if any(part in word for part in ("kernel", "pool", "filtersize", "filterh", "filterw", "hfilter", "wfilter",
                                     "fheight", "fwidth")) or word in ("k", "f", "fh", "fw", "ksize"):
        return 2 if "pool" in word else 3
    if word in ("rng", "randomstate", "generator"):
        return np.random.default_rng(0)
    if any(part in word for part in ("prob", "rate", "dropout", "alpha", "slope", "momentum", "lr", "lambda", "reg")) \
            or word == "p" or annotation in (float, "float"):
        return 0.5
    if "eps" in word:
        return 1e-5
    if word == "name" or annotation in (str, "str"):
        return "layer"
    if "head" in word:
        return 2
    if annotation in (bool, "bool"):
        return True
    return 5 if re.fullmatch(OUT, text) else int(size)
