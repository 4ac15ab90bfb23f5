"""Check pairs that a user has written: ``path/to/mine.py:function``, with ``function_vjp`` beside it.

The inputs come from ``check_inputs()`` in that file, which returns a dict (name to value; a dict may serve several
functions) or a tuple, or they are drawn, normal, in shapes given on the command line.

The file runs in a process of its own (:mod:`ibpcl.verify.served`), which sends back what it found, a line for each
pair, to :class:`FileRun`.  A verdict is made here, of the kinds that were sent; a file that ends its process, or
replaces parts of this package, has no verdict by that.  This is no sandbox.  The file's code has the user's rights, and
a hostile one can forge a message; the work of others is for ``ibpcl class grade``.
"""

import ast
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ibpcl.errors import UserError
from ibpcl.verify.messages import received_report
from ibpcl.verify.report import Report
from ibpcl.verify.trap import Trap, converse

START = "import sys; sys.path[:] = {path!r}; from ibpcl.verify.served import serve; serve(sys.argv[1])"


def is_file(target):
    """Return whether a target names a file rather than a check.

    >>> is_file("mine.py:softmax"), is_file("mine.py"), is_file("gradients/gaussian.kl")
    (True, True, False)
    """
    return target.endswith(".py") or target.rpartition(":")[0].endswith(".py")


def split(target):
    """Return the path and the function that a target names; the function is empty if it names all.

    >>> split("mine.py:softmax_vjp"), split("mine.py")
    (('mine.py', 'softmax'), ('mine.py', ''))
    """
    path, _, name = (target, "", "") if target.endswith(".py") else target.rpartition(":")
    return path, name.removesuffix("_vjp")


def binds(path, name):
    """Return whether a file binds a name at its top level, without running it; of an unreadable file, assume so."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True                                          # the file itself is the mistake to speak of
    return any(name in _names_of(statement) for statement in _statements(tree))


def _statements(node):
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from _statements(child)


def _names_of(statement):
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom):
        return {item.asname or item.name for item in statement.names}
    if isinstance(statement, ast.Assign):
        return {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return set()


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
            raise UserError("check: --shape takes NAME=SIZES of at least 1, such as x=3,4 (or tau= for a number), "
                            f"got {text!r}")
        shapes[name.strip()] = tuple(map(int, parts))
    return shapes


@dataclass
class Checked:
    """What came of one pair, or of a file as a whole.

    Attributes
    ----------
    title : str
        ``path:function``.
    report : Report or None
        None if the pair could not be judged.
    state : str
        Without a report: "wrong" (it raises, or ends the process), "undecided" (no time) or "refused" (something is
        missing that the command needs).
    words : str
        Without a report: why.
    seconds : float
    """

    title: str
    report: Report | None = None
    state: str = ""
    words: str = ""
    seconds: float = 0.0

    @property
    def verdict(self):
        """One of "ok", "wrong", "undecided" and "refused"."""
        return self.report.verdict if self.report is not None else self.state

    @property
    def curves(self):
        """The curves of the report."""
        return self.report.curves if self.report is not None else {}

    def text(self):
        """Return everything there is to say, as lines."""
        if self.report is not None:
            text = self.report.text()
            return text.replace(": undecided", ": UNDECIDED", 1) if self.verdict == "undecided" else text
        first, *rest = self.words.splitlines()
        return "\n".join([f"{self.title}: {self.verdict.upper()}: {first}", *(f"  {line}" for line in rest)])

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        entry = {"group": "yours", "name": self.title, "seconds": self.seconds, "ok": self.verdict == "ok",
                 "verdict": self.verdict, "words": self.words,
                 "numbers": self.report.to_dict() if self.report is not None else {}}
        return entry if self.report is not None else {**entry, "error": self.words}


@dataclass
class FileRun:
    """The pairs of a file, checked in a process of its own; iterating runs it and yields a :class:`Checked` for each.

    A pair that ends the process, or that hangs and can't be interrupted, costs its own verdict only: the pairs after
    it are checked in a new process.

    Parameters
    ----------
    path : str
    names : sequence of str
        The functions; all that have a gradient if empty.
    shapes : dict of str to tuple of int
        Shapes of inputs to draw; ``()`` is a number.
    wrt : sequence of str, optional
        The inputs whose gradients ``function_vjp`` returns, in its order; by default all floating-point ones.
    seed : int
        Of drawn inputs, cotangents and directions.
    timeout : float
        Seconds for each pair, and for the import of the file.
    curves : bool
        Whether the V-curves and Taylor plots are wanted, for a page.
    """

    path: str
    names: tuple = ()
    shapes: dict = field(default_factory=dict)
    wrt: tuple | None = None
    seed: int = 0
    timeout: float = 120.0
    curves: bool = False
    left_out: list = field(default_factory=list, init=False)

    def __iter__(self):
        remaining, known = list(self.names), False
        while remaining or not known:
            count, current = len(remaining), None
            for message in converse(self._command(remaining), self.timeout):
                event, name = message.get("event"), message.get("name")
                if event == "refused":
                    yield checked(self.path, message)
                    return
                if event == "pairs" and not known:
                    remaining, self.left_out, known = list(message["names"]), list(message["left_out"]), True
                    count = len(remaining)
                elif event == "begin":
                    current = name
                elif event == "verdict" and name == current and name in remaining:
                    remaining.remove(name)
                    current = None
                    yield checked(f"{self.path}:{name}", message)
            state, words = self._silence(message)
            if current in remaining:
                remaining.remove(current)
                yield Checked(f"{self.path}:{current}", None, state, words)
            elif not known:
                yield Checked(self.path, None, state, words)
                return
            elif len(remaining) == count:                   # a new process would come no further
                yield from (Checked(f"{self.path}:{name}", None, state, words) for name in remaining)
                return

    def _silence(self, last):
        """Return state and words for what the last process has not said."""
        if last["event"] == "late":
            return "undecided", f"not finished within {self.timeout:g} s"
        code = last["code"]
        how = f"ended the process with exit code {code}" if code >= 0 else f"ended the process by signal {-code}"
        return "wrong", f"no verdict: the file {how}"

    def _command(self, names):
        request = {"path": self.path, "names": names, "shapes": self.shapes, "wrt": self.wrt, "seed": self.seed,
                   "timeout": self.timeout, "curves": self.curves}
        return [sys.executable, "-c", START.format(path=sys.path), json.dumps(request)]


def checked(title, message):
    """Return what a message says of a pair; one that is not complete is no verdict."""
    with Trap() as trap:
        seconds = float(message.get("seconds", 0.0))
        if "report" not in message:
            state = message["state"] if message["state"] in ("wrong", "undecided", "refused") else "wrong"
            return Checked(title, None, state, str(message["words"]), seconds)
        return Checked(title, received_report(title, message), seconds=seconds)
    return Checked(title, None, "wrong", f"no verdict: what the process sent is not complete ({trap})")
