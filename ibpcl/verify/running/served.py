"""The process in which a user's file runs: load it, collect its inputs, check its pairs, and send
what was found.

:class:`ibpcl.verify.running.user.FileRun` starts it and reads its messages.
"""

import contextlib
import inspect
import json
import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

from ibpcl.errors import UserError, nearest
from ibpcl.verify.doors import discovery, loading
from ibpcl.verify.doors.inputs import is_input, ready, refuse_shapes
from ibpcl.verify.doors.opening import Disagreeing
from ibpcl.verify.doors.pair import Pair
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.target import Target
from ibpcl.verify.forwards import roles
from ibpcl.verify.forwards.checking import check_group
from ibpcl.verify.gradcheck import check
from ibpcl.verify.running.trap import Trap, limit
from ibpcl.verify.witnesses.clock import TimeUp


def serve(request):
    """Check the pairs of a file, in the process that is there for this, and print the messages on
    standard output.

    ``request`` has the attributes of a :class:`ibpcl.verify.running.user.FileRun`, as JSON.  What
    the file itself prints goes to standard error.
    """
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    try:
        os.dup2(2, 1)
    except OSError:  # the caller has no standard error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)
    os.environ.setdefault("MPLBACKEND", "Agg")  # a figure should not open a window and wait

    def send(event, **content):
        channel.write(json.dumps({"event": event, **content}) + "\n")
        channel.flush()

    send("ready")
    options = SimpleNamespace(**json.loads(request))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own syntax and imports
            loaded = loading.load(options.path)
        targets = discovery.targets_in(loaded.module)
        groups = groups_of(loaded.module, targets, options)
        chosen = choose(loaded, targets, options, groups)
        everything = len(chosen) == len(targets) and not options.names
        send(
            "pairs",
            names=[*(target.name for target in chosen), *map(label_of, groups)],
            failures=loaded.failures,
            left_out=alone_in(loaded.module, targets, groups) if everything else [],
        )
        for target in chosen:
            content = verdict_on(loaded, target, options)
            unfinished = (
                content.get("abstract") and not options.names
            )  # a base class; its children are checked
            send("left out" if unfinished else "verdict", name=target.name, **content)
        for group in groups:
            content = verdict_on_group(group, options)
            # names that only happen to be those of a distribution's functions
            strange = targets and not options.names and not is_decided(content)
            event = "left out" if strange else "verdict"
            send(event, name=label_of(group), functions=group.names, **content)
    except UserError as error:
        send("refused", state="refused", words=str(error))
    sys.stdout.flush()
    os._exit(0)  # what the file leaves for the exit is not waited for


def label_of(group):
    """Return how the functions of a distribution are called in messages, apart from any pair."""
    return f"<{group.title}>"


def groups_of(module, targets, options):
    """Return the groups of functions without a gradient that are checked against each other.

    Parameters
    ----------
    module : module
    targets : dict of str to Target
    options : namespace
        With ``names``, of functions or of groups; all groups if it is empty.

    Returns
    -------
    groups : list of ibpcl.verify.forwards.roles.Group
    """
    gradients = {getattr(target.gradient, "__name__", "") for target in targets.values()}
    groups = roles.groups_in(module, gradients)
    if not options.names:
        return groups
    return [
        group
        for group in groups
        if label_of(group) in options.names
        or group.title in options.names
        or any(name in options.names and name not in targets for name in group.names)
    ]


def is_decided(content):
    """Return whether anything is known of a group: some function is right, or wrong."""
    items = content.get("forwards", {}).get("items", [])
    return any(item["verdict"] in ("ok", "wrong") for item in items)


def verdict_on_group(group, options):
    """Return what is to be sent of a group: its report, or a state and why there is none."""
    start = time.perf_counter()
    try:
        with Trap() as trap, limit(options.timeout):
            report = check_group(group)
    except TimeUp as up:
        return {"state": "undecided", "words": str(up)}
    if trap.error is not None:
        return {"state": "undecided", "words": f"the checker itself failed: {trap}"}
    return {"forwards": report.to_dict(), "seconds": time.perf_counter() - start}


