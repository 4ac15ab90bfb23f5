"""The process in which a user's file runs: load it, collect its inputs, check its pairs, and send what was found.

:class:`ibpcl.verify.user.FileRun` starts it and reads its messages.
"""

import importlib.util
import inspect
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify import check
from ibpcl.verify.messages import sent_curves, sent_report
from ibpcl.verify.problem import TimeUp, keys_by_name, make_problem, shaped_like
from ibpcl.verify.report import InputVerdict, Report
from ibpcl.verify.trap import Interrupted, Trap, limit


def serve(request):
    """Check the pairs of a file, in the process that is there for this, and print the messages on standard output.

    What the file itself prints goes to standard error.
    """
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)

    def send(event, **content):
        channel.write(json.dumps({"event": event, **content}) + "\n")
        channel.flush()

    send("ready")
    options = json.loads(request)
    try:
        _serve(send, options.pop("path"), **options)
    except (UserError, Interrupted) as error:
        send("refused", words=str(error), state="refused" if isinstance(error, UserError) else "undecided")
    except KeyboardInterrupt:
        os._exit(130)                                       # the command that waits says what there is to say
    sys.stdout.flush()
    os._exit(0)                                             # what the file leaves for the exit is not waited for


def _serve(send, path, names, shapes, wrt, seed, timeout, curves):
    with limit(timeout):
        module = load(path)
    pairs = pairs_of(module)
    names = names or pairs
    refuse_names(module, path, names, shapes)
    send("pairs", names=names, left_out=[] if names != pairs else alone_in(module))
    for name in names:
        start = time.perf_counter()
        send("begin", name=name)
        own = {key: tuple(shape) for key, shape in shapes.items() if key in parameters_of(module, name)}
        try:
            with limit(timeout):
                report = check_function(module, path, name, own, wrt, seed, timeout)
            content = sent_report(report)
            if curves:
                send("draws")                               # which has its own time
                content["curves"] = sent_curves(report, timeout)
        except UserError as error:
            content = {"state": "refused", "words": str(error)}
        except NoVerdict as error:
            content = {"state": error.state, "words": str(error)}
        except Interrupted as error:
            content = {"state": "undecided", "words": str(error)}
        send("verdict", name=name, seconds=time.perf_counter() - start, **content)


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
        if str(file.parent) in sys.path:
            sys.path.remove(str(file.parent))
    if trap.error is not None:
        raise UserError(f"check: {path} cannot be imported\n{trap.within(file)}") from trap.error
    return module


def pairs_of(module):
    """Return the names of the functions of a module that have a ``_vjp`` beside them."""
    return [name for name, value in vars(module).items()
            if callable(value) and callable(getattr(module, f"{name}_vjp", None))]


def alone_in(module):
    """Return the public functions that a module defines and that have no ``_vjp`` beside them."""
    pairs = pairs_of(module)
    return [name for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name not in pairs
            and not name.startswith("_") and name.removesuffix("_vjp") not in pairs and name != "check_inputs"]


def refuse_names(module, path, names, shapes):
    """Refuse functions that are not there, and shapes of inputs that no function has."""
    every = ", ".join(pairs_of(module)) or "none with a gradient"
    if not names:
        raise UserError(f"check: {path} has no function f with an f_vjp beside it")
    for name in names:
        if not callable(getattr(module, name, None)):
            raise UserError(f"check: {path} has no function {name!r} (it has: {every})")
    known = list(dict.fromkeys(key for name in names for key in parameters_of(module, name)))
    unknown = [key for key in shapes if key not in known]
    if unknown:
        raise UserError(f"check: --shape names {unknown[0]!r}, which is no parameter of {' or '.join(names)} "
                        f"({', '.join(known)})")


def parameters_of(module, name):
    """Return the parameters of a function by name."""
    with Trap() as trap:
        every = inspect.signature(getattr(module, name)).parameters
    if trap.error is not None:                               # built-in functions have no signature
        return {}
    return {key: p for key, p in every.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}


