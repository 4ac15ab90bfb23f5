"""Verdicts on tasks and the result of a hand-in: plain values that become JSON and pages."""

from dataclasses import asdict, dataclass, field

STATES = (
    "right",
    "partial",
    "wrong",
    "raises",
    "missing",
    "not judged",
    "by hand",
    "given by hand",
)


def in_words(kind):
    """Return the machine name of a mistake as words.

    >>> in_words("constant_factor"), in_words("ok")
    ('constant factor', 'right')
    """
    return "right" if kind == "ok" else kind.replace("_", " ")


@dataclass
class Part:
    """A part of a task that is judged on its own: an input of a gradient, or a point of a forward.

    Attributes
    ----------
    name, kind, words, hint : str
        ``kind`` as in :data:`ibpcl.verify.KINDS`, or of a forward.
    share : float
        Of the part's points.
    follows : bool
        Whether it is right for the student's own, wrong forward.
    example : dict, optional
        One entry at public inputs: ``place``, ``got``, ``expected``, ``inputs``, all texts.
    """

    name: str
    kind: str
    words: str = ""
    hint: str = ""
    share: float = 0.0
    follows: bool = False
    example: dict | None = None


@dataclass
class Verdict:
    """What is known about one task.

    Attributes
    ----------
    task, kind, title, visibility : str
    most, points : float
    state : str
        One of :data:`STATES`.
    words : list of str
        For the student; on hidden tasks without numbers.
    details : list of str
        For the teacher only.
    parts : list of Part
    hints : list of str
    lines : list of str
        Lines of the hand-in that mistakes are in, with a sentence; from inside the box, so never
        worth points.
    figures : list of str
        SVG, and a heading above those of each input.
    seconds : float
    comment : str
        What the teacher says about the task.
    judged : float, optional
        The points that the judge gave, where the teacher gave others.
    """

    task: str
    kind: str
    title: str
    visibility: str
    most: float
    points: float = 0.0
    state: str = "wrong"
    words: list = field(default_factory=list)
    details: list = field(default_factory=list)
    parts: list = field(default_factory=list)
    hints: list = field(default_factory=list)
    lines: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    seconds: float = 0.0
    comment: str = ""
    judged: float | None = None

    @classmethod
    def of(cls, task):
        """Return the empty verdict on a task."""
        return cls(
            task.id, task.kind, task.title, task.visibility, task.points, hints=list(task.hints)
        )

    @property
    def pending(self):
        """Whether its points are still to be given by a person."""
        return self.state == "by hand"


@dataclass
class Result:
    """What is known about one hand-in.

    Attributes
    ----------
    status : {"graded", "not graded"}
    reason : str
        Why it is not graded.
    verdicts : list of Verdict
    flags : list of str
        For the teacher: nothing here changes the points.
    notes : list of str
        For student and teacher: cells that were skipped, functions under another name.
    attempts : list of str
        SHA-256 of all attempts, where the best of several counts.
    comment : str
        What the teacher says about the hand-in as a whole.
    given : float, optional
        Points for the hand-in as a whole that the teacher gave in place of the sum.
    deduction : float
        Points that are taken off for lateness.
    late_days : float
        Days after the student's own due date; 0 if it is in time or nothing is known.
    handed_in : str
        ISO date and time, where it is known.
    attempt_count : int
    """

    assignment: str
    student: str
    form: str
    sha256: str
    status: str = "graded"
    reason: str = ""
    verdicts: list = field(default_factory=list)
    flags: list = field(default_factory=list)
    seconds: float = 0.0
    box: str = ""
    settings: str = ""
    notes: list = field(default_factory=list)
    attempts: list = field(default_factory=list)
    comment: str = ""
    given: float | None = None
    deduction: float = 0.0
    late_days: float = 0.0
    handed_in: str = ""
    attempt_count: int = 1

    @property
    def earned(self):
        """The points given so far, before a deduction; None if it is not graded."""
        if self.status != "graded":
            return None
        if self.given is not None:
            return round(self.given, 2)
        return round(sum(verdict.points for verdict in self.verdicts), 2)

    @property
    def score(self):
        """The points given so far; None if it is not graded."""
        if self.status != "graded":
            return None
        return round(max(0.0, self.earned - self.deduction), 2)

    @property
    def full(self):
        """The points of all tasks, those that a person still gives included."""
        return round(sum(verdict.most for verdict in self.verdicts), 2)

    @property
    def most(self):
        """The points that could be had so far: without those that a person gives."""
        return round(sum(verdict.most for verdict in self.verdicts if not verdict.pending), 2)

    @property
    def pending(self):
        """The points that a person still gives."""
        return round(sum(verdict.most for verdict in self.verdicts if verdict.pending), 2)

    def to_dict(self):
        """Return plain values."""
        return {
            "schema": "ibpcl/class/1",
            **asdict(self),
            "score": self.score,
            "most": self.most,
            "pending": self.pending,
        }

    @classmethod
    def from_dict(cls, table):
        """Return the result that :meth:`to_dict` was made of."""
        kept = _known(cls, table)
        kept["verdicts"] = [
            Verdict(
                **{
                    **_known(Verdict, each),
                    "parts": [Part(**_known(Part, part)) for part in each["parts"]],
                }
            )
            for each in kept["verdicts"]
        ]
        return cls(**kept)


def _known(kind, table):
    """Return the entries that a dataclass has fields for; another version may have others."""
    return {key: table[key] for key in kind.__dataclass_fields__ if key in table}
