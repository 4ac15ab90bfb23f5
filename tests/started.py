"""The processes that the tests start: a test that starts Python has the mark ``processes``.

The test command leaves these tests out, except a handful with the mark ``starts``; CI runs them in
a step of its own.  Each start costs a third of a second or more, since it loads NumPy again.  What
is counted is what pytest's own processes start with ``subprocess``, ``multiprocessing`` or
``os.fork``; their children start further ones.  What is started once, by the first test that needs
it, needs no mark: the process that helps to compile the kernels, and programs that libraries look
for, such as ``fc-list``.
"""

import contextlib
import os
import sys
from multiprocessing import util

import pytest

PYTHON = "python"
HANDFUL = 6  # tests of the quick set that may start Python
MARKS = ("slow", "processes", "starts")  # each needs a reason
events = []  # the programs that were started
unexplained = []  # the tests that have a mark without its reason
quick = []  # the tests of the quick set that start Python


def listen(event, arguments):
    """Note the program of a process that is started."""
    if event == "os.fork":
        events.append(PYTHON)
    elif event == "subprocess.Popen":
        program, words = arguments[:2]
        words = [words] if isinstance(words, (str, bytes, os.PathLike)) else list(words)
        compiles = any("import ibpcl.kernels." in str(word) for word in words)
        events.append("compilation" if compiles else str(program or words[0]))


def spawn(path, arguments, passed, start=util.spawnv_passfds):
    """Start a process for ``multiprocessing``, which has no event."""
    tracker = any("resource_tracker" in str(each) for each in arguments)  # one for all tests
    events.append("tracker" if tracker else PYTHON)
    return start(path, arguments, passed)


def without_reason(item):
    """Return the marks of a test that need a reason and have none."""
    return [
        f"{item.nodeid}: the mark {mark.name!r} needs reason=..."
        for mark in item.iter_markers()
        if mark.name in MARKS and not (set(mark.kwargs) == {"reason"} and mark.kwargs["reason"])
    ]


@contextlib.contextmanager
def refused(item):
    """Let a test without a mark fail if the block starts processes."""
    before = len(events)
    yield
    count = sum("python" in os.path.basename(each).lower() for each in events[before:])
    if count and not any(mark.name in MARKS for mark in item.iter_markers()):
        pytest.fail(
            f"the test starts Python {count} times; call the function in this process, or mark the "
            "test `processes` or `slow` with a reason (tests/started.py)"
        )


sys.addaudithook(listen)
util.spawnv_passfds = spawn
