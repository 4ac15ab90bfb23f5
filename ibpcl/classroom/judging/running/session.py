"""Sessions: the functions of a hand-in, called over workers that are started and restarted when
needed.
"""

import builtins
import contextlib
import time

import numpy as np

from ibpcl.classroom.judging import independence
from ibpcl.classroom.judging.running.accepting import Accepted, skipped_cells
from ibpcl.classroom.judging.running.client import PATIENCE, Ended, SubmissionError, Waiting, Worker
from ibpcl.classroom.judging.running.inside import MOST_CACHES

MOST_STARTS = 12
# Processor time of each start that the interpreter, NumPy and SciPy need; the hand-in pays for the
# rest.
FREE_SECONDS = 2.0


class Session:
    """The functions of one hand-in, ready to be called.

    Parameters
    ----------
    submission : ibpcl.classroom.intake.submission.Submission
        The hand-in.
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        The assignment, which sets the limits.
    sandbox : str
        Name of the sandbox, one of :data:`ibpcl.sandbox.boxes.NAMES`.

    Attributes
    ----------
    broken : dict of str to Ended
        Functions that ended a worker, and are not called again, with the exception.
    overwritten : set of str
        Functions that change their arguments.
    skipped : list of str
        One sentence for each notebook cell that failed.
    seconds_left : float
        Processor time that the hand-in may still use.
    proof : str
        The proof whose reduced text the worker has loaded; empty if it has loaded the whole text.
    """

    def __init__(self, submission, assignment, sandbox):
        self.submission = submission
        self.sandbox = sandbox
        self.limits = assignment.limits
        self.library = assignment.library
        self.worker = None
        self.broken = {}
        self.overwritten = set()
        self.starts = 0
        self.skipped = []
        self.accepted = Accepted(assignment)
        self.seconds_left = float(self.limits["seconds"])
        self.patience = PATIENCE * self.seconds_left
        self.end = time.monotonic() + self.patience
        self.largest = 0
        self.forwards = 0
        self.proof = ""
        self.per_call = self.limits.get("seconds_per_call", max(5.0, self.seconds_left / 6))

    def start(self):
        """Make sure that a worker has loaded the whole text of the hand-in.

        Raises
        ------
        SubmissionError
            If loading the hand-in raises an exception or ends the worker.
        """
        if self.worker is None:
            self._start(self.submission.source, "")
        elif self.proof:
            self.proof = ""
            with self._charged(self.worker, FREE_SECONDS):
                self.worker.load(self.submission.source, self.submission.file)
            self.skipped = skipped_cells(self.worker.skipped, self.submission)

    def start_proof(self, function, without):
        """Make sure that a fresh worker has loaded the text for a proof.

        In this text the functions ``without`` raise an exception.  The whole text may be loaded
        into the same worker afterwards, because the state after a proof does not help any other
        function.

        Parameters
        ----------
        function : str
            Name of the proof.
        without : sequence of str
            Functions that the proof must not use.

        Raises
        ------
        SubmissionError
            If loading the text raises an exception or ends the worker.
        """
        if self.worker is not None and self.proof != function:
            self.close()
        if self.worker is None:
            self._start(independence.without(self.submission.source, without, function), function)

    def _start(self, source, proof):
        if self.starts >= MOST_STARTS:
            raise Ended("ProcessEnded", "the program has been started too often")
        self.starts = self.starts + 1
        self.proof = proof
        seconds = 0.0
        try:
            self.worker = Worker(
                source,
                self.submission.file,
                self.sandbox,
                self.limits["seconds"],
                self.limits["memory_mb"],
                library=self.library,
                lenient=bool(proof),
            )
            seconds = self.worker.seconds()
        except SubmissionError as error:
            seconds = error.seconds
            error.place = self.submission.place(error.line)
            raise
        finally:
            self.seconds_left -= max(0.0, seconds - FREE_SECONDS)
        self.skipped = skipped_cells(self.worker.skipped, self.submission)

    @contextlib.contextmanager
    def _charged(self, worker, free=0.0):
        """Charge the processor time of the block to the hand-in, except for the first seconds."""
        start = worker.seconds()
        try:
            yield
        except SubmissionError as error:
            error.place = self.submission.place(error.line)
            raise
        finally:
            self.seconds_left -= max(0.0, worker.seconds() - start - free)

    def expect(self, out):
        """Allow answers as large as an expected one.

        Parameters
        ----------
        out : ndarray, number or tuple of these
            The expected answer.
        """
        parts = out if isinstance(out, (tuple, list)) else (out,)
        self.largest = max(self.largest, sum(np.asarray(part).nbytes for part in parts))

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
            The output; from the hand-in, so of any type.
        cache : tuple
            The worker, the number of the cache there, and how many forwards were called before.
        seconds : float
            Duration of the call.

        Raises
        ------
        SubmissionError
            If the function raises an exception or ends the worker.
        """
        out, number, seconds, changed = self._call(function, "forward", function, inputs)
        if changed:
            self.overwritten.add(function)
        self.forwards += 1
        return self.accepted.output(out), (self.worker, number, self.forwards), seconds

    def pull(self, function, forward, inputs, dout, cache=None):
        """Call a gradient function.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        forward : str
            Name of its forward, which is called if the present worker no longer has the cache.
        inputs : sequence of ndarray or number
            Arguments of the forward.
        dout : ndarray, number or tuple of these
            Gradient at the output.
        cache : tuple, optional
            Cache that :meth:`forward` returned.

        Returns
        -------
        gradients : object
            The gradients; from the hand-in, so of any type.
        seconds : float
            Duration of the call.

        Raises
        ------
        SubmissionError
            If a function raises an exception or ends the worker.
        """
        lost = cache is not None and self.forwards - cache[2] >= MOST_CACHES
        if cache is None or lost or cache[0] is not self.worker:
            cache = self.forward(forward, inputs)[1]
        out, seconds, changed = self._call(function, "pull", function, dout, cache[1])
        if changed:
            self.overwritten.add(function)
        return self.accepted.gradients(function, inputs, out), seconds

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
            The value; from the hand-in, so of any type.

        Raises
        ------
        SubmissionError
            If the function raises an exception or ends the worker.
        """
        out = self._call(function, "plain", function, inputs, without, without=without)
        if self.worker.changed:
            self.overwritten.add(function)
        return out

    def calls(self, function, forward, inputs, dout):
        """Count the calls of the hand-in's functions within one call of a gradient function.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        forward : str
            Name of its forward.
        inputs : sequence of ndarray or number
            Arguments of the forward.
        dout : ndarray, number or tuple of these
            Gradient at the output.

        Returns
        -------
        counts : dict of str to int
            Number of calls by function.
        signs : list of (int, str)
            Lines at which it computes with complex or own numbers.

        Raises
        ------
        SubmissionError
            If a function raises an exception or ends the worker.
        """
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
        if time.monotonic() > self.end:
            raise Waiting(self.patience)
        if self.seconds_left > 0:  # a start takes time, too
            self.start_proof(function, without) if without else self.start()
        if self.seconds_left <= 0:
            raise Ended(
                "TimeoutError",
                f"the time for all functions of {self.submission.file} together, "
                f"{self.limits['seconds']:.0f} s, is used up",
            )
        self.worker.per_call = min(self.per_call, self.seconds_left)
        self.worker.largest = self.largest
        try:
            with self._charged(self.worker):
                return getattr(self.worker, action)(*arguments)
        except Ended as error:
            self.broken[function] = error
            self.close()
            raise


def described(error, hidden, file):
    """Return a description of a hand-in's exception for the feedback.

    A message, a line or a number could carry hidden inputs to the student.  So on hidden tasks only
    the names of Python's own exceptions are shown.

    Parameters
    ----------
    error : SubmissionError
        The exception.
    hidden : bool
        Whether the task is hidden.
    file : str
        Name of the hand-in's file.

    Returns
    -------
    str
        A predicate, such as ``"raises ValueError in line 3 of ada.py"``.
    """
    if isinstance(error, Ended):
        return f"ends without an answer: {error.message}"
    own = error.name in _BUILTIN
    if hidden:
        return f"raises {error.name if own else 'a custom exception'}"
    place = f" in {error.place or f'line {error.line} of {file}'}" if error.line else ""
    if not own:
        return f"raises a custom exception{place}"
    return (
        f"raises {error.name}: {error.message[:300]}{place}"
        if error.message
        else f"raises {error.name}{place}"
    )


def is_blank(error):
    """Return whether an exception means that a function of the stub was not filled in.

    Parameters
    ----------
    error : Exception
        Any exception.

    Returns
    -------
    bool
    """
    return (
        isinstance(error, SubmissionError)
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
