"""The judge's end of the pipe: asks a hand-in in its sandbox for values.

Points depend on limits of processor time, so they are the same on a busy machine.  Wall-clock time
only stops a program that waits; then the hand-in is not judged yet (:class:`Waiting`).
"""

import contextlib
import functools
import re
from pathlib import Path

from ibpcl.classroom.judging.running import inside
from ibpcl.classroom.judging.running.cleaning import clean, without_folders
from ibpcl.errors import UserError
from ibpcl.sandbox import boxes, frames, local, worker
from ibpcl.sandbox.limits import MOST_THREADS
from ibpcl.storage import read_text

STARTING = 20.0  # seconds of processor time for loading a hand-in, with NumPy and SciPy
# wall-clock time as a multiple of the processor time that is allowed
PATIENCE = 10.0
MOST_HEADER = 1 << 16  # bytes of an answer besides its numbers: shapes, and at most a message
# Bytes allowed for the numbers of an answer: SPARE, plus TIMES the larger of the request and the
# expected answer.
SPARE = 1 << 20
TIMES = 32
MOST_MESSAGE = 2000
PROGRAM = "inside"  # the module beside this one that runs in the sandbox
# request: what its reply has at least
REPLIES = {
    "load": {"loaded"},
    "forward": {"out", "cache"},
    "pull": {"out"},
    "plain": {"out"},
    "calls": {"counts"},
    "locate": {"found"},
}


