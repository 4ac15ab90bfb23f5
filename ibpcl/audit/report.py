"""Report of an audit as data: which planted mistakes the tests of a project have missed.

The printers of :mod:`ibpcl.verify.reports` write it: each function is a report with a title, a
verdict and a text, as each checked gradient is.
"""

import textwrap
from dataclasses import asdict, dataclass, field

from ibpcl.codeview.location import Location
from ibpcl.verify.reports import page, sarif

WIDTH = 80
MOST_PASTED = 900  # characters of the lines to paste that a text shows
HINT = "add a test at the input and the cotangent below, or use `ibpcl.check` at random inputs"


@dataclass
class Mistake:
    """A planted mistake, and what the tests say.

    Attributes
    ----------
    file : str
        The file, relative to the project.
    function : str
        The function in which it stands.
    line, end_line : int
        Its lines in the file.
    kind, sentence : str
        Kind of the mistake, and a sentence about it.
    old, new : str
        The expression, and what was planted in its place.
    places : int
        Number of places that change together.
    before, after : str
        The first changed line of the file, without and with the mistake.
    off : float or None
        Largest error of a gradient relative to its largest entry; None if it is not finite or has
        another shape.
    wrt : list of str
        The inputs whose gradients are wrong.
    paste : list of str
        Lines of Python: an input and a cotangent at which the mistake shows.
    outcome : {"caught", "survived", "time", "error"}
        What the tests say; "time" if they exceed a limit, which is caught as well.
    by : str
        The first test that fails.
    tests : int or None
        Number of tests that reach the line; None if the command is not pytest.
    """

    file: str
    function: str
    line: int
    end_line: int
    kind: str
    sentence: str
    old: str
    new: str
    places: int
    before: str
    after: str
    off: float | None
    wrt: list
    paste: list
    outcome: str = "survived"
    by: str = ""
    tests: int | None = None

    @property
    def survives(self):
        """True if no test fails."""
        return self.outcome == "survived"

    def distance(self):
        """Return how far the gradients are off, in words."""
        names = ", ".join(self.wrt) or "its input"
        if self.off is None:
            return f"the gradient of {names} has another shape, or is not finite"
        if self.off > 1:
            return f"the gradient of {names} is off by {self.off:.2g} times its largest entry"
        return f"the gradient of {names} is off by {100 * self.off:.2g} % of its largest entry"

    def text(self):
        """Return the mistake as lines of text."""
        several = f", in {self.places} places" if self.places > 1 else ""
        if self.before and "\n" not in self.after and self.before != self.after:
            change = [f"  - {self.before}", f"  + {self.after}"]
        else:
            change = [f"  - {self.old}", f"  + {self.new}"]
        reached = "no test fails"
        if self.tests is not None:
            reach = f"{self.tests} tests run" if self.tests != 1 else "1 test runs"
            reached = (
                f"{reach} this line, and none fails" if self.tests else "no test runs this line"
            )
        lines = [
            f"line {self.line}, {self.kind}{several}: {self.sentence}",
            *change,
            f"  {self.distance()}",
            f"  {reached}",
        ]
        pasted = "\n".join(self.paste)
        if len(pasted) <= MOST_PASTED:
            lines += ["  a test at this point fails:", *(f"    {line}" for line in self.paste)]
        else:
            lines.append("  an input and a cotangent to paste are in the JSON and the HTML report")
        return "\n".join(lines)


@dataclass
class FunctionAudit:
    """Results of the tests for the mistakes in one gradient function.

    Attributes
    ----------
    file, name : str
        The file, relative to the project, and the function.
    line : int
        Where the gradient function begins; 0 if unknown.
    planted : int
        Mistakes that the table of slips has for this function.
    equivalent, repeated, raising, forward : int
        Mistakes that are not counted: they give the same gradients, or the same wrong gradients as
        another mistake, or raise an exception at every call, or change the forward as well.
    left_over : int
        Mistakes that were not tried, because the number for each function is limited.
    mistakes : list of Mistake
        Those that were tried.
    reason : str
        Why the function was not audited; empty if it was.
    note : str
        A remark, such as that the gradient is wrong before any change.
    """

    file: str
    name: str
    line: int = 0
    planted: int = 0
    equivalent: int = 0
    repeated: int = 0
    raising: int = 0
    forward: int = 0
    left_over: int = 0
    mistakes: list = field(default_factory=list)
    reason: str = ""
    note: str = ""

    @property
    def title(self):
        """The file and the function."""
        return f"{self.file}:{self.name}"

    @property
    def counted(self):
        """The mistakes that count: the tests have failed, or not."""
        return [mistake for mistake in self.mistakes if mistake.outcome != "error"]

    @property
    def survivors(self):
        """The mistakes that no test has seen."""
        return [mistake for mistake in self.mistakes if mistake.survives]

    @property
    def verdict(self):
        """ "wrong" if a mistake survives, "undecided" if none was tried, "ok" otherwise."""
        if self.survivors:
            return "wrong"
        return "ok" if self.counted else "undecided"

    @property
    def figures(self):
        """No charts."""
        return ""

    def text(self):
        """Return what the tests say about this function, as text."""
        if self.reason:
            return wrapped(f"{self.title}: not audited: {self.reason}")
        caught = len(self.counted) - len(self.survivors)
        lines = [wrapped(f"{self.title}: {caught} of {len(self.counted)} mistakes caught")]
        if self.note:
            lines.append(wrapped(f"  note: {self.note}", "  "))
        for mistake in self.survivors:
            lines += ["", textwrap.indent(mistake.text(), "  ")]
        return "\n".join(lines)

    def to_dict(self):
        """Return the report as a dict that ``json.dumps`` accepts."""
        return {**asdict(self), "verdict": self.verdict, "survivors": len(self.survivors)}


