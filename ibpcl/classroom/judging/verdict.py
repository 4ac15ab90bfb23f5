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

    Parameters
    ----------
    kind : str
        Kind of a mistake, or ``"ok"``.

    Returns
    -------
    str

    Examples
    --------
    >>> in_words("constant_factor"), in_words("ok")
    ('constant factor', 'right')
    """
    return "right" if kind == "ok" else kind.replace("_", " ")


@dataclass
class Part:
    """A separately judged part of a task: an input of a gradient, or a point of a forward.

    Attributes
    ----------
    name : str
        Name of the input or point.
    kind : str
        ``"ok"`` or the kind of the mistake, as in :data:`ibpcl.verify.KINDS` or of a forward.
    words : str
        Description of the mistake.
    hint : str
        A hint; may be empty.
    share : float
        Share of the part's points that it earns, from 0 to 1.
    evidence : str
        The row of the marking scheme that gives the share.
    follows : bool
        Whether it is right for the student's own, wrong forward, and earns points for it.
    fits_own : bool
        Whether it is right for the student's own, wrong forward.
    example : dict, optional
        One entry at public inputs: ``place``, ``got``, ``expected`` and ``inputs``, all texts.
    """

    name: str
    kind: str
    words: str = ""
    hint: str = ""
    share: float = 0.0
    evidence: str = "no_right_value"
    follows: bool = False
    fits_own: bool = False
    example: dict | None = None


@dataclass
class Verdict:
    """The verdict on one task.

    Attributes
    ----------
    task, kind, title, visibility : str
        Id, kind, title and visibility of the task.
    most : float
        Points of the task.
    points : float
        Points earned.
    state : str
        One of :data:`STATES`.
    words : list of str
        Sentences for the student; on hidden tasks without numbers.
    details : list of str
        Sentences for the teacher only.
    parts : list of Part
        The separately judged parts.
    hints : list of str
        Hints of the task, from a vague one to one that nearly solves it.
    lines : list of str
        Sentences that name the lines of mistakes; from inside the sandbox, so never worth points.
    figures : list of str
        SVG figures, with a heading above those of each input.
    seconds : float
        Duration of judging.
    comment : str
        The teacher's comment on the task.
    judged : float, optional
        The judge's points, if the teacher replaced them.
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
        """Return the empty verdict on a task.

        Parameters
        ----------
        task : ibpcl.classroom.assignments.assignment.Task
            The task.

        Returns
        -------
        Verdict
        """
        return cls(
            task.id, task.kind, task.title, task.visibility, task.points, hints=list(task.hints)
        )

    @property
    def pending(self):
        """True if a person has yet to give the points."""
        return self.state == "by hand"


@dataclass
class Result:
    """The result of one hand-in.

    Attributes
    ----------
    assignment : str
        Name of the assignment.
    student : str
        Id of the student.
    variant : str
        Name of the variant that was judged.
    sha256 : str
        Hash of the text that was judged.
    status : {"graded", "not graded"}
        Whether the hand-in could be graded.
    reason : str
        Reason why it is not graded.
    verdicts : list of Verdict
        The verdicts, one per task.
    flags : list of str
        Flags for the teacher, which do not change the points.
    seconds : float
        Duration of judging.
    sandbox : str
        Name of the sandbox that the hand-in ran in.
    settings : str
        Hash of the settings of grading.
    notes : list of str
        Notes for student and teacher: skipped cells, functions under a wrong name.
    attempts : list of str
        SHA-256 of all attempts, if the best of several counts.
    comment : str
        The teacher's comment on the hand-in as a whole.
    given : float, optional
        Points for the hand-in as a whole that the teacher gave in place of the sum.
    deduction : float
        Points deducted for lateness.
    late_days : float
        Days after the student's own due date; 0 if the hand-in is in time or the time is unknown.
    handed_in : str
        ISO date and time; empty if unknown.
    attempt_count : int
        Number of attempts.
    """

    assignment: str
    student: str
    variant: str
    sha256: str
    status: str = "graded"
    reason: str = ""
    verdicts: list = field(default_factory=list)
    flags: list = field(default_factory=list)
    seconds: float = 0.0
    sandbox: str = ""
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
        """Points given so far, before any deduction; None if the hand-in is not graded."""
        if self.status != "graded":
            return None
        if self.given is not None:
            return round(self.given, 2)
        return round(sum(verdict.points for verdict in self.verdicts), 2)

    @property
    def score(self):
        """Points given so far; None if the hand-in is not graded."""
        if self.status != "graded":
            return None
        return round(max(0.0, self.earned - self.deduction), 2)

    @property
    def full(self):
        """Points of all tasks, including those that a person has yet to grade."""
        return round(sum(verdict.most for verdict in self.verdicts), 2)

    @property
    def most(self):
        """Points that could be earned so far, without tasks that a person has yet to grade."""
        return round(sum(verdict.most for verdict in self.verdicts if not verdict.pending), 2)

    @property
    def pending(self):
        """Points of the tasks that a person has yet to grade."""
        return round(sum(verdict.most for verdict in self.verdicts if verdict.pending), 2)

    def to_dict(self):
        """Return the content of ``result.json``.

        Returns
        -------
        dict
            Plain values, read back by :meth:`from_dict`.
        """
        return {
            "schema": "ibpcl/class/1",
            **asdict(self),
            "score": self.score,
            "most": self.most,
            "pending": self.pending,
        }

    @classmethod
    def from_dict(cls, table):
        """Return the result with the content of ``result.json``.

        Parameters
        ----------
        table : dict
            As :meth:`to_dict` returns it; unknown entries are ignored.

        Returns
        -------
        Result
        """
        entries = _known(cls, table)
        entries["verdicts"] = [
            Verdict(
                **{
                    **_known(Verdict, each),
                    "parts": [Part(**_known(Part, part)) for part in each["parts"]],
                }
            )
            for each in entries["verdicts"]
        ]
        return cls(**entries)


def _known(kind, table):
    """Return the entries for which a dataclass has fields; other versions may write more."""
    return {key: table[key] for key in kind.__dataclass_fields__ if key in table}
