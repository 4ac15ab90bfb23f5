"""What a check of the package is, and what it says when it has run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ibpcl.verify.report import Report, plain


@dataclass(frozen=True)
class Outcome:
    """The verdict of one check.

    Attributes
    ----------
    ok : bool
    words : str
        One line with the number that proves it.
    numbers : dict
        What the verdict rests on.
    text : str
        Everything there is to say, as lines of at most 80 columns.
    report : ibpcl.verify.Report, optional
        Of a gradient: its V-curves and Taylor plots can be drawn.
    """

    ok: bool
    words: str
    numbers: dict = field(default_factory=dict)
    text: str = ""
    report: Report | None = None

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        numbers = self.report.to_dict() if self.report else plain(self.numbers)
        return {"ok": bool(self.ok), "words": self.words, "numbers": numbers}


class Check(NamedTuple):
    """One thing that the package proves about itself: ``run(seed)`` returns an :class:`Outcome`."""

    group: str
    name: str
    run: Callable

    def __str__(self):
        return f"{self.group}/{self.name}"


def from_reports(reports, words):
    """Join reports of :mod:`ibpcl.verify.distributions`, one for each choice of parameters, into one outcome."""
    wrong = [report for report in reports if not report.ok]
    return Outcome(not wrong, wrong[0].words if wrong else words,
                   {report.name: report.numbers for report in reports}, "\n".join(map(str, reports)))