class NoVerdict(Exception):
    """A pair could not be judged; ``state`` is what that makes of it, "wrong" or "undecided"."""

    def __init__(self, state, words):
        super().__init__(words)
        self.state = state


def check_function(module, path, name, shapes, wrt, seed, timeout):
    """Check one pair of a loaded file and return its report.

    Raises
    ------
    UserError
        If its gradient or its inputs are missing, or the pair does not have the form that can be checked.
    NoVerdict
        If it raises.
    """
    f, f_vjp = getattr(module, name), getattr(module, f"{name}_vjp", None)
    if not callable(f_vjp):
        raise UserError(f"check: {path} has no {name}_vjp, the gradient of {name}: write it beside {name}")
    inputs = make_inputs(module, path, name, shapes, seed)
    with Trap() as trap:
        return judged(f, f_vjp, inputs, wrt, seed=seed % 2**32, timeout=timeout)
    file = Path(module.__file__)
    if isinstance(trap.error, TimeUp):
        raise NoVerdict("undecided", str(trap.error))
    if trap.touches(file):
        raise NoVerdict("wrong", f"it raises\n{trap.within(file)}")
    if isinstance(trap.error, (ValueError, TypeError)):
        words = str(trap.error).removeprefix("check: ").replace("pass wrt=(...)", "pass --wrt")
        raise UserError(f"check: {path}:{name}: {words}") from trap.error
    raise NoVerdict("undecided", f"the checker itself failed: {trap}")


def judged(f, f_vjp, inputs, wrt, **options):
    """Check a pair; gradients that are missing get a verdict of their own, the others are judged.

    Fewer gradients than inputs, in a tuple and without ``wrt``, are taken for those of the first inputs.
    """
    with Trap() as trap:
        report = check(f, f_vjp, inputs, wrt, **options)
        nothing = [item for item in report.inputs if item.kind == "wrong_shape"]
        if not nothing:
            return report
    if isinstance(trap.error, (ValueError, TypeError)) and (wrt is not None or "stacked" in str(trap.error)):
        raise trap.error
    if trap.error is not None and not isinstance(trap.error, (ValueError, TypeError)):
        raise trap.error
    with Trap() as again:
        names, there, missing = gradients_there(f, f_vjp, inputs, wrt)
    if again.error is not None or not missing:
        if trap.error is not None:
            raise trap.error
        return report
    if trap.error is not None:
        report = check(f, f_vjp, inputs, there, **options) if there else Report("", [])
    found = {item.name: item for item in report.inputs if item.name not in missing}
    report.inputs = [found.get(name) or InputVerdict(
        name, "missing_term", f"no gradient was returned for {name}", "return it, or pass --wrt with the names of the "
        "inputs that the gradient is for, in its order") for name in names]
    return report


def gradients_there(f, f_vjp, inputs, wrt):
    """Call a pair once: the inputs to differentiate, those that have a gradient, and those that have none."""
    problem = make_problem(f, f_vjp, inputs, wrt)
    outputs, several, cache = problem.call()
    returned = f_vjp(shaped_like(np.ones(sum(out.size for out in outputs)), outputs, several), cache)
    names = [problem.names[j] for j in problem.wrt]
    if isinstance(returned, dict):
        keys = keys_by_name(returned, names)
        if unknown := set(keys) - set(names) - {f"d{name}" for name in names}:
            raise KeyError(*unknown)
        there = [name for name in names if name in keys]
        missing = [name for name in names if name not in keys or returned[keys[name]] is None]
    else:
        parts = tuple(returned) if isinstance(returned, (tuple, list)) else () if returned is None else (returned,)
        if len(parts) > len(names):
            raise ValueError("more gradients than inputs")
        there = names[:len(parts)]
        missing = [name for name, part in zip(names, parts, strict=False) if part is None] + names[len(parts):]
    return names, there, missing


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