@dataclass
class AuditReport:
    """Results of the tests of a project for mistakes in its gradient functions.

    Attributes
    ----------
    target : str
        The audited file or package.
    command : str
        The test command.
    functions : list of FunctionAudit
        One per gradient function.
    tests : int
        Number of tests; 0 if the command is not pytest.
    seconds : float
        Wall-clock time of the audit.
    notes : list of str
        Remarks.

    Examples
    --------
    >>> AuditReport("layers.py", "pytest", []).score
    """

    target: str
    command: str
    functions: list
    tests: int = 0
    seconds: float = 0.0
    notes: list = field(default_factory=list)

    @property
    def counted(self):
        """All mistakes that count."""
        return [each for function in self.functions for each in function.counted]

    @property
    def survivors(self):
        """All mistakes that no test has seen."""
        return [each for function in self.functions for each in function.survivors]

    @property
    def score(self):
        """Share of the mistakes that the tests catch, in percent; None if there are none."""
        if not self.counted:
            return None
        return 100.0 * (1 - len(self.survivors) / len(self.counted))

    def text(self):
        """Return the report as text."""
        parts = [function.text() for function in self.functions]
        return "\n\n".join([*parts, self.summary()])

    def summary(self):
        """Return the last lines: the share of caught mistakes, and the mistakes left out."""
        judged = [function for function in self.functions if not function.reason]

        def total(name):
            return sum(getattr(function, name) for function in judged)

        if self.score is None:
            head = "no mistake could be tried"
        else:
            caught = len(self.counted) - len(self.survivors)
            head = (
                f"the tests catch {caught} of {len(self.counted)} mistakes, {self.score:.1f} %, in "
                f"{len(judged)} gradient function{'s' * (len(judged) > 1)}"
            )
        late = sum(mistake.outcome == "time" for mistake in self.counted)
        parts = [
            f"{total('equivalent')} give the same gradients",
            f"{total('repeated')} the same numbers as another mistake",
            f"{total('raising')} raise an exception at every call",
        ]
        if total("forward"):
            parts.append(f"{total('forward')} change the forward as well")
        if total("left_over"):
            parts.append(f"{total('left_over')} were not tried (more with --most)")
        errors = sum(each.outcome == "error" for f in judged for each in f.mistakes)
        if errors:
            parts.append(f"for {errors} the test program itself failed")
        lines = [wrapped(f"{head}; {self.seconds:.0f} s")]
        if late:
            lines.append(wrapped(f"{late} of the caught mistakes make the tests exceed a limit"))
        lines.append(wrapped(f"not counted: {', '.join(parts)}"))
        left_out = [function for function in self.functions if function.reason]
        if left_out:
            lines.append(
                wrapped(f"not audited: {', '.join(function.title for function in left_out)}")
            )
        lines += [wrapped(f"note: {note}") for note in self.notes]
        return "\n".join(lines)

    def to_dict(self):
        """Return the report as a dict that ``json.dumps`` accepts."""
        return {
            "target": self.target,
            "command": self.command,
            "score": self.score,
            "counted": len(self.counted),
            "caught": len(self.counted) - len(self.survivors),
            "survivors": len(self.survivors),
            "tests": self.tests,
            "seconds": self.seconds,
            "notes": self.notes,
            "functions": [function.to_dict() for function in self.functions],
        }

    def html(self):
        """Return the report as an HTML page."""
        return page.page(
            [Shown(function) for function in self.functions],
            f"Audit of {self.target}: {self.summary().splitlines()[0]}",
        )

    def sarif(self, version, folder):
        """Return the surviving mistakes as a SARIF log.

        Parameters
        ----------
        version : str
            Version of the program.
        folder : path-like
            The project, in which editors find the files.

        Returns
        -------
        dict
        """
        found = []
        refused = []
        for function in self.functions:
            path = str(folder / function.file)
            if function.reason:
                refused.append((path, f"{function.name}: not audited: {function.reason}"))
            for mistake in function.survivors:
                words = (
                    f"no test fails if `{mistake.old}` becomes `{mistake.new}` "
                    f"({mistake.sentence}); {mistake.distance()}"
                )
                where = Location(
                    path, mistake.line, end_line=mistake.line, function=mistake.function
                )
                hint = "\n".join([HINT, *mistake.paste])
                found.append((path, sarif.Result("warning", mistake.kind, words, hint, where)))
        return sarif.log_of(found, refused, "ibpcl audit", version)


class Shown:
    """A function's audit for the HTML page, with all lines to paste.

    Parameters
    ----------
    function : FunctionAudit
        The audit.

    Attributes
    ----------
    title, verdict, figures : str
        As those of the function.
    """

    def __init__(self, function):
        self.function = function
        self.title = function.title
        self.verdict = function.verdict
        self.figures = ""

    def text(self):
        """Return the text, in which no lines to paste are left out."""
        long = [
            each for each in self.function.survivors if len("\n".join(each.paste)) > MOST_PASTED
        ]
        pasted = [
            f"line {each.line}, `{each.old}` became `{each.new}`; a test at this point fails:\n"
            + textwrap.indent("\n".join(each.paste), "  ")
            for each in long
        ]
        return "\n\n".join([self.function.text(), *pasted])


def wrapped(text, indent=""):
    """Return a paragraph in lines of at most 80 columns.

    Parameters
    ----------
    text : str
        The paragraph.
    indent : str
        Beginning of the lines after the first.

    Returns
    -------
    str
    """
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
