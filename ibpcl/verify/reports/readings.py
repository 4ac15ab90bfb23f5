"""One report from several readings of the same code: right or wrong only if all of them agree."""

from dataclasses import replace
from typing import NamedTuple

from ibpcl.verify.reports.report import InputVerdict, Report


class Case(NamedTuple):
    """The report on one reading of a user's code.

    Attributes
    ----------
    assumed : str
        What the reading assumes, as the end of "right if ...".
    declare : str
        What the user writes so that only this reading remains.
    report : Report
        The report in this reading.
    """

    assumed: str
    declare: str
    report: Report


def agreed(cases):
    """Return the report on code that can be read in several ways.

    Parameters
    ----------
    cases : sequence of Case
        The reports, the likeliest reading first.

    Returns
    -------
    Report
        The first report if all have the same verdict; else a report that is undecided, and says
        what decides.

    Examples
    --------
    >>> right = Report("f", [InputVerdict("x", "ok", "")])
    >>> wrong = Report("f", [InputVerdict("x", "sign", "")])
    >>> report = agreed([Case("`a` is the output", "call it `out`", right),
    ...     Case("`a` is the input", "call it `x`", wrong)])
    >>> report.verdict, report.inputs[0].words
    ('undecided', 'right if `a` is the output, wrong if `a` is the input')
    """
    first = cases[0].report
    if len({case.report.verdict for case in cases}) == 1:
        words = f"right if {', and if '.join(case.assumed for case in cases)}"
        return replace(first, notes=[*first.notes, words]) if first.ok else first
    words = ", ".join(f"{_plain(case.report.verdict)} if {case.assumed}" for case in cases)
    decisive = next((case for case in cases if case.report.ok), cases[0])
    inputs = [
        InputVerdict(item.name, "undecided", words, decisive.declare) for item in first.inputs
    ]
    return Report(
        first.title, inputs, notes=list(first.notes), numbers=first.numbers, where=first.where
    )


def _plain(verdict):
    """Return a verdict as the beginning of "... if"."""
    return "right" if verdict == "ok" else verdict
