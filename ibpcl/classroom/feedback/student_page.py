"""The student's page: the verdict on each task, the mistake in words, the code, and hints."""

import functools
import re
from typing import Any, NamedTuple

from markupsafe import Markup

from ibpcl.classroom.feedback import listings
from ibpcl.classroom.feedback.pages import rendered
from ibpcl.classroom.feedback.plain_text import (
    LEVELS,
    STATES,
    lateness,
    lines,
    mend_first,
    points_of,
    sections,
    shown_hints,
    shown_words,
    without_expressions,
)
from ibpcl.classroom.feedback.plain_words import plain_reason
from ibpcl.classroom.feedback.prose import to_html
from ibpcl.classroom.judging.verdict import Verdict

__all__ = [
    "LEVELS",
    "STATES",
    "feedback",
    "lines",
    "mend_first",
    "sections",
    "shown_hints",
    "shown_words",
    "without_expressions",
]
SIGNS = {
    "right": "✓",
    "partial": "◐",
    "wrong": "✗",
    "raises": "✗",
    "missing": "–",
    "not judged": "–",
    "by hand": "…",
    "given by hand": "✎",
}


class Advice(NamedTuple):
    """The advice to correct a forward before its gradient.

    Attributes
    ----------
    forward : str
        Task of the forward.
    task : str
        Task of the gradient.
    inputs : list of str
        Inputs whose gradients fit the student's own forward; empty for all of them.
    """

    forward: str
    task: str
    inputs: list


class Drawings(NamedTuple):
    """The figures of one input.

    Attributes
    ----------
    input : markupsafe.Markup
        Name of the input; may be empty.
    drawings : list of markupsafe.Markup
        SVG.
    """

    input: Markup
    drawings: list


class TaskView(NamedTuple):
    """One task, as the page shows it.

    Attributes
    ----------
    verdict : Verdict
        The verdict on the task.
    css, sign, state : str
        CSS class, sign and words of the verdict's state.
    earned : str
        The points; empty if a person has yet to give them.
    first : Advice or None
        The forward to correct first.
    sentences, hints : list of str
        Sentences that the level allows; code stands between backticks.
    examples : list of dict
        Wrong entries, as in :attr:`ibpcl.classroom.judging.verdict.Part.example`.
    derivation : markupsafe.Markup
        The written derivation; may be empty.
    listings : list of ibpcl.classroom.feedback.listings.Listing
        The functions of the task.
    code_open : bool
        Whether the listings are unfolded.
    asked : markupsafe.Markup
        Section of the statement; may be empty.
    figures : list of Drawings
        Figures of a public gradient.
    figures_open : bool
        Whether the figures are unfolded.
    """

    verdict: Verdict
    css: str
    sign: str
    state: str
    earned: str
    first: Any
    sentences: list
    hints: list
    examples: list
    derivation: Markup
    listings: list
    code_open: bool
    asked: Markup
    figures: list
    figures_open: bool


def feedback(result, assignment, level="kind", source="", name=""):
    """Return the feedback page of one hand-in.

    Parameters
    ----------
    result : Result
        The result of the hand-in.
    assignment : Assignment
        The assignment.
    level : {"none", "kind", "line", "full"}
        Level of hints.
    source : str
        The text that was judged; without it the page shows no code.
    name : str
        Name of the student in the title; by default the id.

    Returns
    -------
    str
        HTML.
    """
    name = name or result.student
    first = mend_first(result, assignment)
    asked = sections(assignment.statement(result.variant)) if result.status == "graded" else {}
    views = [
        _view(
            verdict, assignment, asked.get(verdict.task, ""), level, source, first.get(verdict.task)
        )
        for verdict in result.verdicts
    ]
    return rendered(
        "feedback.html",
        title=f"{assignment.title}: {name}",
        name=name,
        assignment=assignment,
        result=result,
        reason=plain_reason(result.reason),
        late=lateness(result) if result.deduction else "",
        overview=_overview(result, first),
        views=views,
        variant=assignment.variants.get(result.variant, result.variant),
    )


