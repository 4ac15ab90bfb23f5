"""Check of a user's file: ``path/to/mine.py:name``, a Python file or a notebook.

The name is that of a function with a gradient beside it, of a class, or of a function that returns
a loss with its gradient (:mod:`ibpcl.verify.adapters`).  The inputs come from ``check_inputs`` in
that file or from given shapes, or they are guessed.

The file runs in a child process (:mod:`ibpcl.verify.running.checking`), which sends a message for
each pair to :class:`FileRun`.  The verdict is computed here, from the kinds in the
message.  A file that ends its process, or replaces parts of this package, therefore cannot set its
own verdict by accident.  This is not a sandbox.  The file's code has the user's rights, and hostile
code can forge a message.  Use ``ibpcl class grade`` for the work of others.
"""

import dis
import sys
from dataclasses import asdict, dataclass, field, replace

from ibpcl.codeview.location import NOWHERE, Location
from ibpcl.errors import UserError
from ibpcl.sandbox import boxes
from ibpcl.sandbox.worker import Ended, Failed, Limit, Worker
from ibpcl.verify.adapters.loading import source_of
from ibpcl.verify.distributions.report import ForwardReport
from ibpcl.verify.reports.plain import plain, typed
from ibpcl.verify.reports.report import Report
from ibpcl.verify.running.trap import Trap

SUFFIXES = (".py", ".ipynb")
# Seconds after the time limit at which a silent process is ended; it should have ended the check
# itself before.
GRACE = 5.0
MOST = (64 << 20, 0)  # bytes of a message: a report with its figures, and no arrays


def is_file(target):
    """Return whether a target names a file rather than a built-in check.

    Parameters
    ----------
    target : str
        The target, such as ``mine.py:softmax``.

    Returns
    -------
    bool
        True if the target, or the part before the last colon, ends in ``.py`` or ``.ipynb``.

    Examples
    --------
    >>> is_file("mine.py:softmax"), is_file("homework.ipynb"), is_file("gradients/gaussian.kl")
    (True, True, False)
    """
    return target.endswith(SUFFIXES) or target.rpartition(":")[0].endswith(SUFFIXES)


def split(target):
    """Return the path and the function in a target.

    Parameters
    ----------
    target : str
        The target.

    Returns
    -------
    path : str
        The file.
    name : str
        The function, without ``_vjp``; empty if the target is the whole file.

    Examples
    --------
    >>> split("mine.py:softmax_vjp"), split("mine.py")
    (('mine.py', 'softmax'), ('mine.py', ''))
    """
    path, _, name = (target, "", "") if target.endswith(SUFFIXES) else target.rpartition(":")
    return path, name.removesuffix("_vjp")


def binds(path, name):
    """Return whether a file defines a name at its top level, without running the file.

    Parameters
    ----------
    path : str
        The file.
    name : str
        The name.

    Returns
    -------
    bool
        True also for a file that cannot be read, whose error is reported later.
    """
    try:
        code = compile(source_of(path), path, "exec")
    except (OSError, SyntaxError, ValueError):  # a UserError is a ValueError
        # a later step reports the error in the file itself
        return True
    return any(
        step.opname == "STORE_NAME" and step.argval == name for step in dis.get_instructions(code)
    )


def parse_shapes(texts):
    """Return shapes of inputs from texts such as ``x=3,4``.

    Parameters
    ----------
    texts : sequence of str
        One text for each input.  ``tau=`` stands for a number.

    Returns
    -------
    dict of str to tuple of int
        The shapes by name.

    Raises
    ------
    UserError
        If a text has another form, or a size is not at least 1.

    Examples
    --------
    >>> parse_shapes(["x=3,4", "tau="])
    {'x': (3, 4), 'tau': ()}
    """
    shapes = {}
    for text in texts:
        name, equals, sizes = text.partition("=")
        parts = [part.strip() for part in sizes.split(",") if part.strip()]
        if not name or not equals or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise UserError(
                "check: --shape takes NAME=SIZES of at least 1, such as x=3,4 (or tau= for a "
                f"number), got {text!r}"
            )
        shapes[name.strip()] = tuple(map(int, parts))
    return shapes


@dataclass
class Checked:
    """Result for one pair, one distribution, or a file as a whole.

    Attributes
    ----------
    title : str
        The file and the function, ``path:function``.
    verdict : {"ok", "wrong", "undecided", "refused"}
        "refused" if the file or the request has to be changed before a check is possible.
    words : str
        The reason for a missing report.
    report : Report or None
        The report on a pair.  None if the pair raises, ends the process, or is not finished in
        time.
    figures : str
        Charts of the report, as HTML.
    seconds : float
        Duration of the check.
    forwards : ForwardReport or None
        The report on the functions of a distribution.
    where : Location
        The line that raises, if there is no report; false if unknown.
    """

    title: str
    verdict: str
    words: str = ""
    report: Report | None = None
    figures: str = ""
    seconds: float = 0.0
    forwards: ForwardReport | None = None
    where: Location = NOWHERE

    def text(self):
        """Return the report, or the verdict with its reason, as text."""
        report = self.report or self.forwards
        words = "\n  ".join(self.words.splitlines())
        return report.text() if report else f"{self.title}: {self.verdict.upper()}: {words}"

    def to_dict(self):
        """Return the result as a dict that ``json.dumps`` accepts."""
        return {
            "group": "yours",
            "name": self.title,
            "seconds": self.seconds,
            "ok": self.verdict == "ok",
            "verdict": self.verdict,
            "words": self.words,
            **(
                {"numbers": (self.report or self.forwards).to_dict()}
                if self.report or self.forwards
                else {"numbers": {}, "error": self.words, "where": plain(self.where)}
            ),
        }