class SubmissionError(Exception):
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
        The line in words, once :class:`ibpcl.classroom.judging.running.session.Session` has filled
        it in.
    seconds : float
        Processor time of a worker that did not start.
    """

    def __init__(self, name, message="", line=0):
        super().__init__(name)
        self.name = clean(name, 100)
        self.line = int(line)
        self.place = ""
        self.seconds = 0.0
        self.message = clean(without_folders(str(message)[:MOST_MESSAGE]), MOST_MESSAGE)


class Ended(SubmissionError):
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


class Waiting(Exception):
    """The end of a worker that gave no answer for long, but used little processor time.

    The program waits for something, or the machine is busy.  So the hand-in is not judged yet, and
    no exception of the hand-in is recorded.

    Parameters
    ----------
    seconds : float
        Wall-clock time.

    Attributes
    ----------
    task : str
        Id of the task that was judged, once the judge has filled it in.
    """

    def __init__(self, seconds):
        super().__init__(f"no answer within {seconds:.0f} s")
        self.task = ""


class Worker:
    """A hand-in in its sandbox.

    Parameters
    ----------
    source : str
        Text of the hand-in.
    file : str
        Name of its file, for messages.
    sandbox : str
        Name of the sandbox, one of :data:`ibpcl.sandbox.boxes.NAMES`.
    seconds : float
        Processor time for all calls together.
    memory_mb : int
        Megabytes of memory.
    per_call : float
        Processor time for one call.
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
    changed : bool
        Whether the last call of :meth:`plain` changed an input.

    Raises
    ------
    SubmissionError
        If the hand-in cannot be loaded.
    """

    changed = False

    def __init__(
        self,
        source,
        file,
        sandbox,
        seconds=60.0,
        memory_mb=1024,
        per_call=10.0,
        library=None,
        lenient=False,
    ):
        self.per_call = per_call
        self.largest = 0
        texts = {**(library or {}), PROGRAM: read_text(Path(__file__).with_name(f"{PROGRAM}.py"))}
        if local.IN_A_TAB:
            self.child = local.Worker(inside.Program(), library or {})
        else:
            start = boxes.boxed(sandbox, PROGRAM, texts, seconds, memory_mb)
            with _as_hand_in(worker.STARTING, worker.STARTING):
                self.child = worker.Worker(start, 2 * MOST_THREADS)
        try:
            self.load(source, file, lenient)
        except BaseException as error:
            self.close()
            error.seconds = self.seconds()
            raise

    @property
    def process(self):
        """The process in the sandbox."""
        return self.child.process

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
            The value.  Then ``changed`` is True if the call has changed an input.
        """
        reply = self._ask(
            do="plain", function=function, inputs=tuple(inputs), without=tuple(without)
        )
        self.changed = reply.get("changed") is True
        return reply["out"]

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
        counts : dict of str to int
            Number of calls by function, as the worker states it.
        signs : list of (int, str)
            Lines at which it computes with complex or own numbers, as the worker states it.
        """
        reply = self._ask(do="calls", function=function, dout=dout, cache=cache)
        counts = reply["counts"] if type(reply["counts"]) is dict else {}
        signs = reply.get("signs") if type(reply.get("signs")) in (list, tuple) else ()
        return (
            {clean(name, 80): n for name, n in counts.items() if type(n) is int},
            [(pair[0], clean(pair[1], 80)) for pair in signs if _is_sign(pair)],
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

    def seconds(self):
        """Return the processor time that the worker has used so far.

        Returns
        -------
        float
        """
        return self.child.seconds()

    def close(self):
        """End the worker and all processes that it started."""
        self.child.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ask(self, processor=None, **request):
        """Send a request and return the reply, whose size is bounded in proportion to the
        request.
        """
        processor = self.per_call if processor is None else processor
        limit = worker.Limit(processor, PATIENCE * processor)
        with _as_hand_in(*limit):
            needed = max(self.largest, len(frames.pack(request)))
            most = (MOST_HEADER, min(frames.MOST_BODY, SPARE + TIMES * needed))
            reply = self.child.ask(limit, most, **request)
            if type(reply) is dict and REPLIES[request["do"]] <= set(reply):
                return reply
            self.close()
            raise worker.Ended("message", details="an answer to another question")


@contextlib.contextmanager
def _as_hand_in(processor, waiting):
    """Raise the exceptions of a worker as those of a hand-in, without any number that the hand-in
    chose.
    """
    try:
        yield
    except worker.Failed as error:
        raise SubmissionError(error.name, error.message, error.line) from None
    except worker.Ended as error:
        if error.cause == "waiting":
            raise Waiting(waiting) from None
        name, message = {
            "processor": ("TimeoutError", f"no answer within {processor:.0f} s of processor time"),
            "threads": ("ProcessEnded", f"it started more than {MOST_THREADS} threads"),
            "message": ("ProtocolError", "it wrote an invalid message to the judge"),
            "exit": ("ProcessEnded", "the program ended in the middle of a call"),
        }[error.cause]
        details = error.details or ("" if error.code is None else f"exit code {error.code}")
        raise Ended(name, message, details) from None


def _is_sign(pair):
    return (
        type(pair) in (list, tuple)
        and len(pair) == 2
        and type(pair[0]) is int
        and 0 < pair[0] < 1_000_000
        and type(pair[1]) is str
    )


def _seconds(reply):
    seconds = reply.get("seconds")
    return float(seconds) if type(seconds) is float else float("nan")


def at_home():
    """Return the sandbox for your own file on your own machine.

    Returns
    -------
    str
        Name of the first sandbox that works, or ``"none"``.
    """
    try:
        return boxes.choose("auto", probe)
    except UserError:
        return "none"


@functools.cache
def probe(name):
    """Try a sandbox with a harmless hand-in and with one that reads this file.

    Parameters
    ----------
    name : str
        Name of the sandbox, one of :data:`ibpcl.sandbox.boxes.NAMES`.

    Returns
    -------
    str
        The reason why the sandbox cannot be used; empty if it works.
    """
    reason = boxes.missing(name)
    if reason:
        return reason
    text = (
        "import numpy, scipy.special\ndef f():\n    return 2.0\n"
        f"def g():\n    return float(len(open({__file__!r}).read()))\n"
    )
    try:
        with Worker(text, "probe.py", name) as submission:
            if submission.plain("f", ()) != 2.0:
                return "it does not answer"
            with contextlib.suppress(SubmissionError):
                submission.plain("g", ())
                return "it lets a hand-in read other files"
    except SubmissionError as error:
        return _does_not_start(error)
    except (OSError, Waiting) as error:
        return f"it does not start ({error})"
    return ""


def _does_not_start(error):
    """Return the reason why a sandbox does not start, in one short sentence."""
    library = re.search(r"\S+: cannot open shared object file", error.message)
    if library:
        return f"NumPy or SciPy cannot be loaded in it ({library[0]})"
    return f"it does not start ({error.name}: {error.message[:200]})"
