"""The process in which a user's file runs: load it, collect its inputs, check its pairs, and send what was found.

:class:`ibpcl.verify.user.FileRun` starts it and reads its messages.
"""

import contextlib
import importlib.util
import inspect
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify.clock import TimeUp
from ibpcl.verify.gradcheck import check
from ibpcl.verify.trap import Trap, limit


def serve(request):
    """Check the pairs of a file, in the process that is there for this, and print the messages on standard output.

    ``request`` has the attributes of a :class:`ibpcl.verify.user.FileRun`, as JSON.  What the file itself prints goes
    to standard error.
    """
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    try:
        os.dup2(2, 1)
    except OSError:                                         # the caller has no standard error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)

    def send(event, **content):
        channel.write(json.dumps({"event": event, **content}) + "\n")
        channel.flush()

    send("ready")
    options = SimpleNamespace(**json.loads(request))
    try:
        module = load(options.path)
        pairs = pairs_of(module)
        names = options.names or pairs
        refuse_names(module, names, options)
        send("pairs", names=names, left_out=alone_in(module, pairs) if names == pairs else [])
        for name in names:
            send("verdict", name=name, **verdict_on(module, name, options))
    except UserError as error:
        send("refused", state="refused", words=str(error))
    sys.stdout.flush()
    os._exit(0)                                             # what the file leaves for the exit is not waited for


def load(path):
    """Import a file by its path; what it imports from its own folder is found."""
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"check: there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"checked_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module                          # dataclasses and pickles look their module up
    sys.path.insert(0, str(file.parent))
    with Trap() as trap:
        spec.loader.exec_module(module)
    if str(file.parent) in sys.path:
        sys.path.remove(str(file.parent))
    if trap.error is not None:
        raise UserError(f"check: {path} cannot be imported\n{trap.within(file)}") from trap.error
    return module


def pairs_of(module):
    """Return the names of the functions of a module that have a ``_vjp`` beside them."""
    return [name for name, value in vars(module).items()
            if callable(value) and callable(getattr(module, f"{name}_vjp", None))]


def alone_in(module, pairs):
    """Return the public functions that a module defines and that have no ``_vjp`` beside them."""
    return [name for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name not in pairs
            and not name.startswith("_") and name.removesuffix("_vjp") not in pairs and name != "check_inputs"]


def refuse_names(module, names, options):
    """Refuse functions that are not there, and shapes of inputs that no function has."""
    if not names:
        raise UserError(f"check: {options.path} has no function f with an f_vjp beside it")
    for name in names:
        if not callable(getattr(module, name, None)):
            every = ", ".join(pairs_of(module)) or "none with a gradient"
            raise UserError(f"check: {options.path} has no function {name!r} (it has: {every})")
    known = list(dict.fromkeys(key for name in names for key in parameters_of(module, name)))
    unknown = [key for key in options.shapes if key not in known]
    if unknown:
        raise UserError(f"check: --shape names {unknown[0]!r}, which is no parameter of {' or '.join(names)} "
                        f"({', '.join(known)})")


def parameters_of(module, name):
    """Return the parameters of a function by name."""
    try:
        every = inspect.signature(getattr(module, name)).parameters
    except (TypeError, ValueError):                          # built-in functions have no signature
        return {}
    return {key: p for key, p in every.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}


def verdict_on(module, name, options):
    """Return what is to be sent of a pair: its report and figures, or a state and in words why there is no report."""
    file, start = Path(module.__file__), time.perf_counter()
    f_vjp = getattr(module, f"{name}_vjp", None)
    try:
        if not callable(f_vjp):
            raise UserError(f"check: {options.path} has no {name}_vjp, the gradient of {name}: write it beside {name}")
        inputs = make_inputs(module, name, options)
        with Trap() as trap, limit(options.timeout):
            report = check(getattr(module, name), f_vjp, inputs, options.wrt, seed=options.seed % 2**32,
                           timeout=options.timeout, partial=True)
    except UserError as error:
        return {"state": "refused", "words": str(error)}
    except TimeUp as up:
        return {"state": "undecided", "words": str(up)}
    if trap.error is None:
        content = {"report": report.to_dict(), "seconds": time.perf_counter() - start, "figures": ""}
        with contextlib.suppress(Exception, TimeUp):         # no curves if they raise
            content["figures"] = report.figures if options.figures else ""
        return content
    if trap.frames(file):
        return {"state": "wrong", "words": f"it raises\n{trap.within(file)}"}
    if isinstance(trap.error, (ValueError, TypeError)):
        words = str(trap.error).removeprefix("check: ").replace("pass wrt=(...)", "pass --wrt")
        return {"state": "refused", "words": f"check: {options.path}:{name}: {words}"}
    return {"state": "undecided", "words": f"the checker itself failed: {trap}"}


def make_inputs(module, name, options):
    """Collect the inputs of a function, in the order of its parameters: a dict, or the tuple that the file returns."""
    path, given, parameters = options.path, {}, parameters_of(module, name)
    shapes = {key: shape for key, shape in options.shapes.items() if key in parameters}
    if hasattr(module, "check_inputs"):
        with Trap() as trap:
            given = module.check_inputs()
        if trap.error is not None:
            raise UserError(f"check: {path}: check_inputs() raises\n{trap.within(module.__file__)}") from trap.error
        if not isinstance(given, (dict, tuple, list)):
            raise UserError(f"check: {path}: check_inputs() must return a dict or a tuple, got {type(given).__name__}")
        if not isinstance(given, dict):
            if not shapes:
                return tuple(given)
            given = dict(zip(parameters, given, strict=False))
    rng = np.random.default_rng(options.seed % 2**32)
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
