"""The program that checks a user's file: it loads the file, checks its pairs, and sends results.

It runs in a child process; :class:`ibpcl.verify.running.user.FileRun` starts it and reads its
messages.
"""

import ast
import contextlib
import inspect
import io
import os
import sys
import time
import traceback
import warnings

from ibpcl.errors import UserError, nearest
from ibpcl.verify.adapters import discovery, loading
from ibpcl.verify.adapters.closure import returns_closure
from ibpcl.verify.adapters.expression import is_users, record_of
from ibpcl.verify.adapters.guesses import described
from ibpcl.verify.adapters.inputs import (
    given_inputs,
    is_input,
    other_choices,
    ready,
    refuse_shapes,
)
from ibpcl.verify.adapters.loss import returns_gradients
from ibpcl.verify.adapters.refusals import FormError, passes_users_code, place_of, raised
from ibpcl.verify.adapters.target import Target
from ibpcl.verify.check import check
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.distributions.checking import check_group
from ibpcl.verify.distributions.reading import groups_in
from ibpcl.verify.reports.plain import plain
from ibpcl.verify.running.trap import Trap, limit
from ibpcl.verify.running.user import Request, checked

LINES = 10  # number of lines that the code under check may print


class Program:
    """The requests to the child process (see :mod:`ibpcl.sandbox`).

    Attributes
    ----------
    file : str
        Empty: an error of the checker names no line.
    """

    file = ""

    def __init__(self):
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            if getattr(sys, name) is None:  # the parent has no standard error
                setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8", closefd=False))
            getattr(sys, name).reconfigure(errors="replace", line_buffering=True)
        os.environ.setdefault("MPLBACKEND", "Agg")  # a figure should not open a window and wait

    def check(self, request):
        """Check the pairs and the distributions of a file.

        Parameters
        ----------
        request : dict
            A :class:`ibpcl.verify.running.user.Request`.

        Yields
        ------
        dict
            A message: ``event`` is "pairs", with the names that follow; "verdict" or "left out",
            with one of the names; or "refused", which is the last.
        """
        request = Request(**request)
        sys.argv = [request.path]  # a program may read its options
        try:
            yield from messages(request)
        except UserError as error:
            yield {"event": "refused", "state": "refused", "words": str(error)}
        sys.stdout.flush()


