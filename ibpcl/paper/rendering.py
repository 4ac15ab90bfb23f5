"""Results as text: lines of 80 columns, the table of equations, the sections of an HTML page."""

import textwrap
from typing import NamedTuple

from ibpcl.paper.catalogue import GROUPS
from ibpcl.paper.equation import STATUSES

WIDTH = 80
# Columns of a check's name; a longer name moves the rest of its line to the right.
NAME = 31
HEADS = {
    "gradients": "largest relative error",
    "densities": "total probability",
    "samplers": "Kolmogorov-Smirnov test, smallest p-value",
    "divergences": f"{'closed form':>11} {'quadrature':>11} {'Monte Carlo':>12} +- SE",
    "estimators": "mean of the estimates, exact derivative",
    "definitions": "against plain loops or an identity",
    "errata": f"{'printed':>12} {'right':>11} {'reference':>12}",
}
WORDS = {"ok": "ok", "wrong": "WRONG", "undecided": "UNDECIDED"}


def head(group):
    """Return the line above a group: its name and the meaning of its numbers.

    Parameters
    ----------
    group : str
        A key of :data:`HEADS`.

    Returns
    -------
    line : str
    """
    return f"\n{group:<{NAME + 6}} {HEADS[group]}"


def line(result, verbose=False):
    """Return the result of one check: one line, with all details if it failed.

    Numbers that do not fit beside a long name are on the next line.

    Parameters
    ----------
    result : ibpcl.paper.catalogue.Result
    verbose : bool
        Whether to add the details also if the check passed.

    Returns
    -------
    text : str
        Lines of at most 80 columns.
    """
    outcome = result.outcome
    name = f"{WORDS[outcome.verdict]:<5} {result.check.name:<{NAME}}"
    first = f"{name} {outcome.words}"
    while len(first) > WIDTH and outcome.ok and ", " in first:
        # Make room for a long name.
        first = first.rpartition(", ")[0]
    if len(first) > WIDTH:
        first = "\n".join([name.rstrip(), *wrapped(outcome.words, 6)])
    if outcome.ok and not verbose:
        return first
    lines = [first]
    lines += [part for row in outcome.text.splitlines() for part in wrapped(row, 6)]
    return "\n".join(lines)


def wrapped(text, indent):
    """Return a line broken at 80 columns, indented by ``indent`` columns more than before.

    Parameters
    ----------
    text : str
        The line, with its own indentation.
    indent : int
        Additional columns.

    Returns
    -------
    lines : list of str
    """
    columns = indent + len(text) - len(text.lstrip())
    return textwrap.wrap(
        text.strip(),
        WIDTH,
        initial_indent=" " * columns,
        subsequent_indent=" " * (columns + 4),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def notes(verbose=False):
    """Return the notes on the paper, one line each.

    Parameters
    ----------
    verbose : bool
        Whether to add the full text of each note.

    Returns
    -------
    text : str
    """
    from ibpcl.paper.errata.notes import NOTES

    lines = ["\nnotes                                 without numbers"]
    for note in NOTES:
        lines.append(f"note  {note.name:<{NAME}} {note.head}")
        if verbose:
            lines += wrapped(f"{note.kind}; {note.where}, source line {note.line}: {note.words}", 6)
    return "\n".join(lines)


def paper_line(equation, outcomes, verbose=False):
    """Return one equation of the paper with its verdict.

    Parameters
    ----------
    equation : ibpcl.paper.equation.Equation
    outcomes : dict
        Maps names of checks to :class:`ibpcl.paper.checks.Outcome`.
    verbose : bool
        Whether to add the functions that compute it, and all of its checks. Without, only failed
        checks are added.

    Returns
    -------
    text : str
        Lines of at most 80 columns.
    """
    place = equation.section.replace("Algorithm", "Alg.")
    first = f"{place:<7}{equation.place:<10}{equation.verdict(outcomes):<20}"
    lines = textwrap.wrap(
        equation.formula, WIDTH - len(first), break_long_words=False, break_on_hyphens=False
    )
    lines = [first + lines[0], *(" " * len(first) + more for more in lines[1:])]
    failed = [name for name in equation.checks if not outcomes[name].ok]
    if verbose:
        lines += [part for name in equation.functions for part in wrapped(f"= {name}", 7)]
    for name in equation.checks if verbose else failed:
        words = " ".join(outcomes[name].words.split())
        lines += wrapped(f"{WORDS[outcomes[name].verdict]} {name}: {words}", 7)
    return "\n".join(lines)


def paper_summary(equations, outcomes, seconds):
    """Return the last lines of ``ibpcl check --paper``: the counts of verdicts and their meaning.

    Parameters
    ----------
    equations : sequence of ibpcl.paper.equation.Equation
    outcomes : dict
        Maps names of checks to :class:`ibpcl.paper.checks.Outcome`.
    seconds : float
        The time that the checks took.

    Returns
    -------
    text : str
    """
    verdicts = [equation.verdict(outcomes) for equation in equations]
    counts = ", ".join(
        f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)
    )
    return "\n".join(
        [
            "",
            *wrapped(f"{len(equations)} equations, definitions, steps and claims: {counts}", 0),
            *(
                line
                for status, meaning in STATUSES.items()
                if status in verdicts
                for line in wrapped(f"{status}: {meaning}", 2)
            ),
            f"{len(outcomes)} checks; {seconds:.1f} s",
        ]
    )


class Section(NamedTuple):
    """A section of the HTML page for a check without a gradient report.

    Attributes
    ----------
    title : str
        The name of the check.
    verdict : str
        "ok", "wrong" or "undecided".
    body : str
        The result as plain text.
    figures : str
        Always empty: such a check draws no figure.
    """

    title: str
    verdict: str
    body: str
    figures: str = ""

    def text(self):
        """Return the text under the title."""
        return self.body


def sections(results):
    """Return the sections of an HTML page.

    Parameters
    ----------
    results : sequence of ibpcl.paper.catalogue.Result

    Returns
    -------
    sections : list
        The :class:`ibpcl.verify.Report` of each gradient, a :class:`Section` of every other check.
    """
    sections = []
    for result in results:
        outcome = result.outcome
        name = str(result.check)
        if outcome.report is not None:
            outcome.report.title = name
            sections.append(outcome.report)
        else:
            columns = (
                HEADS[result.check.group] if result.check.group in ("errata", "divergences") else ""
            )
            body = "\n".join(part for part in (columns, outcome.words, outcome.text) if part)
            sections.append(Section(name, outcome.verdict, body))
    return sections


def listing(checks):
    """Return the names of checks by group, as text.

    Parameters
    ----------
    checks : sequence of ibpcl.paper.checks.Check
        The checks.

    Returns
    -------
    text : str
    """
    lines = []
    for group, meaning in GROUPS.items():
        names = [check.name for check in checks if check.group == group]
        if names:
            lines += [f"{group} ({len(names)}): {meaning}", *(f"  {name}" for name in names)]
    return "\n".join(lines)