@dataclass
class Request:
    """What to check in a file.

    Attributes
    ----------
    path : str
        The file.
    names : list of str
        Functions to check; if empty, all that have a gradient.
    shapes : dict of str to tuple of int
        Shapes of inputs to draw; ``()`` is a number.
    wrt : list of str or None
        The inputs whose gradients are returned; None for all floating-point inputs.
    seed : int
        Seed for drawn inputs, cotangents and directions.
    timeout : float
        Time limit for each pair, and for the import of the file, in seconds.
    figures : bool
        Whether to draw charts.
    """

    path: str
    names: list = field(default_factory=list)
    shapes: dict = field(default_factory=dict)
    wrt: list | None = None
    seed: int = 0
    timeout: float = 120.0
    figures: bool = False


@dataclass
class FileRun(Request):
    """The check of a file in a child process.

    Iterating runs the file and yields a :class:`Checked` for each pair.  If a pair ends the
    process, or hangs and cannot be interrupted, the pairs after it are checked in a new process.

    Parameters
    ----------
    path, names, shapes, wrt, seed, timeout, figures
        As in :class:`Request`.

    Attributes
    ----------
    left_out : list of str
        Functions without a gradient; filled while iterating.
    failures : list of str
        Sentences about statements of the file that raised; filled while iterating.
    """

    def __post_init__(self):
        self.left_out = []
        self.failures = []

    def __iter__(self):
        pending = None  # until the file has been imported
        while pending is None or pending:
            end = None
            try:
                for message in self._messages(pending or self.names):
                    event = message["event"]
                    if event == "refused":
                        yield checked(self.path, message)
                        return
                    if event == "pairs" and pending is None:
                        pending = message["names"]
                        self.left_out = message["left_out"]
                        self.failures = message["failures"]
                    elif pending and message.get("name") == pending[0]:
                        name = pending.pop(0)
                        if event == "left out":
                            self.left_out += message.get("functions") or [name]
                        else:
                            yield checked(f"{self.path}:{_bare(name)}", message)
            except (Ended, Failed) as error:
                end = error
            if pending != []:  # the process ended during this pair
                title = f"{self.path}:{_bare(pending.pop(0))}" if pending else self.path
                yield self._silent(title, end)
            pending = pending or []

    def _messages(self, names):
        """Start a process, and yield its messages about the functions of these names."""
        start = boxes.unboxed("ibpcl.verify.running.checking", sys.path)
        with Worker(start) as worker:
            request = asdict(replace(self, names=names))
            limit = Limit(waiting=self.timeout + GRACE)
            yield from worker.stream(limit, MOST, do="check", request=request)

    def _silent(self, title, end):
        """Return the result for a pair whose process has ended before its verdict."""
        if not isinstance(end, Ended):
            return Checked(title, "undecided", f"no verdict: the checker raises {end}")
        if end.cause == "waiting":
            return Checked(title, "undecided", f"not finished within {self.timeout:g} s")
        if end.cause == "message":
            return Checked(title, "undecided", f"no verdict: a message is not valid: {end.details}")
        ending = f"with exit code {end.code}" if end.code >= 0 else f"by signal {-end.code}"
        return Checked(title, "undecided", f"no verdict: the file ended the process {ending}")


def _bare(name):
    """Return the name of a pair, or of a group of functions, for messages."""
    return name.strip("<>")


def checked(title, message):
    """Return the result in a message; an incomplete message gives the verdict "wrong".

    Parameters
    ----------
    title : str
        The file and the function, ``path:function``.
    message : dict
        The message of the process.

    Returns
    -------
    Checked
        The result.
    """
    with Trap() as trap:
        if "forwards" in message:
            forwards = ForwardReport.from_dict({**message["forwards"], "title": title})
            if forwards.text() and forwards.items:
                seconds = float(message["seconds"])
                return Checked(title, forwards.verdict, seconds=seconds, forwards=forwards)
        if "report" not in message:
            state = message["state"] if message["state"] in ("undecided", "refused") else "wrong"
            where = message.get("where")
            where = typed(Location, where, {}) if where else NOWHERE
            return Checked(title, state, str(message["words"]), where=where)
        report = Report.from_dict({**message["report"], "title": title})
        if report.text() and report.inputs:
            return Checked(
                title, report.verdict, "", report, message.get("figures", ""), message["seconds"]
            )
    return Checked(
        title, "wrong", f"no verdict: the message of the process is incomplete ({trap.error})"
    )
