"""The part of an audit that runs inside pytest, in the environment of the audited project.

This file stands alone: :mod:`ibpcl.audit` puts a copy of it on the path of the tests, so the
environment of the project needs pytest, but not this package.  It has three tasks:

- as a plugin of one run without a planted mistake, it notes which test runs which lines of the
  audited files, and with which arrays the forward functions are called (:class:`Tracing`);
- as a plugin of all later runs, it runs only some tests (:class:`Selecting`);
- as a program, it imports pytest and the libraries once, and starts each run as a fork of itself
  (:func:`serve`).
"""

import contextlib
import gc
import json
import os
import sys
import threading
import time

ORDER = "IBPCL_AUDIT_ORDER"  # environment variable with the file that holds the order
MOST_ENTRIES = 20_000  # numbers in the arguments of a call that is kept
MOST_DEPTH = 6  # objects in objects
MOST_CALLS = 6  # calls of a function that are kept, with arguments of different shapes
EVERY = ""  # lines that run while no test runs belong to all tests


def pytest_configure(config):
    """Register the plugin that the order asks for."""
    path = os.environ.get(ORDER)
    if not path or config.pluginmanager.has_plugin("ibpcl_audit_task"):
        return
    with open(path, encoding="utf-8") as file:
        order = json.load(file)
    task = Tracing(order) if order["task"] == "trace" else Selecting(order["tests"])
    config.pluginmanager.register(task, "ibpcl_audit_task")


class Selecting:
    """A plugin that runs only some tests.

    Parameters
    ----------
    tests : list of str
        Node ids of the tests, in the order in which they run.
    """

    def __init__(self, tests):
        self.order = {test: n for n, test in enumerate(tests)}
        self.files = {test.partition("::")[0] for test in tests}

    def pytest_ignore_collect(self, collection_path, config):
        """Leave out the files without a selected test, so that they are not imported."""
        if collection_path.suffix != ".py" or collection_path.name in (
            "conftest.py",
            "__init__.py",
        ):
            return None
        try:
            relative = collection_path.relative_to(config.rootpath).as_posix()
        except ValueError:
            return None
        return None if relative in self.files else True

    def pytest_collection_modifyitems(self, config, items):
        """Keep the selected tests, the fastest first."""
        kept = [item for item in items if item.nodeid in self.order]
        left_out = [item for item in items if item.nodeid not in self.order]
        config.hook.pytest_deselected(items=left_out)
        items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])


