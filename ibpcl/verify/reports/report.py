"""Report on a gradient as data: verdict, kind, place, reason, advice, repair and numbers.

Four modules print it: :mod:`~ibpcl.verify.reports.text`, :mod:`~ibpcl.verify.reports.page` (HTML),
:mod:`~ibpcl.verify.reports.plain` (JSON) and :mod:`~ibpcl.verify.reports.sarif`.
"""

from dataclasses import dataclass, field

import numpy as np

from ibpcl.codeview.location import NOWHERE, Location, Replacement
from ibpcl.verify.reports import text
from ibpcl.verify.reports.kinds import UNFIT, Factor, Finding, Reason
from ibpcl.verify.reports.page import drawn, page
from ibpcl.verify.reports.plain import plain, typed


def worst(verdicts):
    """Return the worst of several verdicts.

    Parameters
    ----------
    verdicts : iterable of str
        Each is "ok", "wrong" or "undecided".

    Returns
    -------
    verdict : str
        "undecided" for an empty sequence.

    Examples
    --------
    >>> worst(["ok", "undecided"]), worst(["undecided", "wrong"]), worst([])
    ('undecided', 'wrong', 'undecided')
    """
    verdicts = set(verdicts) or {"undecided"}
    return next(verdict for verdict in ("wrong", "undecided", "ok") if verdict in verdicts)


class Judged:
    """Base class of objects with a ``verdict``: "ok", "wrong" or "undecided"."""

    @property
    def ok(self):
        """True if everything was compared and is right."""
        return self.verdict == "ok"

    @property
    def undecided(self):
        """True if nothing is wrong, but a part could not be decided."""
        return self.verdict == "undecided"

    def __str__(self):
        return self.text()


@dataclass
class InputVerdict(Judged):
    """Verdict on the gradient of one input.

    Attributes
    ----------
    name : str
        Name of the input.
    kind : str
        "ok" if right, else the kind of mistake, one of :data:`ibpcl.verify.KINDS`.
    words : str
        The verdict as a sentence.
    hint : str
        Advice on where to look first; empty if right.
    error : float
        Largest relative error over all compared entries (or directions).
    numbers : dict
        The numbers behind the verdict: entries compared, wrong and skipped at kinks, the worst
        entry, the tolerance, the agreement of the two numerical methods, the Taylor slope.
    reason : Reason or None
        What explains the whole difference, if a part of the code does that is not a mistake in the
        derivation: a guard, a rounded constant, numbers of a small type, a limit.
    where : Location
        The place of the mistake in the source; false if unknown.
    factor : Factor or None
        The wrong factor, if the mistake is one.
    repair : tuple of Replacement
        The text that repairs the source; empty if unknown.
    witness : str
        The numerical method: "complex step" or "Richardson differences"; empty if nothing was
        measured.
    weak : bool
        Whether the gradient is right, but zero, so that the test says little.
    """

    name: str
    kind: str
    words: str
    hint: str = ""
    error: float = float("nan")
    numbers: dict = field(default_factory=dict)
    reason: Reason | None = None
    where: Location = NOWHERE
    factor: Factor | None = None
    repair: tuple = ()
    witness: str = ""
    weak: bool = False

    @property
    def verdict(self):
        """One of "ok", "undecided" and "wrong"."""
        return self.kind if self.kind in ("ok", "undecided") else "wrong"

    @property
    def score(self):
        """1 if right, 0 if undecided, half the share of right entries if wrong.

        Skipped entries do not count as right.
        """
        n = self.numbers
        compared = n.get("compared", 0)
        entries = n.get("entries", 0)
        skipped = n.get("skipped", 0)
        seen = 1 - skipped / entries if entries else 1.0
        share = 1 - n["wrong"] / compared if compared else 0.0
        return {"ok": seen, "undecided": 0.0, "wrong": 0.5 * share * seen}[self.verdict]

    def text(self):
        """Return the verdict as text that fits into 80 columns."""
        return text.of_input(self)

    def to_dict(self):
        """Return the verdict as a dict that ``json.dumps`` accepts."""
        return {**plain(self), "ok": self.ok, "score": self.score}


