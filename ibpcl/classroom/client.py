"""The judge's end of the pipe: starts a worker in its box, queries it, and ends it on a timeout."""

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
TICK = 0.1  # seconds between two checks of the clock and the number of threads
MOST_HEADER = 1 << 16  # bytes of an answer besides its numbers: shapes, and at most a message
# Bytes allowed for the numbers of an answer: SPARE, plus TIMES the larger of the request and the
# expected answer.
SPARE = 1 << 20
TIMES = 32
MOST_MESSAGE = 2000


class HandInError(Exception):
    """An exception raised by the hand-in's code.

    Type, message and line come from the hand-in: they are cleaned, but must not be trusted.

    Parameters
    ----------
    name : str
        Name of the exception's class.
    message : str
        Its message.
    line : int
        Line of the hand-in; 0 if unknown.

    Attributes
    ----------
    name, message : str
        Name and message, cleaned.
    line : int
        Line of the hand-in; 0 if unknown.
    place : str
        The line in words, once :class:`ibpcl.classroom.session.Session` has filled it in.
    """

    def __init__(self, name, message="", line=0):
        super().__init__(name)
        self.name = clean(name, 100)
        self.line = int(line)
        self.place = ""
        self.message = clean(without_folders(str(message)[:MOST_MESSAGE]), MOST_MESSAGE)


class Ended(HandInError):
    """The end of a worker: out of time or memory, an exit, or an invalid answer.

    Parameters
    ----------
    name, message : str
        Name of the cause, and a message for the student.
    details : str
        Details for the teacher.

    Attributes
    ----------
    details : str
        Details for the teacher; may hold numbers that the hand-in chose, such as its exit code.
    """

    def __init__(self, name, message="", details=""):
        super().__init__(name, message)
        self.details = details


class Worker:
    """A hand-in in its box.

    Parameters
    ----------
    source : str
        Text of the hand-in.
    file : str
        Name of its file, for messages.
    box : str
        Name of the box, one of :data:`ibpcl.classroom.sandbox.NAMES`.
    seconds : float
        Seconds for all calls together.
    memory_mb : int
        Megabytes of memory.
    per_call : float
        Seconds for one call.
    library : dict of str to str, optional
        Name to text of the modules that the hand-in's process may import.
    lenient : bool
        Whether statements of the module that raise an exception are skipped.

    Attributes
    ----------
    largest : int
        Bytes of the largest expected answer; set by the judge.
    skipped : sequence
        Notebook cells that failed, as the worker reports them.

    Raises
    ------
    HandInError
        If the hand-in cannot be loaded.
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
        """Run a module of the hand-in, which replaces the one loaded before.

        Parameters
        ----------
        source : str
            Text of the module.
        file : str
            Name of its file, for messages.
        lenient : bool
            Whether statements that raise an exception are skipped.
        """
        self.skipped = self._ask(
            STARTING, do="load", source=source, file=file, lenient=lenient
        ).get("skipped", ())

    def forward(self, function, inputs):
        """Call a forward.

        Parameters
        ----------
        function : str
            Name of the forward.
        inputs : iterable of ndarray or number
            Its arguments.

        Returns
        -------
        out : object
            The output.
        cache : int
            Number of the cache, which stays in the worker.
        seconds : float
            Duration of the call, as the worker states it.
        changed : bool
            Whether an input was changed.
        """
        reply = self._ask(do="forward", function=function, inputs=tuple(inputs))
        return reply["out"], reply["cache"], _seconds(reply), reply.get("changed") is True

    def pull(self, function, dout, cache):
        """Call a gradient function.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        dout : ndarray, number or tuple of these
            Gradient at the output.
        cache : int
            Number of a cache that :meth:`forward` returned.

        Returns
        -------
        gradients : object
            The gradients.
        seconds : float
            Duration of the call, as the worker states it.
        changed : bool
            Whether ``dout`` was changed.
        """
        reply = self._ask(do="pull", function=function, dout=dout, cache=cache)
        return reply["out"], _seconds(reply), reply.get("changed") is True

    def plain(self, function, inputs, without=()):
        """Call a function that returns a value without a cache.

        Parameters
        ----------
        function : str
            Name of the function.
        inputs : iterable of ndarray or number
            Its arguments.
        without : sequence of str
            Functions that raise an exception meanwhile.

        Returns
        -------
        object
            The value.
        """
        return self._ask(
            do="plain", function=function, inputs=tuple(inputs), without=tuple(without)
        )["out"]

    def calls(self, function, dout, cache):
        """Count the calls of the hand-in's functions within one call of a gradient function.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        dout : ndarray, number or tuple of these
            Gradient at the output.
        cache : int
            Number of a cache that :meth:`forward` returned.

        Returns
        -------
        dict of str to int
            Number of calls by function, as the worker states it.
        """
        counts = self._ask(do="calls", function=function, dout=dout, cache=cache)["counts"]
        return (
            {clean(name, 80): n for name, n in counts.items() if type(n) is int}
            if type(counts) is dict
            else {}
        )

    def locate(self, checker, function, forward, inputs, wrt, seconds):
        """Run the checker in the worker on a gradient function.

        Parameters
        ----------
        checker : str
            Module of the library that has the function ``check``.
        function, forward : str
            Names of the gradient function and its forward.
        inputs : dict of str to ndarray or number
            Inputs of the forward.
        wrt : sequence of str
            The inputs with respect to which the gradient is taken.
        seconds : float
            Seconds for the check.

        Returns
        -------
        object
            The findings, which the hand-in may have forged.
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
        """End the worker and all processes that it started."""
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
        """Send a request and return the answer, whose size is bounded in proportion to the
        request.
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
        """Return the exception for an ended worker, without any number that the hand-in chose."""
        if self.late:
            return Ended("TimeoutError", f"no answer within {left:.0f} s")
        if self.crowded:
            return Ended("ProcessEnded", f"it started more than {MOST_THREADS} threads")
        if isinstance(error, frames.FrameError):
            return Ended(
                "ProtocolError",
                "it wrote an invalid message to the judge",
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
        """End the worker when a call takes too long or when the worker has too many threads."""
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
    """Try a box with a harmless hand-in and with one that reads this file.

    Parameters
    ----------
    name : str
        Name of the box, one of :data:`ibpcl.classroom.sandbox.NAMES`.

    Returns
    -------
    str
        The reason why the box cannot be used; empty if it works.
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
    """Return the reason why a box does not start, in one short sentence."""
    library = re.search(r"\S+: cannot open shared object file", error.message)
    if library:
        return f"NumPy or SciPy cannot be loaded in it ({library[0]})"
    return f"it does not start ({error.name}: {error.message[:200]})"
