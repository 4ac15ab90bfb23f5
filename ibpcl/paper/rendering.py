"""How results look: lines of 80 columns, the table of the paper, the sections of an HTML page."""

import textwrap
from typing import NamedTuple

from ibpcl.paper.catalogue import GROUPS

WIDTH = 80
# columns of a check's name; longer ones push the words
NAME = 31
HEADS = {
    "gradients": "largest relative error (exact: rounding)",
    "densities": "total probability",
    "samplers": "Kolmogorov-Smirnov, worst of the choices",
    "divergences": f"{'closed form':>11} {'quadrature':>11} {'Monte Carlo':>12} +- SE",
    "estimators": "mean of the estimates, exact derivative",
    "definitions": "against loops or an identity",
    "errata": f"{'printed':>12} {'right':>11} {'must be':>12}",
}
WORDS = {"ok": "ok", "wrong": "WRONG", "undecided": "UNDECIDED"}


def head(group):
    """Return the line above a group."""
    return f"\n{group:<{NAME + 6}} {HEADS[group]}"


def line(result, verbose=False):
    """Return what is said of one check: a line, and all there is to say if it failed or if asked
    for.
    """
    outcome = result.outcome
    first = f"{WORDS[outcome.verdict]:<5} {result.check.name:<{NAME}} {outcome.words}"
    while len(first) > WIDTH and outcome.ok and ", " in first:
        # a long name costs the last of the words
        first = first.rpartition(", ")[0]
    if outcome.ok and not verbose:
        return first
    lines = [first if len(first) <= WIDTH else first[: WIDTH - 3] + "..."]
    lines += [part for row in outcome.text.splitlines() for part in wrapped(row, 6)]
    return "\n".join(lines)


def wrapped(text, indent):
    """Break a line that is too long, keeping its own indentation and adding ``indent`` columns."""
    own = indent + len(text) - len(text.lstrip())
    return textwrap.wrap(
        text.strip(),
        WIDTH,
        initial_indent=" " * own,
        subsequent_indent=" " * (own + 4),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def notes(verbose=False):
    """Return the editorial remarks on the paper, marked as such."""
    from ibpcl.paper.errata.notes import NOTES

    lines = ["\nnotes                                 editorial: nothing to compute"]
    for note in NOTES:
        lines.append(f"note  {note.name:<{NAME}} {note.head}")
        if verbose:
            lines += wrapped(f"{note.where} (source line {note.line}): {note.words}", 6)
    return "\n".join(lines)


def paper_line(equation, outcomes, verbose=False):
    """Return one equation of the paper with its verdict, and with what proves it if asked for."""
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
    """Return how many equations have which verdict."""
    verdicts = [equation.verdict(outcomes) for equation in equations]
    counts = ", ".join(
        f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)
    )
    return "\n".join(
        [
            "",
            *wrapped(f"{len(equations)} equations, definitions, steps and claims: {counts}", 0),
            f"{len(outcomes)} checks; {seconds:.1f} s",
        ]
    )


class Section(NamedTuple):
    """What the page needs of a check that is no gradient."""

    title: str
    verdict: str
    body: str
    figures: str = ""

    def text(self):
        """Return the text under the title."""
        return self.body


def sections(results):
    """Return what an HTML page shows of each result: the report of a gradient, the text of all
    others.
    """
    found = []
    for result in results:
        outcome = result.outcome
        name = str(result.check)
        if outcome.report is not None:
            outcome.report.title = name
            found.append(outcome.report)
        else:
            columns = (
                HEADS[result.check.group] if result.check.group in ("errata", "divergences") else ""
            )
            body = "\n".join(part for part in (columns, outcome.words, outcome.text) if part)
            found.append(Section(name, outcome.verdict, body))
    return found


def listing(checks):
    """Return the names of all checks by group."""
    lines = []
    for group, words in GROUPS.items():
        names = [check.name for check in checks if check.group == group]
        if names:
            lines += [f"{group} ({len(names)}): {words}", *(f"  {name}" for name in names)]
    return "\n".join(lines)