def choose(loaded, targets, options, groups=()):
    """Return the targets that were asked for, all if none was; refuses names that are missing."""
    module = loaded.module
    path = options.path
    failure = f"; {loaded.failures[0]}" if loaded.failures else ""
    if not options.names:
        if not targets and not groups:
            if loaded.failures:
                raise UserError(f"check: {path} cannot be imported: {loaded.failures[0]}")
            raise UserError(
                f"check: {path} has nothing to check: expected a function f with an f_vjp beside "
                "it, forward and backward functions, a class with both, a function that "
                "returns loss, gradient, or functions of a distribution, such as log_density and "
                f"sample; then `ibpcl check {path}` checks all of them"
            )
        refuse_shapes(list(targets.values()), options.shapes)
        return list(targets.values())
    chosen = []
    in_groups = {name for group in groups for name in (label_of(group), group.title, *group.names)}
    for name in options.names:
        target = discovery.find(targets, name)
        if target is None and name in in_groups:
            continue
        value = getattr(module, name, None)
        if target is None and callable(value):
            target = asked_for(module, name, value, path)
        if target is None:
            if loaded.failures and not targets:
                raise UserError(f"check: {path} cannot be imported: {loaded.failures[0]}")
            every = ", ".join(targets) or "none with a gradient"
            raise UserError(
                f"check: {path} has no function {name!r} (it has: {every})"
                f"{nearest(name, list(targets))}{failure}"
            )
        chosen.append(target)
    refuse_shapes(chosen, options.shapes)
    return list({target.name: target for target in chosen}.values())


def asked_for(module, name, value, path):
    """Return the target of a name that is no pair by itself, or refuse it."""
    if inspect.isclass(value):
        if discovery.is_concrete(value):
            return Target(name, "class", value)
        raise UserError(
            f"check: {path}: the class {name} has no forward with a backward: expected methods "
            "out = layer.forward(x) and dx = layer.backward(dout), or return loss, gradient from "
            "loss()"
        )
    return Target(name, "loss", value)


def alone_in(module, targets, groups=()):
    """Return the public functions that a module defines and that belong to no target or group."""
    used = {name for group in groups for name in group.names}
    used |= {alias for target in targets.values() for alias in (target.name, *target.aliases)}
    used |= {getattr(target.gradient, "__name__", "") for target in targets.values()}
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and name not in used
        and not name.startswith("_")
        and not is_input(name)
    ]


def verdict_on(loaded, target, options):
    """Return what is to be sent of a target: its report and figures, or a state and why there is no
    report.
    """
    start = time.perf_counter()
    module = loaded.module
    try:
        with Trap() as trap, limit(options.timeout):
            found = ready(
                module, target, options.path, options.shapes, options.seed % 2**32, options.wrt
            )
            wrt = None if isinstance(found.forward, Pair) else options.wrt
            report = check(
                found.forward,
                found.gradient,
                found.inputs,
                wrt,
                seed=options.seed % 2**32,
                timeout=options.timeout,
                partial=True,
            )
    except TimeUp as up:
        return {"state": "undecided", "words": str(up)}
    if trap.error is None:
        if found.guessed:
            report.notes.append(
                f"the inputs were guessed: {found.guessed}; give your own by check_inputs() or "
                "--shape"
            )
        content = {
            "report": report.to_dict(),
            "seconds": time.perf_counter() - start,
            "figures": "",
        }
        with contextlib.suppress(Exception, TimeUp):  # no curves if they raise
            content["figures"] = report.figures if options.figures else ""
        return content
    return without_report(trap, loaded, target, options)


def without_report(trap, loaded, target, options):
    """Return a state and, in one line, why there is no report."""
    error = trap.error
    title = f"{options.path}:{target.name}"
    if isinstance(error, Disagreeing):
        return {"state": "undecided", "words": str(error)}
    words = (
        str(error)
        .removeprefix("check: ")
        .removeprefix(f"{title}: ")
        .removeprefix(f"{options.path}: ")
    )
    if (
        target.kind == "loss"
        and isinstance(error, FormError)
        and not discovery.returns_gradients(target.forward)
    ):
        name = target.name
        return {
            "state": "refused",
            "words": f"check: {options.path} has no {name}_vjp, the gradient of {name}: write "
            f"it beside {name}, or let {name} return loss, gradient ({words})",
        }
    cause = error.__cause__ if isinstance(error, FormError) else error
    module = loaded.module
    if isinstance(cause, NotImplementedError):
        return {
            "state": "refused",
            "words": f"check: {title}: {raised(cause, 'it')}",
            "abstract": True,
        }
    if isinstance(cause, NameError) and loaded.failures:
        return {
            "state": "refused",
            "words": f"check: {title}: {raised(cause, 'it')}, and {loaded.failures[0]}",
        }
    if (
        cause is not None
        and trap_of(cause).frames(Path(module.__file__))
        and not isinstance(cause, UserError)
    ):
        return {
            "state": "wrong",
            "words": f"it raises {raised(cause, '').removeprefix(' raises ')}",
        }
    if isinstance(error, (ValueError, TypeError)):
        words = words.replace("pass wrt=(...)", "pass --wrt")
        path = options.path if words.startswith("check_inputs") else title
        return {"state": "refused", "words": f"check: {path}: {words}"}
    return {"state": "undecided", "words": f"the checker itself failed: {trap}"}


def trap_of(error):
    """Return a :class:`Trap` that holds an error."""
    trap = Trap()
    trap.error = error
    return trap
