"""A hand-in that can be called as if it were here: workers are started when needed, and again when
one has ended.
"""

import builtins
import contextlib
import time

import numpy as np

from ibpcl.classroom import independence
from ibpcl.classroom.accepting import Accepted, skipped_cells
from ibpcl.classroom.client import Ended, HandInError, Worker

MOST_STARTS = 12
# of each start: the interpreter, NumPy and SciPy; the rest is the hand-in's own
FREE_SECONDS = 2.0


class Session:
    """Calls of one hand-in's functions, over as many workers as it takes.

    Parameters
    ----------
    handin : ibpcl.classroom.handin.HandIn
    assignment : ibpcl.classroom.assignment.Assignment
    box : str

    Attributes
    ----------
    broken : dict
        Function name to why it is not called any more: it ended a worker.
    overwritten : set of str
        Functions that change their arguments.
    proof : str
        The proof that the worker has loaded its text for, "" for the whole text.
    """

    def __init__(self, handin, assignment, box):
        self.handin = handin
        self.box = box
        self.limits = assignment.limits
        self.worker = None
        self.broken = {}
        self.overwritten = set()
        self.starts = 0
        self.skipped = []
        self.accepted = Accepted(assignment)
        self.seconds_left = float(self.limits["seconds"])
        self.largest = 0
        self.proof = ""
        self.per_call = self.limits.get("seconds_per_call", max(5.0, self.seconds_left / 6))

    def start(self):
        """Have a worker that has loaded the hand-in's text."""
        if self.worker is None:
            self._start(self.handin.source, "")
        elif self.proof:
            self.proof = ""
            with self._charged():
                self.worker.load(self.handin.source, self.handin.file)
            self.skipped = skipped_cells(self.worker.skipped, self.handin)

    def start_proof(self, function, without):
        """Have a worker that has loaded the text in which the functions ``without`` raise, and
        nothing before it.

        The whole text may be loaded there afterwards: what a proof leaves behind is no help to
        another function.
        """
        if self.worker is not None and self.proof != function:
            self.close()
        if self.worker is None:
            self._start(independence.without(self.handin.source, without, function), function)

    def _start(self, source, proof):
        if self.starts >= MOST_STARTS:
            raise Ended("ProcessEnded", "the program has been started too often")
        self.starts = self.starts + 1
        self.proof = proof
        with self._charged():
            self.worker = Worker(
                source,
                self.handin.file,
                self.box,
                self.limits["seconds"],
                self.limits["memory_mb"],
                lenient=bool(proof),
            )
        self.skipped = skipped_cells(self.worker.skipped, self.handin)

    @contextlib.contextmanager
    def _charged(self):
        """Take the seconds of loading from the hand-in's time, but for those that every start
        takes.
        """
        start = time.monotonic()
        try:
            yield
        except HandInError as error:
            error.place = self.handin.place(error.line)
            raise
        finally:
            self.seconds_left -= max(0.0, time.monotonic() - start - FREE_SECONDS)

    def expect(self, out):
        """Note the size of an answer that is expected, so that an answer of that size is not cut
        off.

        Parameters
        ----------
        out : ndarray, number or tuple of these
        """
        parts = out if isinstance(out, (tuple, list)) else (out,)
        self.largest = max(self.largest, sum(np.asarray(part).nbytes for part in parts))

    def forward(self, function, inputs):
        """Call a forward and return its output, its cache as (worker, number), and the seconds."""
        out, number, seconds, changed = self._call(function, "forward", function, inputs)
        if changed:
            self.overwritten.add(function)
        return self.accepted.output(out), (self.worker, number), seconds

    def pull(self, function, forward, inputs, dout, cache=None):
        """Call a gradient function, with the cache of a forward call or of a new one."""
        if cache is None or cache[0] is not self.worker:
            cache = self.forward(forward, inputs)[1]
        out, seconds, changed = self._call(function, "pull", function, dout, cache[1])
        if changed:
            self.overwritten.add(function)
        return self.accepted.gradients(function, inputs, out), seconds

    def plain(self, function, inputs, without=()):
        """Call a function that returns a value alone, where the functions ``without`` raise."""
        return self._call(function, "plain", function, inputs, without, without=without)

    def calls(self, function, forward, inputs, dout):
        """Count the calls of the hand-in's functions within one call of a gradient function."""
        cache = self.forward(forward, inputs)[1]
        return self._call(function, "calls", function, dout, cache[1])

    def close(self):
        """End the worker."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def _call(self, function, action, *arguments, without=()):
        if function in self.broken:
            raise self.broken[function]
        if self.seconds_left <= 0:
            raise Ended(
                "TimeoutError",
                f"the time for the whole hand-in, {self.limits['seconds']} s, is used up",
            )
        self.start_proof(function, without) if without else self.start()
        self.worker.per_call = min(self.per_call, self.seconds_left)
        self.worker.largest = self.largest
        start = time.monotonic()
        try:
            return getattr(self.worker, action)(*arguments)
        except Ended as error:
            self.broken[function] = error
            self.close()
            raise
        except HandInError as error:
            error.place = self.handin.place(error.line)
            raise
        finally:
            self.seconds_left -= time.monotonic() - start


def described(error, hidden, file):
    """Return an exception of the hand-in in words, for feedback.

    A message, a line or a number could carry hidden inputs to the student.  So on hidden tasks only
    the names of Python's own exceptions are shown.

    Parameters
    ----------
    error : HandInError
    hidden : bool
        Whether the task is hidden.
    file : str
        Name of the hand-in's file.
    """
    if isinstance(error, Ended):
        return f"ends without an answer: {error.message}"
    own = error.name in _BUILTIN
    if hidden:
        return f"raises {error.name if own else 'an exception of its own'}"
    place = f" in {error.place or f'line {error.line} of {file}'}" if error.line else ""
    if not own:
        return f"raises an exception of its own{place}"
    return (
        f"raises {error.name}: {error.message[:300]}{place}"
        if error.message
        else f"raises {error.name}{place}"
    )


def is_blank(error):
    """Return whether an exception is that of a stub that was not filled in."""
    return (
        isinstance(error, HandInError)
        and error.name in ("NotImplementedError", "AttributeError")
        and (
            error.name == "NotImplementedError" or error.message.startswith("there is no function")
        )
    )


_BUILTIN = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
} | {"LinAlgError", "FrameError"}
