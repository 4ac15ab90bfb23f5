"""Check a pair that a user has written: ``path/to/mine.py:function``, with ``function_vjp`` beside it.

The inputs come from ``check_inputs()`` in that file, which returns a dict (name to value; a dict may serve several
functions) or a tuple, or they are drawn, normal, in shapes given on the command line.
"""

import importlib.util
import inspect
import sys
from pathlib import Path

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify import check
from ibpcl.verify.trap import Trap


def is_file(target):
    """Tell whether a target names a file rather than a check.

    >>> is_file("mine.py:softmax"), is_file("mine.py"), is_file("gradients/gaussian.kl")
    (True, True, False)
    """
    return target.endswith(".py") or target.rpartition(":")[0].endswith(".py")


def check_target(target, shapes=None, wrt=None, seed=0):
    """Check one pair of a file, or all of them if no function is named.

    Parameters
    ----------
    target : str
        ``path.py:function`` or ``path.py``.
    shapes : dict of str to tuple of int, optional
        Shapes of inputs to draw; ``()`` is a number.
    wrt : sequence of str, optional
        The inputs whose gradients ``function_vjp`` returns, in its order; by default all floating-point ones.
    seed : int
        Of drawn inputs, cotangents and directions.

    Returns
    -------
    list of ibpcl.verify.Report

    Raises
    ------
    UserError
        If file, function, its gradient or its inputs are missing, or the file's code raises; the message says which.
    """
    path, colon, name = target.rpartition(":") if not target.endswith(".py") else (target, "", "")
    module = load(path)
    names = [name.removesuffix("_vjp")] if colon else pairs_of(module)
    if not names:
        raise UserError(f"check: {path} has no function f with an f_vjp beside it")
    if not callable(getattr(module, names[0], None)):
        every = ", ".join(pairs_of(module)) or "none with a gradient"
        raise UserError(f"check: {path} has no function {names[0]!r} (it has: {every})")
    shapes = shapes or {}
    known = {each: parameters_of(module, each) for each in names}
    unknown = [key for key in shapes if not any(key in parameters for parameters in known.values())]
    if unknown:
        every = ", ".join(dict.fromkeys(key for parameters in known.values() for key in parameters))
        raise UserError(f"check: --shape names {unknown[0]!r}, which is no parameter of {' or '.join(names)} ({every})")
    return [check_function(module, path, each, {key: shape for key, shape in shapes.items() if key in known[each]},
                           wrt, seed) for each in names]


def load(path):
    """Import a file by its path; what it imports from its own folder is found."""
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"check: there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"checked_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module                          # dataclasses and pickles look their module up
    sys.path.insert(0, str(file.parent))
    try:
        with Trap() as trap:
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    if trap.error is not None:
        raise UserError(f"check: {path} cannot be imported\n{trap.within(file)}") from trap.error
    return module


def pairs_of(module):
    """Return the names of the functions of a module that have a ``_vjp`` beside them."""
    return [name for name, value in vars(module).items()
            if callable(value) and callable(getattr(module, f"{name}_vjp", None))]


def parameters_of(module, name):
    """Return the parameters of a function by name."""
    every = inspect.signature(getattr(module, name)).parameters
    return {key: p for key, p in every.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}


def check_function(module, path, name, shapes, wrt, seed):
    """Check one pair of a loaded file and return its report."""
    f, f_vjp = getattr(module, name), getattr(module, f"{name}_vjp", None)
    if not callable(f_vjp):
        raise UserError(f"check: {path} has no {name}_vjp, the gradient of {name}: write it beside {name}")
    inputs = make_inputs(module, path, name, shapes, seed)
    with Trap() as trap:
        report = check(f, f_vjp, inputs, wrt, seed=seed % 2**32)
        report.title = f"{path}:{name}"
        return report
    file = Path(module.__file__)
    if trap.touches(file):
        raise UserError(f"check: {path}:{name} raises\n{trap.within(file)}") from trap.error
    if not isinstance(trap.error, (ValueError, TypeError)):
        raise trap.error
    words = str(trap.error).removeprefix("check: ").replace("pass wrt=(...)", "pass --wrt")
    raise UserError(f"check: {path}:{name}: {words}") from trap.error


def make_inputs(module, path, name, shapes, seed):
    """Collect the inputs of a function, in the order of its parameters: a dict, or the tuple that the file returns."""
    file, given, parameters = Path(module.__file__), {}, parameters_of(module, name)
    if hasattr(module, "check_inputs"):
        with Trap() as trap:
            given = module.check_inputs()
        if trap.error is not None:
            raise UserError(f"check: {path}: check_inputs() raises\n{trap.within(file)}") from trap.error
        if not isinstance(given, (dict, tuple, list)):
            raise UserError(f"check: {path}: check_inputs() must return a dict or a tuple, got {type(given).__name__}")
        if not isinstance(given, dict):
            if not shapes:
                return tuple(given)
            given = dict(zip(parameters, given, strict=False))
    rng = np.random.default_rng(seed % 2**32)
    drawn = {key: rng.normal(size=shape) if shape else float(rng.normal()) for key, shape in shapes.items()}
    values = {**given, **drawn}
    inputs = {key: values[key] for key in parameters if key in values}
    missing = [key for key, p in parameters.items() if key not in values and p.default is p.empty]
    if missing:
        sizes = " ".join(f"--shape {key}=3,4" for key in missing)
        raise UserError(f"check: {path}:{name}: no value for {', '.join(missing)}; let a function check_inputs() "
                        f"in the file return a dict with {'it' if len(missing) == 1 else 'them'}, or pass {sizes}")
    if list(inputs) != list(parameters)[:len(inputs)]:
        raise UserError(f"check: {path}:{name}: give a value for every parameter before {list(inputs)[-1]!r}")
    return inputs


def parse_shapes(texts):
    """Read ``x=3,4`` as {"x": (3, 4)}; ``tau=`` is a number.

    >>> parse_shapes(["x=3,4", "tau="])
    {'x': (3, 4), 'tau': ()}
    """
    shapes = {}
    for text in texts:
        name, equals, sizes = text.partition("=")
        parts = [part.strip() for part in sizes.split(",") if part.strip()]
        if not name or not equals or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise UserError("check: --shape takes NAME=SIZES of at least 1, such as x=3,4 (or tau= for a number), "
                            f"got {text!r}")
        shapes[name.strip()] = tuple(map(int, parts))
    return shapes