@dataclass
class Report(Judged):
    """Verdict on a gradient function, with one :class:`InputVerdict` per input.

    Attributes
    ----------
    title : str
        Name of the gradient function.
    inputs : list of InputVerdict
        The verdicts, in the order of the gradients.
    problems : list of Finding
        What makes the pair unfit, such as noise, infinities or overwritten arguments.
    notes : list of str
        Remarks that are not mistakes.
    numbers : dict
        The seed of the check.
    habits : list of Finding
        Side effects and limits that leave the numbers right.
    curves : dict of str to Curves
        V-curve and Taylor remainders of each input, computed when they are drawn.
    unjudged : list of str
        Sentences about gradients that are not judged: returned arrays that belong to no input, and
        inputs without a gradient.  A report with such sentences is not "ok".
    where : Location
        Where the gradient function is defined; false if unknown.
    """

    title: str
    inputs: list
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    numbers: dict = field(default_factory=dict)
    habits: list = field(default_factory=list)
    curves: dict = field(default_factory=dict, repr=False)
    unjudged: list = field(default_factory=list)
    where: Location = NOWHERE

    @property
    def verdict(self):
        """One of "ok", "wrong" and "undecided"."""
        if self.problems:  # a forward that cannot be checked is not wrong
            unfit = all(problem.kind in UNFIT for problem in self.problems)
            return "undecided" if unfit else "wrong"
        return worst([item.verdict for item in self.inputs] + ["undecided"] * len(self.unjudged))

    @property
    def score(self):
        """Mean of the inputs' scores, in [0, 1]; 0 if the pair itself is unfit."""
        if self.problems or not self.inputs:
            return 0.0
        return float(np.mean([item.score for item in self.inputs] + [0.0] * len(self.unjudged)))

    @property
    def error(self):
        """Largest relative error among the inputs."""
        return float(max((item.error for item in self.inputs), default=0.0))

    def __getitem__(self, name):
        """Return the verdict on the input called ``name``.

        Raises
        ------
        KeyError
            If there is no such input.
        """
        for item in self.inputs:
            if item.name == name:
                return item
        raise KeyError(
            f"Report: no input {name!r}; the inputs are {', '.join(i.name for i in self.inputs)}"
        )

    def text(self):
        """Return the report as text that fits into 80 columns."""
        return text.of_report(self)

    def to_dict(self):
        """Return the report as a dict that ``json.dumps`` accepts."""
        advice = {
            name: [{**plain(finding), "hint": finding.hint} for finding in getattr(self, name)]
            for name in ("problems", "habits")
        }
        return {
            **plain(self),
            "ok": self.ok,
            "verdict": self.verdict,
            "score": self.score,
            "error": plain(self.error),
            **advice,
            "inputs": [item.to_dict() for item in self.inputs],
        }

    @classmethod
    def from_dict(cls, entries):
        """Return a report, without curves, from the result of :meth:`to_dict`.

        The verdict is not read; it follows from the kinds.

        Parameters
        ----------
        entries : dict
            The report as a dict, such as ``json.loads`` returns.

        Returns
        -------
        Report
            The report.

        Raises
        ------
        KeyError
            If an entry is missing.
        """
        return typed(cls, entries, NESTED)

    @property
    def figures(self):
        """The V-curve and the Taylor plot of the inputs that are not ok, or of all if all are."""
        doubtful = {item.name for item in self.inputs if not item.ok}
        return "".join(
            drawn(name, curves)
            for name, curves in self.curves.items()
            if name in doubtful or not doubtful
        )

    def html(self):
        """Return the report as an HTML page, with the charts of :attr:`figures`."""
        return page([self])


# The classes of nested fields.
NESTED = {
    "inputs": InputVerdict,
    "problems": Finding,
    "habits": Finding,
    "reason": Reason,
    "where": Location,
    "factor": Factor,
    "repair": Replacement,
}
