"""The gate of an assignment: the stub earns nothing, the reference everything, planted mistakes are seen and named."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ibpcl.classroom.handin import HandIn
from ibpcl.classroom.judge import judge
from ibpcl.classroom.stubs import stub
from ibpcl.errors import UserError
from ibpcl.storage import read_toml

NAMED_AT_LEAST = 0.9


@dataclass
class Outcome:
    """What one hand-in of the gate earned, and whether that is as it must be."""

    label: str
    ok: bool
    words: str
    named: bool | None = None


def mistakes(assignment):
    """Return the planted mistakes of an assignment, as its ``mistakes.toml`` lists them."""
    path = assignment.folder / "mistakes.toml"
    return read_toml(path).get("mistake", []) if path.exists() else []


def run(assignment, box, key=b"the gate of the kit"):
    """Yield an :class:`Outcome` for the stub, the reference in every form, and every planted mistake."""
    full = assignment.points - sum(task.points for task in assignment.tasks if task.kind == "text")
    for form in assignment.forms:
        result = judge(assignment, hand_in(assignment, stub(assignment, form)), box, key, form, figures=False)
        yield Outcome(f"stub, {form}", result.score == 0, _earned(result))
        result = judge(assignment, hand_in(assignment, solution(assignment, form)), box, key, form, figures=False)
        yield Outcome(f"reference, {form}", result.score == full, _earned(result))
    for mistake in mistakes(assignment):
        yield _planted(assignment, mistake, box, key, full)


def solution(assignment, form):
    """Return the hand-in that the selftest expects full points for: the reference, and what it needs beside it."""
    return assignment.source(form)


def planted(assignment, mistake):
    """Return the reference with one mistake planted.

    Raises
    ------
    UserError
        If the text to replace does not occur exactly once.
    """
    source = assignment.source(mistake.get("form", "base"))
    if (count := source.count(mistake["replace"])) != 1:
        raise UserError(f"class: {assignment.name}: mistake {mistake['label']!r}: its text occurs {count} times, not once")
    return source.replace(mistake["replace"], mistake["by"])


def hand_in(assignment, source, student="selftest"):
    """Return a text as a hand-in."""
    return HandIn(student, Path(assignment.file), assignment.file, source, hashlib.sha256(source.encode()).hexdigest())


def _planted(assignment, mistake, box, key, full):
    form = mistake.get("form", "base")
    result = judge(assignment, hand_in(assignment, planted(assignment, mistake)), box, key, form, figures=False)
    kinds = {part.kind for verdict in result.verdicts if verdict.task == mistake["task"] for part in verdict.parts}
    named = bool(kinds & set(mistake["kinds"]))
    told = ", ".join(sorted(kinds - {"ok"})) or "nothing"
    caught = result.status == "graded" and result.score < full
    return Outcome(mistake["label"], caught, f"{_earned(result)}; task {mistake['task']}: {told}"
                   + ("" if named else f", not {' or '.join(mistake['kinds'])}"), named)


def _earned(result):
    return result.reason if result.status != "graded" else f"{result.score:g} points"