class Tracing:
    """A plugin that notes which test runs which lines, and the arguments of some functions.

    Parameters
    ----------
    order : dict
        ``files``, the audited files; ``functions``, pairs of a file and the name of a function
        whose arguments are kept; ``out``, the file for the result.
    """

    def __init__(self, order):
        self.files = {}
        self.given = {os.path.realpath(file) for file in order["files"]}
        self.functions = {tuple(item) for item in order["functions"]}
        self.out = order["out"]
        self.now = EVERY
        self.lines = {}
        self.seconds = {}
        self.failed = {}
        self.calls = {}
        self.collected = []
        self.started = time.process_time()
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def trace(self, frame, event, argument):
        """Trace the lines of audited files, and no others."""
        code = frame.f_code
        name = self.files.get(code.co_filename)
        if name is None:
            real = os.path.realpath(code.co_filename)
            name = self.files[code.co_filename] = real if real in self.given else ""
        if not name:
            return None
        if (name, code.co_qualname) in self.functions:
            self.keep(name, frame)
        seen = self.lines.setdefault(self.now, set())
        seen.add((name, frame.f_lineno))

        def of_lines(frame, event, argument):
            seen.add((name, frame.f_lineno))
            return of_lines

        return of_lines

    def keep(self, name, frame):
        """Keep the arguments of a call if they can be written down."""
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        of_class = names[:1] == ("self",)
        title = type(frame.f_locals["self"]).__name__ if of_class else code.co_name
        kept = self.calls.setdefault(f"{name}::{title}", {})
        if len(kept) >= MOST_CALLS:
            return
        budget = [MOST_ENTRIES]
        try:
            values = {each: written(frame.f_locals[each], budget) for each in names}
        except (TypeError, ValueError, RecursionError, KeyError):
            return
        kept.setdefault(json.dumps(shape_of(values)), values)

    def pytest_collection_finish(self, session):
        """Note the tests in the order in which they run."""
        self.collected = [item.nodeid for item in session.items]

    def pytest_runtest_logstart(self, nodeid):
        """Note which test runs."""
        self.now = nodeid
        sys.settrace(self.trace)  # a debugger, or Hypothesis, may have replaced it

    def pytest_runtest_logfinish(self):
        """Note that no test runs."""
        self.now = EVERY

    def pytest_runtest_logreport(self, report):
        """Note the time of a test, and whether it fails."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed[report.nodeid] = str(report.longrepr)[-2000:]

    def pytest_sessionfinish(self, exitstatus):
        """Write the result."""
        sys.settrace(None)
        threading.settrace(None)
        lines = {}
        for test, seen in self.lines.items():
            for file, line in seen:
                lines.setdefault(file, {}).setdefault(line, []).append(test)
        result = {
            "code": int(exitstatus),
            "tests": self.collected,
            "seconds": self.seconds,
            "failed": self.failed,
            "processor": time.process_time() - self.started,
            "lines": lines,
            "calls": {name: list(kept.values()) for name, kept in self.calls.items()},
            "modules": libraries(),
        }
        with open(self.out, "w", encoding="utf-8") as file:
            json.dump(result, file)

    def shared(self, scope, node):
        """Return the context of a fixture that several tests share: a beginning of node ids."""
        return EVERY if scope in ("session", "package") else f"{node.nodeid}*"


def hooks_of_fixtures():
    """Give :class:`Tracing` a hook around fixtures; pytest is imported here only."""
    import pytest

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        before = self.now
        if fixturedef.scope != "function":
            self.now = self.shared(fixturedef.scope, request.node)
        try:
            return (yield)
        finally:
            self.now = before

    Tracing.pytest_fixture_setup = pytest_fixture_setup


if "pytest" in sys.modules:
    hooks_of_fixtures()


def written(value, budget, depth=0):
    """Return a value as JSON can write it; the budget limits the number of entries.

    An object is written as the name of its class with its attributes, and a function or a class as
    its name.  A generator of random numbers begins anew.
    """
    if depth > MOST_DEPTH:
        raise ValueError("too deep")
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if type(value) in (tuple, list):
        return {type(value).__name__: [written(item, budget, depth + 1) for item in value]}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("keys")
        return {"dict": {key: written(item, budget, depth + 1) for key, item in value.items()}}
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy":
        if kind.__name__ in ("Generator", "RandomState"):
            return {"random": kind.__name__}
        if getattr(getattr(value, "dtype", None), "kind", "") not in tuple("fiub"):
            raise TypeError(kind.__name__)
        budget[0] -= value.size
        if budget[0] < 0:
            raise ValueError("too large")
        return {"array": value.tolist(), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, type) or type(value).__name__ == "function":
        return {"name": value.__qualname__}
    if not hasattr(value, "__dict__") or isinstance(value, tuple):
        raise TypeError(kind.__name__)
    state = {key: written(item, budget, depth + 1) for key, item in vars(value).items()}
    return {"object": kind.__name__, "state": state}


def shape_of(values):
    """Return written values without their numbers."""
    if isinstance(values, dict):
        return {
            key: 0 if key in ("array", "value") else shape_of(value)
            for key, value in values.items()
        }
    if isinstance(values, list):
        return [shape_of(value) for value in values]
    return values


def libraries():
    """Return the imported modules of installed packages."""
    return [
        name
        for name, module in list(sys.modules.items())
        if "site-packages" in (getattr(module, "__file__", None) or "")
    ]


def serve():
    """Answer orders, one a line on standard input: fork, run pytest, and write how it has ended.

    An order has ``folder``, ``arguments``, ``environment``, ``output`` (the file for what is
    printed), ``processor`` and ``waiting`` (limits in seconds) and ``memory`` (bytes).
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    for name in json.loads(sys.stdin.readline()):
        try:
            __import__(name)
        except BaseException:  # a library that cannot be imported alone is imported by the tests
            continue
    forget_warnings()
    gc.freeze()  # a fork need not look at what is loaded already
    for line in iter(sys.stdin.readline, ""):
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            run(order)
        answers.write(json.dumps(wait_for(child, order["waiting"])) + "\n")


def forget_warnings():
    """Let pytest accept plugins that are imported already: it warns that it cannot rewrite them."""
    with contextlib.suppress(ImportError, AttributeError):
        from _pytest.assertion.rewrite import AssertionRewritingHook

        if hasattr(AssertionRewritingHook, "_warn_already_imported"):
            AssertionRewritingHook._warn_already_imported = lambda self, name: None


def run(order):
    """Run pytest in this process, and end it."""
    import resource
    import signal

    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        seconds = int(order["processor"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        if order["memory"]:
            resource.setrlimit(resource.RLIMIT_AS, (order["memory"], order["memory"]))
        os.chdir(order["folder"])
        os.environ.update(order["environment"])
        sys.argv = ["pytest", *order["arguments"]]
        import pytest

        code = int(pytest.main(order["arguments"]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait_for(child, waiting):
    """Return how a child ends: its exit code, negative for a signal, and whether it was late."""
    import signal

    end = time.monotonic() + waiting
    late = False
    pause = 0.002
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)  # what the tests have started
            code = os.waitstatus_to_exitcode(status)
            return {"code": code, "late": late, "seconds": usage.ru_utime + usage.ru_stime}
        if time.monotonic() > end and not late:
            late = True
            try:
                os.killpg(child, signal.SIGKILL)
            except OSError:
                os.kill(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


if __name__ == "__main__":
    serve()