@functools.lru_cache(maxsize=128)
def _asked(text):
    """Return a section of the statement as HTML; the pages of a class share it."""
    return Markup(to_html(text))


def _overview(result, first):
    """Return the advice above all tasks: gradients that need no other work than the forward's."""
    needless = {
        verdict.task
        for verdict in result.verdicts
        if all(part.follows or part.kind == "ok" for part in verdict.parts)
    }
    return [Advice(forward, task, []) for task, (forward, _) in first.items() if task in needless]


def _view(verdict, assignment, asked, level, source, first):
    """Return one task as the page shows it."""
    sentences = [] if verdict.state == "right" else shown_words(verdict, level)
    hints = shown_hints(verdict, level)
    advice = None
    if first and level != "none":
        forward, inputs = first
        sentences = [line for line in sentences if line.split(":")[0] not in inputs]
        wrong = sum(part.kind != "ok" for part in verdict.parts)
        advice = Advice(forward, verdict.task, inputs if len(inputs) < wrong else [])
    names = [part.name for part in verdict.parts]
    by_person = verdict.state in ("by hand", "given by hand")
    marked = listings.marked_lines([*sentences, *hints])
    return TaskView(
        verdict=verdict,
        css=verdict.state.replace(" ", "-"),
        sign=SIGNS[verdict.state],
        state=STATES[verdict.state],
        earned="" if verdict.pending else points_of(verdict.points, verdict.most),
        first=advice,
        sentences=[] if by_person else sentences,
        hints=[_sentence(hint, names) for hint in hints],
        examples=_examples(verdict, level),
        derivation=_derivation(verdict),
        listings=_listings(verdict, assignment, source, marked),
        code_open=verdict.state not in ("right", "missing", "not judged"),
        asked=_asked(asked) if asked else Markup(),
        figures=_figures(verdict),
        figures_open=verdict.state in ("wrong", "partial"),
    )


def _derivation(verdict):
    """Return the written derivation as HTML; :func:`to_html` escapes the student's text."""
    text = verdict.details[0] if verdict.kind == "text" and verdict.details else ""
    return Markup(to_html(text, keep_lines=True)) if text.strip() else Markup()


def _listings(verdict, assignment, source, marked):
    """Return the functions of a task."""
    if verdict.kind == "text":
        return []
    task = next((task for task in assignment.tasks if task.id == verdict.task), None)
    names = [task.function] if task is not None else []
    names += [f"{name}_vjp" for name in names if task.kind == "extremes" and task.wrt]
    names += [f"proof_{verdict.task}"] if verdict.kind == "referee" else []
    return listings.listings(source, names, marked)


def _examples(verdict, level):
    """Return one wrong entry of each part."""
    if level == "none" or verdict.visibility != "public":
        return []
    return [part.example for part in verdict.parts if part.example]


def _figures(verdict):
    """Return the figures of a public gradient, those of each input below its name.

    The judge makes headings and figures itself, and escapes the names in them.
    """
    if verdict.visibility != "public":
        return []
    groups = []
    for figure in verdict.figures:
        if figure.startswith("<h3>"):
            groups.append(Drawings(Markup(figure[len("<h3>") : -len("</h3>")]), []))
            continue
        if not groups:
            groups.append(Drawings(Markup(), []))
        groups[-1].drawings.append(Markup(figure))
    return groups


def _sentence(hint, names=()):
    """Return a hint that begins with a capital letter, unless with a name, and ends with a stop.

    >>> _sentence("look for a minus"), _sentence("d(-x) = -dx"), _sentence("mu is twice", ["mu"])
    ('Look for a minus.', 'd(-x) = -dx.', 'mu is twice.')
    """
    first = hint.split(" ", 1)[0]
    hint = hint[0].upper() + hint[1:] if first.isalpha() and first not in names else hint
    return (
        hint
        if hint.endswith((".", "?", "!", ":")) or re.search(r"line \d+ of ", hint)
        else hint + "."
    )
