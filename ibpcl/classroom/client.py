"""The judge's end of the pipe: start a worker in its box, ask it, and end it when its time is
up.
"""

import contextlib
import functools
import json
import math
import os
import re
import signal
import subprocess
import threading
import time

from ibpcl.classroom import processes, sandbox
from ibpcl.classroom.cleaning import clean, without_folders
from ibpcl.classroom.inside import frames
from ibpcl.classroom.inside.limits import MOST_THREADS

STARTING = 20.0  # seconds for the interpreter, NumPy and SciPy to start
TICK = 0.1  # seconds between two looks at the clock and the number of threads
MOST_HEADER = 1 << 16  # bytes of an answer besides its numbers: shapes, and at most a message
# an answer's numbers: bytes for nothing, and times the bytes of question and expectation
SPARE = 1 << 20
TIMES = 32
MOST_MESSAGE = 2000


class HandInError(Exception):
    """The hand-in's code raised: type, message and line are its own words, cleaned but not to be
    trusted.

    Attributes
    ----------
    name, message : str
    line : int
        0 if unknown.
    """

    def __init__(self, name, message="", line=0):
        super().__init__(name)
        self.name = clean(name, 100)
        self.line = int(line)
        self.place = ""
        self.message = clean(without_folders(str(message)[:MOST_MESSAGE]), MOST_MESSAGE)


class Ended(HandInError):
    """The worker has ended: it ran out of time or memory, left the program, or wrote something that
    is not an answer.

    Attributes
    ----------
    details : str
        For the teacher: may hold numbers that the hand-in chose, such as its exit code.
    """

    def __init__(self, name, message="", details=""):
        super().__init__(name, message)
        self.details = details


