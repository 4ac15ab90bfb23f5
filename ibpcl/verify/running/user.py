"""Check code that a user has written: ``path/to/mine.py:name``, a Python file or a notebook.

A name is that of a function with a gradient beside it, of a class, or of a function that returns a
loss with its gradient (:mod:`ibpcl.verify.doors`).  The inputs come from ``check_inputs`` in that
file, from shapes given on the command line, or they are guessed.

The file runs in a process of its own (:mod:`ibpcl.verify.running.served`), which sends back what it
found, a line for each pair, to :class:`FileRun`.  A verdict is made here, of the kinds that were
sent; a file that ends its process, or replaces parts of this package, has no verdict by that.  This
is no sandbox.  The file's code has the user's rights, and a hostile one can forge a message; the
work of others is for ``ibpcl class grade``.
"""

import dis
import json
import sys
from dataclasses import asdict, dataclass, field

from ibpcl.errors import UserError
from ibpcl.verify.doors.loading import source_of
from ibpcl.verify.forwards.verdicts import ForwardReport
from ibpcl.verify.reports.report import Report
from ibpcl.verify.running.trap import Trap, converse

SUFFIXES = (".py", ".ipynb")
START = (
    "import sys; sys.path[:] = {path!r}; from ibpcl.verify.running.served import serve; "
    "serve(sys.argv[1])"
)


def is_file(target):
    """Return whether a target names a file rather than a check.

    >>> is_file("mine.py:softmax"), is_file("homework.ipynb"), is_file("gradients/gaussian.kl")
    (True, True, False)
    """
    return target.endswith(SUFFIXES) or target.rpartition(":")[0].endswith(SUFFIXES)


def split(target):
    """Return the path and the function that a target names; the function is empty if it names all.

    >>> split("mine.py:softmax_vjp"), split("mine.py")
    (('mine.py', 'softmax'), ('mine.py', ''))
    """
    path, _, name = (target, "", "") if target.endswith(SUFFIXES) else target.rpartition(":")
    return path, name.removesuffix("_vjp")


def binds(path, name):
    """Return whether a file binds a name at its top level, without running it; of an unreadable
    file, assume so.
    """
    try:
        code = compile(source_of(path), path, "exec")
    except (OSError, SyntaxError, ValueError):  # a UserError is a ValueError
        # the file itself is the mistake to speak of
        return True
    return any(
        step.opname == "STORE_NAME" and step.argval == name for step in dis.get_instructions(code)
    )


def parse_shapes(texts):
    """Read ``x=3,4`` as {"x": (3, 4)}; ``tau=`` is a number.

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
    """What came of one pair, or of a file as a whole."""

    title: str  # path:function
    # "ok", "wrong", "undecided", or "refused": the command needs something else
    verdict: str
    words: str = ""  # why there is no report
    # None if the pair raises, ends the process, or there was no time
    report: Report | None = None
    figures: str = ""  # its curves, as HTML
    seconds: float = 0.0
    forwards: ForwardReport | None = None  # of the functions of a distribution, instead of report

    def text(self):
        """Return everything there is to say, as lines."""
        found = self.report or self.forwards
        words = "\n  ".join(self.words.splitlines())
        return found.text() if found else f"{self.title}: {self.verdict.upper()}: {words}"

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
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
                else {"numbers": {}, "error": self.words}
            ),
        }


@dataclass
class FileRun:
    """The pairs of a file, checked in a process of its own; iterating runs it and yields a
    :class:`Checked` for each.

    A pair that ends the process, or that hangs and can't be interrupted, costs its own verdict
    only: the pairs after it are checked in a new process.
    """

    path: str
    names: list = field(default_factory=list)  # functions; all that have a gradient if empty
    shapes: dict = field(default_factory=dict)  # of inputs to draw, by name; () is a number
    wrt: list | None = None  # as in :func:`ibpcl.verify.check`
    seed: int = 0  # of drawn inputs, cotangents and directions
    # seconds for each pair, and for the import of the file
    timeout: float = 120.0
    figures: bool = False  # whether the curves are wanted, for a page

    def __post_init__(self):
        self.left_out = []  # functions without a gradient
        # statements of the file that could not be run
        self.failures = []

    def __iter__(self):
        pending = None  # until the file has been imported
        while pending is None or pending:
            request = {**asdict(self), "names": pending or self.names}
            for message in converse(
                [sys.executable, "-c", START.format(path=sys.path), json.dumps(request)],
                self.timeout,
            ):
                if message["event"] == "pairs" and pending is None:
                    pending = message["names"]
                    self.left_out = message["left_out"]
                    self.failures = message["failures"]
                elif message["event"] == "left out" and pending and message["name"] == pending[0]:
                    name = pending.pop(0)
                    self.left_out += message.get("functions") or [name]
                elif message["event"] == "refused":
                    yield checked(self.path, message)
                    return
                elif message["event"] == "verdict" and pending and message["name"] == pending[0]:
                    yield checked(f"{self.path}:{_bare(pending.pop(0))}", message)
            if pending != []:  # what the process was at when it ended
                yield self._silent(
                    f"{self.path}:{_bare(pending.pop(0))}" if pending else self.path, message
                )
            pending = pending or []

    def _silent(self, title, last):
        """Return what can be said of a pair whose process has ended before its verdict."""
        if last["event"] == "late":
            return Checked(title, "undecided", f"not finished within {self.timeout:g} s")
        code = last["code"]
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        return Checked(title, "wrong", f"no verdict: the file ended the process {how}")


def _bare(name):
    """Return the name of a pair, or of the functions of a distribution, as it is shown."""
    return name.strip("<>")


def checked(title, message):
    """Return what a message says of a pair; one that is not complete is no verdict."""
    with Trap() as trap:
        if "forwards" in message:
            forwards = ForwardReport.from_dict({**message["forwards"], "title": title})
            if forwards.text() and forwards.items:
                seconds = float(message["seconds"])
                return Checked(title, forwards.verdict, seconds=seconds, forwards=forwards)
        if "report" not in message:
            state = message["state"] if message["state"] in ("undecided", "refused") else "wrong"
            return Checked(title, state, str(message["words"]))
        report = Report.from_dict({**message["report"], "title": title})
        if report.text() and report.inputs:
            return Checked(
                title, report.verdict, "", report, message.get("figures", ""), message["seconds"]
            )
    return Checked(
        title, "wrong", f"no verdict: what the process sent is not complete ({trap.error})"
    )
