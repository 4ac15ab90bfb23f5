"""The self-test of an assignment: checks stub, reference, planted mistakes and texts.

The stub must earn nothing and the reference everything, planted mistakes must be detected and
named, and the statement must agree with ``assignment.toml``.
"""

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.assignments.mistakes import mistakes, planted
from ibpcl.classroom.authoring import statement_check
from ibpcl.classroom.authoring.handout import blank
from ibpcl.classroom.intake.submission import Submission
from ibpcl.classroom.judging import referee
from ibpcl.classroom.judging.gradients import judge_gradient
from ibpcl.classroom.judging.judge import Case, judge
from ibpcl.classroom.judging.running import parallel
from ibpcl.classroom.judging.running.session import Session
from ibpcl.classroom.judging.verdict import Verdict

STUDENT = "selftest"
KEY = b"the gate of the kit"
NAMED_AT_LEAST = 0.9


@dataclass
class Outcome:
    """The outcome of one check.

    Attributes
    ----------
    label : str
        Name of the check.
    ok : bool
        Whether it passed.
    words : str
        Description of the outcome.
    named : bool or None
        For a planted mistake, whether the judge reported one of its kinds.
    """

    label: str
    ok: bool
    words: str
    named: bool | None = None


def cases(assignment):
    """Return the checks of an assignment.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    list of (str, str or int)
        ``("stub", variant)`` and ``("reference", variant)`` for each variant,
        ``("mistake", number)`` for each
        planted mistake, and ``("statement", "")``.
    """
    return [
        *((what, variant) for variant in assignment.variants for what in ("stub", "reference")),
        *(("mistake", at) for at in range(len(mistakes(assignment)))),
        ("statement", ""),
    ]


def run(assignment, sandbox, jobs=None):
    """Run the checks of an assignment.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    sandbox : str
        Name of the sandbox that hand-ins run in.
    jobs : int, optional
        Number of processes; by default the number of processors.

    Yields
    ------
    Outcome
        The outcome of each check, in the order of :func:`cases`.
    """
    yield from parallel.over(
        partial(outcome, folder=str(assignment.folder), sandbox=sandbox), cases(assignment), jobs
    )


def outcome(case, folder, sandbox):
    """Run one check.

    Parameters
    ----------
    case : tuple
        One of :func:`cases`.
    folder : str
        Folder of the assignment.
    sandbox : str
        Name of the sandbox that hand-ins run in.

    Returns
    -------
    Outcome
    """
    assignment = find(folder)
    what, which = case
    if what == "statement":
        problems = statement_check.problems(assignment)
        return Outcome(
            "statement and variants",
            not problems,
            "; ".join(problems) or "agree with assignment.toml",
        )
    full = assignment.points - sum(task.points for task in assignment.tasks if task.kind == "text")
    if what == "mistake":
        mistake = mistakes(assignment)[which]
        return (
            _exhibited(assignment, mistake, sandbox)
            if "function" in mistake
            else _planted(assignment, mistake, sandbox, full)
        )
    text = (
        blank(assignment, which, STUDENT, KEY)
        if what == "stub"
        else solution(assignment, which, KEY)
    )
    result = judge(assignment, submission_of(assignment, text), sandbox, KEY, which, figures=False)
    return Outcome(
        f"{what}, {which}", result.score == (0 if what == "stub" else full), _earned(result)
    )


def solution(assignment, variant="base", key=variants.PUBLIC, student=STUDENT):
    """Return the solution of an assignment, which earns full points.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.
    key : bytes
        The course key, which selects the exhibits of a referee.
    student : str
        Id of the student, for the same purpose.

    Returns
    -------
    str
        Python text: the reference; for a referee, also the answers and proofs.
    """
    text = assignment.source(variant)
    if not referee.tasks_of(assignment):
        return text
    mistakes = referee.chosen(assignment, key, student)
    _, lines = referee.exhibits(assignment, mistakes, key, student)
    text, _ = referee.exhibits(assignment, mistakes, key, student, mended=True)
    answers = {
        task: {"kind": mistake["kinds"][0], "line": lines[task]}
        for task, mistake in mistakes.items()
    }
    text += f"\n\nfrom numpy import array\n\nANSWERS = {answers!r}\n"
    for task, mistake in mistakes.items():
        rng = variants.generator(key, student, "proof", task)
        inputs = assignment.maker(mistake["inputs"])(rng, "small")
        out, _ = getattr(assignment.reference(variant), mistake["function"])(*inputs.values())
        dout = [
            rng.standard_normal(np.shape(part))
            for part in (out if isinstance(out, tuple) else (out,))
        ]
        dout = tuple(dout) if isinstance(out, tuple) else dout[0]
        with np.printoptions(threshold=10**6, precision=17):
            text += f"\n\ndef proof_{task}():\n    return {tuple(inputs.values())!r}, {dout!r}\n"
    return text


def submission_of(assignment, source, student=STUDENT):
    """Return a text as a hand-in.

    Parameters
    ----------
    assignment : Assignment
        The assignment, which gives the name of the file.
    source : str
        Python text.
    student : str
        Id of the student.

    Returns
    -------
    Submission
    """
    return Submission(
        student,
        Path(assignment.file),
        assignment.file,
        source,
        hashlib.sha256(source.encode()).hexdigest(),
    )


def _planted(assignment, mistake, sandbox, full):
    variant = mistake.get("variant", "base")
    result = judge(
        assignment,
        submission_of(assignment, planted(assignment, mistake)),
        sandbox,
        KEY,
        variant,
        figures=False,
    )
    kinds = {
        part.kind
        for verdict in result.verdicts
        if verdict.task == mistake["task"]
        for part in verdict.parts
    }
    words = " ".join(w for v in result.verdicts if v.task == mistake["task"] for w in v.words)
    if "says" in mistake:
        named = mistake["says"] in words
    else:
        named = not mistake.get("named", True) or bool(kinds & set(mistake["kinds"]))
    reported = ", ".join(sorted(kinds - {"ok"})) or words or "nothing"
    caught = result.status == "graded" and result.score < full
    return Outcome(
        mistake["label"],
        caught,
        f"{_earned(result)}; task {mistake['task']}: {reported}"
        + ("" if named else f", not {mistake.get('says') or ' or '.join(mistake['kinds'])}"),
        named,
    )


def _exhibited(assignment, mistake, sandbox):
    """Judge one planted pair of the bank as an ordinary gradient."""
    task = referee.gradient_task(referee.tasks_of(assignment)[0], mistake)
    text, _ = referee.exhibits(assignment, {task.id: mistake})
    submission = submission_of(assignment, text)
    verdict = Verdict.of(task)
    session = Session(submission, assignment, sandbox)
    try:
        judge_gradient(task, verdict, Case(assignment, submission, KEY, "base", session, False))
    finally:
        session.close()
    kinds = {part.kind for part in verdict.parts}
    named = bool(kinds & set(mistake["kinds"]))
    reported = ", ".join(sorted(kinds - {"ok"})) or "nothing"
    return Outcome(
        mistake["label"],
        verdict.state != "right",
        f"{mistake['function']}: {reported}"
        + ("" if named else f", not {' or '.join(mistake['kinds'])}"),
        named,
    )


def _earned(result):
    return result.reason if result.status != "graded" else f"{result.score:g} points"