class Worker:
    """A hand-in in its box.

    Parameters
    ----------
    source : str
        The hand-in's text.
    file : str
        The name of its file, for messages.
    box : str
        Name of the box, one of :data:`ibpcl.classroom.sandbox.NAMES`.
    seconds : float
        For all calls together.
    memory_mb : int
    per_call : float
        Seconds for one call.
    library : dict of str to str, optional
        Modules that the hand-in's process may import, as texts.
    lenient : bool
        Whether statements of the module that raise are skipped.

    Attributes
    ----------
    largest : int
        Bytes of the largest answer that is expected; set by the judge.
    """

    def __init__(
        self,
        source,
        file,
        box,
        seconds=60.0,
        memory_mb=1024,
        per_call=10.0,
        library=None,
        lenient=False,
    ):
        self.deadline = time.monotonic() + seconds + STARTING
        self.per_call = per_call
        self.until = math.inf
        self.closed = threading.Event()
        self.late = False
        self.crowded = False
        self.largest = 0
        made = sandbox.make(box, seconds, memory_mb, library)
        self.process = subprocess.Popen(
            made.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=made.environment,
            cwd="/" if os.name == "posix" else None,
            start_new_session=os.name == "posix",
        )
        threading.Thread(target=self._watch, daemon=True).start()
        order = json.dumps(made.order).encode()
        try:
            self._write(len(order).to_bytes(8, "little") + order)
            self.load(source, file, lenient)
        except BaseException:
            self.close()
            raise

    def load(self, source, file, lenient=False):
        """Run a module of the hand-in, which takes the place of the one before; note the cells that
        failed.
        """
        self.skipped = self._ask(
            STARTING, do="load", source=source, file=file, lenient=lenient
        ).get("skipped", ())

    def forward(self, function, inputs):
        """Call a forward and return its output, the number of its cache, the seconds, whether an
        input was changed.
        """
        reply = self._ask(do="forward", function=function, inputs=tuple(inputs))
        return reply["out"], reply["cache"], _seconds(reply), reply.get("changed") is True

    def pull(self, function, dout, cache):
        """Call a gradient function with a cache and return its gradients, the seconds, whether
        ``dout`` was changed.
        """
        reply = self._ask(do="pull", function=function, dout=dout, cache=cache)
        return reply["out"], _seconds(reply), reply.get("changed") is True

    def plain(self, function, inputs, without=()):
        """Call a function that returns a value alone."""
        return self._ask(
            do="plain", function=function, inputs=tuple(inputs), without=tuple(without)
        )["out"]

    def calls(self, function, dout, cache):
        """Return how often each function of the hand-in is called within one call of a gradient
        function.
        """
        counts = self._ask(do="calls", function=function, dout=dout, cache=cache)["counts"]
        return (
            {clean(name, 80): n for name, n in counts.items() if type(n) is int}
            if type(counts) is dict
            else {}
        )

    def locate(self, checker, function, forward, inputs, wrt, seconds):
        """Return what the checker in the worker finds in a gradient function; the hand-in may have
        forged it.

        ``checker`` names the module of the library that has the function ``check``.
        """
        return self._ask(
            do="locate",
            checker=checker,
            function=function,
            forward=forward,
            inputs=inputs,
            wrt=tuple(wrt),
            seconds=seconds,
        )["found"]

    def close(self):
        """End the worker and all that it started."""
        self.closed.set()
        self._kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _kill(self):
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.process.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ask(self, most_seconds=None, **request):
        """Send a request and return the answer; its size is bounded by what the question can
        need.
        """
        left = min(
            self.per_call if most_seconds is None else most_seconds,
            self.deadline - time.monotonic(),
        )
        self.until = time.monotonic() + left
        try:
            needed = max(self.largest, len(frames.pack(request)))
            most = MOST_HEADER, min(frames.MOST_BODY, SPARE + TIMES * needed)
            self._write(frames.pack({**request, "most_header": most[0], "most_body": most[1]}))
            reply = frames.unpack(
                *map(self._read, frames.lengths(self._read(frames.LENGTHS.size), *most))
            )
            if type(reply) is not dict or not (
                "error" in reply or _expected(request["do"]) <= set(reply)
            ):
                raise frames.FrameError("an answer to another question")
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise self._why(error, left) from None
        finally:
            self.until = math.inf
        if "error" in reply:
            said = reply["error"] if type(reply["error"]) is dict else {}
            line = said["line"] if type(said.get("line")) is int else 0
            raise HandInError(str(said.get("type")), str(said.get("message")), line)
        return reply

    def _why(self, error, left):
        """Return why the worker has ended, without a number that the hand-in chose."""
        if self.late:
            return Ended("TimeoutError", f"no answer within {left:.0f} s")
        if self.crowded:
            return Ended("ProcessEnded", f"it started more than {MOST_THREADS} threads")
        if isinstance(error, frames.FrameError):
            return Ended(
                "ProtocolError",
                "it wrote to the judge's pipe something that is not an answer",
                str(error),
            )
        code = self.process.returncode
        used_up = getattr(signal, "SIGXCPU", 0)
        if used_up and code in (-used_up, 128 + used_up):  # from bubblewrap the second
            return Ended("TimeoutError", "its processor time is used up")
        return Ended(
            "ProcessEnded", "the program ended in the middle of a call", f"exit code {code}"
        )

    def _watch(self):
        """End the worker when the time for a call is up, or when it has too many threads."""
        while not self.closed.wait(TICK):
            self.late = time.monotonic() > self.until
            self.crowded = processes.threads(self.process.pid) > 2 * MOST_THREADS
            if self.late or self.crowded:
                self._kill()
                return

    def _write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise EOFError
        return data


def _expected(action):
    return {
        "load": {"loaded"},
        "forward": {"out", "cache"},
        "pull": {"out"},
        "plain": {"out"},
        "calls": {"counts"},
        "locate": {"found"},
    }[action]


def _seconds(reply):
    seconds = reply.get("seconds")
    return float(seconds) if type(seconds) is float else float("nan")


@functools.cache
def probe(name):
    """Try a box with a harmless hand-in and one that reads this file: return "" if it holds, else
    why not.
    """
    reason = sandbox.missing(name)
    if reason:
        return reason
    text = (
        "import numpy, scipy.special\ndef f():\n    return 2.0\n"
        f"def g():\n    return float(len(open({__file__!r}).read()))\n"
    )
    try:
        with Worker(text, "probe.py", name) as worker:
            if worker.plain("f", ()) != 2.0:
                return "it does not answer"
            with contextlib.suppress(Ended, HandInError):
                worker.plain("g", ())
                return "it lets a hand-in read other files"
    except HandInError as error:
        return _does_not_start(error)
    except OSError as error:
        return f"it does not start ({error})"
    return ""


def _does_not_start(error):
    """Return why a box does not start, in one short sentence."""
    library = re.search(r"\S+: cannot open shared object file", error.message)
    if library:
        return f"NumPy or SciPy cannot be loaded in it ({library[0]})"
    return f"it does not start ({error.name}: {error.message[:200]})"
