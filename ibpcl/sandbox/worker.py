"""The parent side of a worker: starts a child process, asks it, and ends it at a limit.

The protocol is described in :mod:`ibpcl.sandbox`.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import threading
import time
from typing import NamedTuple

from ibpcl.sandbox import frames, processes

TICK = 0.1  # seconds between two looks at the clocks and the threads
SOON = 0.01  # seconds in which so few threads can start that an answer needs no look
STARTING = 120.0  # wall-clock seconds for an interpreter to start on a busy machine
MOST = (frames.MOST_HEADER, frames.MOST_BODY)


class Limit(NamedTuple):
    """Seconds for one frame of an answer.

    Attributes
    ----------
    processor : float
        Processor time of the child and its descendants.  Where the system does not tell it, as on
        macOS and Windows, wall-clock time counts in its place.
    waiting : float
        Wall-clock time.
    """

    processor: float = math.inf
    waiting: float = math.inf


class Failed(Exception):
    """The exception that the child's program has raised; its attributes must not be trusted.

    Parameters
    ----------
    name, message : str
        The class of the exception and its message.
    line : int
        Line of the program's file; 0 if unknown.
    """

    def __init__(self, name, message, line):
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.line = line


class Ended(Exception):
    """The end of a child before its answer.

    Parameters
    ----------
    cause : {"processor", "waiting", "threads", "message", "exit"}
        The limit that was exceeded, a malformed message, or an end by itself.
    code : int or None
        Exit code, negative for a signal; for the cause "exit" only.
    details : str
        Details of a malformed message.
    """

    def __init__(self, cause, code=None, details=""):
        super().__init__(cause)
        self.cause = cause
        self.code = code
        self.details = details


class Worker:
    """A child process that answers requests.

    Parameters
    ----------
    start : ibpcl.sandbox.boxes.Start
        What to start.
    most_threads : float
        Number of threads, descendants included, beyond which the child is ended.

    Attributes
    ----------
    process : subprocess.Popen
        The child.

    Raises
    ------
    Ended
        If the child does not start.
    Failed
        If its program cannot be loaded.
    """

    def __init__(self, start, most_threads=math.inf):
        self.most_threads = most_threads
        self.counts_threads = most_threads < math.inf and not start.counted
        self.limit = Limit()
        self.used = 0.0
        self.looked = 0.0
        self.cause = None
        self.closed = threading.Event()
        self.process = subprocess.Popen(
            start.command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if start.quiet else None,
            env=start.environment,
            cwd=start.folder,
            start_new_session=os.name == "posix",
        )
        self.channel = frames.Channel(self.process.stdout.fileno(), self.process.stdin.fileno())
        threading.Thread(target=self._watch, daemon=True).start()
        with self._within(Limit(waiting=STARTING)):
            if start.texts:
                texts = json.dumps(start.texts).encode()
                self.channel.write(len(texts).to_bytes(8, "little") + texts)
            self.channel.write(frames.pack(start.order))
        try:
            self._answer(Limit(waiting=STARTING), MOST)
        except Failed:
            self.close()
            raise

    def ask(self, limit, most=MOST, **request):
        """Send a request, and return the reply.

        Parameters
        ----------
        limit : Limit
            Seconds for the answer.
        most : tuple of int
            Largest lengths of header and body of the answer, in bytes.
        **request
            ``do``, the method of the program, and its arguments.

        Returns
        -------
        object
            The reply, which must not be trusted.

        Raises
        ------
        Failed
            If the program raises an exception.
        Ended
            If the child ends or is ended.
        """
        *_, answer = self._answers(limit, most, request)
        return answer["reply"]

    def stream(self, limit, most=MOST, **request):
        """Send a request, and yield each item of the answer.

        Parameters
        ----------
        limit : Limit
            Seconds for each item.
        most : tuple of int
            Largest lengths of header and body of an item, in bytes.
        **request
            ``do``, the generator method of the program, and its arguments.

        Yields
        ------
        object
            The items, which must not be trusted.

        Raises
        ------
        Failed
            If the program raises an exception.
        Ended
            If the child ends or is ended.
        """
        for answer in self._answers(limit, most, request):
            if "item" in answer:
                yield answer["item"]

    def seconds(self):
        """Return the processor time that the child had used at the last look at it.

        Returns
        -------
        float
            Where the system does not tell it, the time of a clock that runs on.
        """
        return self.used if processes.MEASURES_TIME else time.monotonic()

    def close(self):
        """End the child and all processes that it has started."""
        if self.closed.is_set():
            return
        self._look()
        self.closed.set()
        self._kill()
        self.process.wait()
        self.channel = frames.Channel(-1, -1)
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _answers(self, limit, most, request):
        """Send a request, and yield the frames of the answer; the last has a reply."""
        with self._within(limit):
            self.channel.write(frames.pack({**request, "most": most}))
        while True:
            answer = self._answer(limit, most)
            yield answer
            if "reply" in answer:
                return

    def _answer(self, limit, most):
        """Return one frame of an answer; an error is raised."""
        with self._within(limit):
            answer = self.channel.receive(*most)
            late = time.monotonic() > self.looked + SOON
            if self.counts_threads and late and self._look().threads > self.most_threads:
                self.cause = "threads"
                raise EOFError
            if type(answer) is not dict or not {"item", "reply", "error"} & set(answer):
                raise frames.FrameError("an answer to another question")
        if "error" not in answer:
            return answer
        error = answer["error"] if type(answer["error"]) is dict else {}
        line = error["line"] if type(error.get("line")) is int else 0
        raise Failed(str(error.get("type")), str(error.get("message")), line)

    @contextlib.contextmanager
    def _within(self, limit):
        """Apply a limit to the block; the child is ended by any exception."""
        self.limit = Limit(
            self.seconds() + TICK + limit.processor, time.monotonic() + limit.waiting
        )
        try:
            yield
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise self._ended(error) from None
        except BaseException:  # an interrupt: a partial answer must not be read later
            self.close()
            raise
        finally:
            self.limit = Limit()

    def _ended(self, error):
        """Return the exception for a child that has ended, after an error of its pipes."""
        if self.cause is not None:
            return Ended(self.cause)
        if isinstance(error, frames.FrameError):
            return Ended("message", details=str(error))
        return Ended("exit", self.process.returncode)

    def _look(self):
        """Return what the child uses now."""
        self.looked = time.monotonic()
        usage = processes.usage(self.process.pid)
        self.used = max(self.used, usage.seconds)
        return usage

    def _watch(self):
        """End the child at a limit, and what it has started if it ends by itself."""
        while not self.closed.wait(TICK):
            usage = self._look()
            if time.monotonic() > self.limit.waiting:
                self.cause = "waiting"
            elif self.seconds() > self.limit.processor:
                self.cause = "processor"
            elif usage.threads > self.most_threads:
                self.cause = "threads"
            elif not usage.ended:
                continue
            self._kill()
            return

    def _kill(self):
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif os.name == "nt":
            _kill_tree(self.process.pid)
        with contextlib.suppress(OSError):
            self.process.kill()


def _kill_tree(process):
    """End a process and its descendants on Windows."""
    with contextlib.suppress(OSError):  # taskkill may be missing
        subprocess.run(
            ["taskkill", "/F", "/T", "/PID", str(process)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