def messages(request):
    """Load a file, check what is requested, and yield the messages about it.

    Parameters
    ----------
    request : ibpcl.verify.running.user.Request
        The request.

    Yields
    ------
    dict
        The messages of :meth:`Program.check`.

    Raises
    ------
    UserError
        If the file cannot be loaded, or has nothing to check.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of the file's syntax and imports
        loaded = loading.load(request.path)
    targets = discovery.targets_in(loaded.module)
    groups = groups_of(loaded.module, targets, request)
    chosen = choose(loaded, targets, request, groups)
    everything = len(chosen) == len(targets) and not request.names
    yield {
        "event": "pairs",
        "names": [*(target.name for target in chosen), *map(label_of, groups)],
        "failures": loaded.failures,
        "left_out": alone_in(loaded.module, targets, groups) if everything else [],
    }
    for target in chosen:
        content = verdict_on(loaded, target, request)
        # a base class is left out; its subclasses are checked
        unfinished = content.get("abstract") and not request.names
        event = "left out" if unfinished else "verdict"
        yield {"event": event, "name": target.name, **content}
    for group in groups:
        content = verdict_on_group(group, request)
        # in a file with pairs, such names may have another meaning
        strange = targets and not request.names and not is_decided(content)
        event = "left out" if strange else "verdict"
        yield {"event": event, "name": label_of(group), "functions": group.names, **content}


def results_here(request):
    """Check what is requested in this process, which the file may therefore end or block.

    Parameters
    ----------
    request : ibpcl.verify.running.user.Request
        The request.

    Returns
    -------
    list of ibpcl.verify.running.user.Checked
        The results, without those that are left out.
    """
    results = []
    try:
        for message in messages(request):
            if message["event"] == "verdict":
                results.append(checked(f"{request.path}:{message['name'].strip('<>')}", message))
    except UserError as error:
        results.append(checked(request.path, {"state": "refused", "words": str(error)}))
    return results


class FirstLines(io.TextIOBase):
    """A text stream that passes on the first lines that are written to it.

    Parameters
    ----------
    stream : file
        Receives the lines.

    Attributes
    ----------
    hidden : int
        Number of lines that were not passed on.

    Examples
    --------
    >>> stream = io.StringIO()
    >>> lines = FirstLines(stream)
    >>> for n in range(12):
    ...     print(n, file=lines)
    >>> stream.getvalue().split()[-1], lines.hidden
    ('9', 2)
    """

    def __init__(self, stream):
        self.stream = stream
        self.shown = 0
        self.hidden = 0

    def writable(self):
        """Return True."""
        return True

    def write(self, text):
        """Write the part of a text that belongs to the first lines.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        count : int
            The number of characters, as if all had been written.
        """
        parts = text.splitlines(keepends=True)
        room = max(LINES - self.shown, 0)
        lines = text.count("\n")
        self.stream.write("".join(parts[:room]))
        self.shown += min(lines, room)
        self.hidden += lines - min(lines, room)
        return len(text)

    def flush(self):
        """Flush the stream."""
        self.stream.flush()


@contextlib.contextmanager
def first_lines():
    """Show only the first lines that the code in the block prints.

    Yields
    ------
    FirstLines
        The stream that replaces standard output.
    """
    lines = FirstLines(sys.stdout)
    with contextlib.redirect_stdout(lines):
        yield lines


def label_of(group):
    """Return the name of a group of functions in messages, which differs from that of any pair.

    Parameters
    ----------
    group : ibpcl.verify.distributions.reading.Group
        The group.

    Returns
    -------
    str
        The title in angle brackets.
    """
    return f"<{group.title}>"


def groups_of(module, targets, request):
    """Return the groups of functions without a gradient that are checked against each other.

    Parameters
    ----------
    module : module
        The user's file as a module.
    targets : dict of str to Target
        The targets of the file.
    request : Request
        With ``names``: functions or groups to check; if empty, all groups.

    Returns
    -------
    groups : list of ibpcl.verify.distributions.reading.Group
        The groups.
    """
    gradients = {getattr(target.gradient, "__name__", "") for target in targets.values()}
    groups = groups_in(module, gradients)
    if not request.names:
        return groups
    return [
        group
        for group in groups
        if label_of(group) in request.names
        or group.title in request.names
        or any(name in request.names and name not in targets for name in group.names)
    ]


def is_decided(content):
    """Return whether the report on a group contains a verdict other than "undecided".

    Parameters
    ----------
    content : dict
        The message about the group.

    Returns
    -------
    bool
        True if some function is right or wrong.
    """
    items = content.get("forwards", {}).get("items", [])
    return any(item["verdict"] in ("ok", "wrong") for item in items)


def verdict_on_group(group, request):
    """Return the message about a group of functions.

    Parameters
    ----------
    group : ibpcl.verify.distributions.reading.Group
        The group.
    request : ibpcl.verify.running.user.Request
        With ``timeout``, the time limit in seconds.

    Returns
    -------
    dict
        With ``forwards`` and ``seconds``; or with ``state`` and ``words`` without a report.
    """
    start = time.perf_counter()
    try:
        with Trap() as trap, limit(request.timeout), first_lines():
            report = check_group(group)
    except TimeUp as up:
        return {"state": "undecided", "words": str(up)}
    if trap.error is not None:
        return {"state": "undecided", "words": f"the checker itself failed: {trap}"}
    return {"forwards": report.to_dict(), "seconds": time.perf_counter() - start}


def choose(loaded, targets, request, groups=()):
    """Return the targets to check.

    Parameters
    ----------
    loaded : ibpcl.verify.adapters.loading.Loaded
        The user's file.
    targets : dict of str to Target
        The targets of the file.
    request : ibpcl.verify.running.user.Request
        With ``path``, ``shapes`` and ``names``; if ``names`` is empty, all targets are chosen.
    groups : sequence of ibpcl.verify.distributions.reading.Group
        Groups of functions, whose names are accepted and left out here.

    Returns
    -------
    list of Target
        The chosen targets.

    Raises
    ------
    UserError
        If a name is missing in the file, or the file has nothing to check.
    """
    module = loaded.module
    path = request.path
    failure = f"; {loaded.failures[0]}" if loaded.failures else ""
    if not request.names:
        if not targets and not groups:
            skipped = f" ({loaded.failures[0]})" if loaded.failures else ""
            raise UserError(
                f"check: {path} has nothing to check{skipped}: expected a function f with an "
                "f_vjp beside it, forward and backward functions, a class with both, a function "
                "that returns loss, gradient, or functions of a distribution, such as log_density "
                f"and sample; then `ibpcl check {path}` checks all of them{_engines_in(module)}"
            )
        refuse_shapes(list(targets.values()), request.shapes)
        return list(targets.values())
    chosen = []
    in_groups = {name for group in groups for name in (label_of(group), group.title, *group.names)}
    for name in request.names:
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
    refuse_shapes(chosen, request.shapes)
    return list({target.name: target for target in chosen}.values())


def _engines_in(module):
    """Return how classes of recorded objects are checked, if a module has any."""
    kinds = [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and is_users(value) and record_of(value) is not None
    ]
    if not kinds:
        return ""
    return (
        f"; {', '.join(kinds)} records how values are computed: write an expression to check, such "
        f"as def expression(a, b): return a * b + a, and def check_inputs(): return "
        f'{{"a": {kinds[0]}(0.5), "b": {kinds[0]}(-2.0)}}'
    )


def asked_for(module, name, value, path):
    """Return the target of a name that was not found as a target.

    Parameters
    ----------
    module : module
        The user's file as a module.
    name : str
        The name.
    value : callable
        The function or class of this name.
    path : str
        The file, for the message.

    Returns
    -------
    Target
        The function as a loss with its gradient, or the class.

    Raises
    ------
    UserError
        If it is a class without a forward and a backward.
    """
    if inspect.isclass(value):
        if discovery.is_concrete(value):
            return Target(name, value)
        raise UserError(
            f"check: {path}: the class {name} has no forward with a backward: expected methods "
            "out = layer.forward(x) and dx = layer.backward(dout), or return loss, gradient from "
            "loss()"
        )
    return Target(name, value)


def alone_in(module, targets, groups=()):
    """Return the public functions of a module that belong to no target or group.

    Parameters
    ----------
    module : module
        The user's file as a module.
    targets : dict of str to Target
        The targets of the file.
    groups : sequence of ibpcl.verify.distributions.reading.Group
        Groups of functions.

    Returns
    -------
    list of str
        Names of the functions.
    """
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


def verdict_on(loaded, target, request):
    """Return the message about a target.

    Parameters
    ----------
    loaded : ibpcl.verify.adapters.loading.Loaded
        The user's file.
    target : Target
        The target.
    request : ibpcl.verify.running.user.Request
        The request: ``path``, ``shapes``, ``seed``, ``wrt``, ``timeout`` and ``figures``.

    Returns
    -------
    dict
        With ``report``, ``seconds`` and ``figures``; or with ``state`` and ``words`` without a
        report.
    """
    start = time.perf_counter()
    module = loaded.module
    try:
        with Trap() as trap, limit(request.timeout), first_lines() as printed:
            pair, report = _checked(module, target, request)
            for chosen in other_choices(module, target, pair):
                if report.ok:
                    pair, report = _checked_too(module, target, request, chosen, pair, report)
    except TimeUp as up:
        return {"state": "undecided", "words": str(up)}
    if trap.error is None and _lacks_a_global(pair, loaded):
        trap.error = pair.raised
    if trap.error is None:
        if printed.hidden:
            report.notes.append(
                f"{printed.hidden} more lines that the code prints during the check are not shown"
            )
        if pair.guessed:
            report.notes.append(
                f"the inputs were guessed: {pair.guessed}; provide your own by check_inputs() or "
                "--shape"
            )
        content = {
            "report": report.to_dict(),
            "seconds": time.perf_counter() - start,
            "figures": "",
        }
        with contextlib.suppress(Exception, TimeUp):  # no charts if drawing them fails
            content["figures"] = report.figures if request.figures else ""
        return content
    return without_report(trap, loaded, target, request)


def _lacks_a_global(pair, loaded):
    """Return whether a gradient function needs a library or a global that is missing here."""
    error = pair.raised
    return isinstance(error, ImportError) or _why_a_name_is_missing(error, loaded) is not None


def _checked(module, target, request, chosen=None):
    """Return a target as a pair, and the report on it."""
    seed = request.seed % 2**32
    pair = ready(module, target, request.shapes, seed, request.wrt, chosen)
    return pair, check(pair, seed=seed, timeout=request.timeout)


def _checked_too(module, target, request, chosen, pair, report):
    """Check a target with another value of an argument; return the worse of two results."""
    words = described(chosen)
    try:
        other, second = _checked(module, target, request, chosen)
    except UserError as error:
        report.unjudged.append(f"{words}: {getattr(error, 'reason', error)}")
        return pair, report
    if second.ok:
        report.notes.append(f"also checked with {words}")
        return pair, report
    second.notes.append(f"checked with {words}")
    return other, second


def without_report(trap, loaded, target, request):
    """Return the message about a target whose check has raised an exception.

    Parameters
    ----------
    trap : Trap
        With the exception.
    loaded : ibpcl.verify.adapters.loading.Loaded
        The user's file.
    target : Target
        The target.
    request : ibpcl.verify.running.user.Request
        With ``path``.

    Returns
    -------
    dict
        With ``state`` ("refused", "wrong" or "undecided") and ``words``, one line.
    """
    error = trap.error
    is_refusal = isinstance(error, FormError)
    title = f"{request.path}:{target.name}"
    words = "; ".join(filter(None, (error.reason, error.usage))) if is_refusal else str(error)
    if (
        target.gradient is None
        and inspect.isroutine(target.forward)
        and is_refusal
        and not returns_gradients(target.forward)
        and not returns_closure(target.forward)
    ):
        name = target.name
        return {
            "state": "refused",
            "words": f"check: {request.path} has no {name}_vjp, the gradient of {name}: write "
            f"it beside {name}, or let {name} return loss, gradient ({error.reason})",
        }
    cause = error.__cause__ if is_refusal else error
    if isinstance(cause, NotImplementedError):
        return {
            "state": "refused",
            "words": f"check: {title}: {raised(cause, 'it')}",
            "abstract": True,
        }
    reason = _why_a_name_is_missing(cause, loaded)
    if reason is not None:
        return {"state": "refused", "words": f"check: {title}: {raised(cause, 'it')}{reason}"}
    if _is_forward_without_a_name(target, error, cause):
        return {
            "state": "undecided",
            "words": f"not judged: the forward does not run, {raised(cause, 'it')}",
            "where": plain(place_of(cause)),
        }
    if isinstance(cause, ImportError):  # of a gradient function: nothing about its numbers
        return {"state": "refused", "words": f"check: {title}: {raised(cause, 'it')}"}
    if _is_forward_of_an_object(target, error, request):
        return {
            "state": "refused",
            "words": f"check: {title}: {_object_to_make(target, error.reason)}",
        }
    if cause is not None and passes_users_code(cause) and not isinstance(cause, UserError):
        if not request.shapes and not given_inputs(loaded.module, target):
            advice = "provide inputs for which it runs by check_inputs() or --shape"
            return {"state": "refused", "words": f"check: {title}: {raised(cause, 'it')}; {advice}"}
        return {
            "state": "wrong",
            "words": f"it raises {raised(cause, '').removeprefix(' raises ')}",
            "where": plain(place_of(cause)),
        }
    if isinstance(error, (ValueError, TypeError)):
        return {"state": "refused", "words": f"check: {title}: {words}"}
    return {"state": "undecided", "words": f"the checker itself failed: {trap}"}


def _why_a_name_is_missing(error, loaded):
    """Return why a global name was not set, in words; None if the file has no reason for it."""
    if isinstance(error, (NameError, ImportError)) and loaded.failures:
        return f", and {loaded.failures[0]}"
    if isinstance(error, NameError):
        setter = _setter_of(loaded.module, error.name)
        return f", which {setter}() must set before" if setter is not None else None
    return None


def _is_forward_without_a_name(target, error, cause):
    """Return whether a forward lacks a library or a global name, so that no gradient is judged.

    A local variable that is read too early is a mistake in the function, not a missing name.
    """
    lacks = isinstance(cause, (ImportError, NameError)) and not isinstance(cause, UnboundLocalError)
    if not lacks or not isinstance(error, FormError) or error.in_gradient:
        return False
    gradient = inspect.unwrap(target.gradient) if callable(target.gradient) else None
    code = getattr(gradient, "__code__", None)
    return all(frame.f_code is not code for frame, _ in traceback.walk_tb(cause.__traceback__))


def _is_forward_of_an_object(target, error, request):
    """Return whether the forward of a class raises without inputs, or lacks an attribute."""
    if target.gradient is not None or inspect.isroutine(target.forward):
        return False
    if not isinstance(error, FormError) or error.in_gradient:
        return False
    cause = error.__cause__
    lacks = isinstance(cause, AttributeError) and isinstance(cause.obj, _class_of(target))
    return lacks or (not request.shapes and not target.parameters.required)


def _class_of(target):
    """Return the class of a target that is a class or an object."""
    return target.forward if inspect.isclass(target.forward) else type(target.forward)


def _object_to_make(target, reason):
    """Return why the forward of a class cannot be called, and what to write in the file."""
    return (
        f"{reason}; if others set attributes of the object before, make one in "
        f"the file: layer = {_class_of(target).__name__}(...), layer.NAME = value"
    )


def _setter_of(module, name):
    """Return the name of a function that declares a global name, or None."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, SyntaxError):  # a part of the file is not Python
        return None
    return next(
        (
            function.name
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            and any(isinstance(node, ast.Global) and name in node.names for node in function.body)
        ),
        None,
    )
