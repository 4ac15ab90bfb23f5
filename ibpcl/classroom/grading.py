"""Grading a folder of hand-ins: in parallel, and resumable after an interruption."""

import hashlib
import html
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.feedback.records import COLLECTION, SETTINGS
from ibpcl.classroom.feedback.student_page import LEVELS, feedback
from ibpcl.classroom.intake import collecting
from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.intake.printable import printable_result
from ibpcl.classroom.intake.students import folder_name
from ibpcl.classroom.judging import marking
from ibpcl.classroom.judging.judge import AGAIN, judge
from ibpcl.classroom.judging.running import parallel
from ibpcl.classroom.judging.verdict import Result
from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_bytes, write_json, write_text

ATTEMPTS = ("last", "best")
# Time for one hand-in, loading and judging included, as a multiple of its own time limit.
TIMES = 15


@dataclass(frozen=True)
class Plan:
    """Settings for judging the hand-ins of a class.

    Attributes
    ----------
    folder : str
        Folder of the assignment.
    sandbox : str
        Name of the sandbox that hand-ins run in.
    key : bytes
        The course key.
    mark : str
        Hash of all settings; an earlier result with the same hash is reused.
    out : pathlib.Path
        Folder of the results.
    level : str
        Level of hints.
    scheme : ibpcl.classroom.judging.marking.Marking
        The marking scheme.
    """

    folder: str
    sandbox: str
    key: bytes
    mark: str
    out: Path
    level: str
    scheme: marking.Marking


def grade(
    assignment,
    submissions,
    out,
    sandbox,
    key=variants.PUBLIC,
    level="kind",
    jobs=None,
    show=None,
    platform=None,
    roster=None,
    attempt="last",
    any_variant=False,
    apart=False,
    scheme=None,
):
    """Grade every hand-in of a folder and write results, feedback pages and ``collection.json``.

    An earlier result for the same text, assignment, key, sandbox and level is reused.  A hand-in
    that cannot be read or judged is "not graded", with a reason; the others are graded
    nevertheless.  One that runs out of wall-clock time is judged once more after all others.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    submissions : path-like
        Folder or zip with the hand-ins.
    out : path-like
        Folder for the results, outside ``submissions``.
    sandbox : str
        Name of the sandbox that hand-ins run in, one of :data:`ibpcl.sandbox.boxes.NAMES`.
    key : bytes
        The course key, which decides variants and inputs.
    level : {"none", "kind", "line", "full"}
        How much the feedback reveals.
    jobs : int, optional
        Number of hand-ins judged at the same time; by default the number of processors.
    show : callable, optional
        Called as ``show(done, total, result)`` after each hand-in.
    platform : str, optional
        One of :func:`ibpcl.classroom.intake.platforms.platforms`; guessed by default.
    roster : Roster, optional
        List of the class.
    attempt : {"last", "best"}
        Which of several attempts of a student counts.
    any_variant : bool
        Whether to grade even if most hand-ins have a variant that does not follow from the key.
    apart : bool
        Whether ``jobs=1`` uses a second process rather than this one.
    scheme : ibpcl.classroom.judging.marking.Marking, optional
        The marking scheme; by default, that of the package.

    Returns
    -------
    list of Result
        One result per student, sorted by student.

    Raises
    ------
    UserError
        If an option has an unknown value, ``out`` lies inside ``submissions`` or holds the grades
        of another assignment, or no hand-ins are found.
    """
    if level not in LEVELS:
        raise UserError(f"class: `level` must be one of {', '.join(LEVELS)}, got {level!r}")
    if attempt not in ATTEMPTS:
        raise UserError(f"class: `attempt` must be one of {', '.join(ATTEMPTS)}, got {attempt!r}")
    out = Path(out)
    _refuse_out_inside(out, Path(submissions))
    scheme = scheme or marking.default()
    settings = {
        "assignment": assignment.name,
        "digest": digest(assignment),
        "key": variants.fingerprint(key),
        "level": level,
        "sandbox": sandbox,
        "folder": str(assignment.folder),
        "marking": scheme.rows,
    }
    before = (
        read_json(out / SETTINGS)["assignment"] if (out / SETTINGS).exists() else assignment.name
    )
    if before != assignment.name:
        raise UserError(f"class: {out} holds the grades of {before}: give another `out`")
    collection = collecting.collect(submissions, assignment, key, platform, roster, any_variant)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / SETTINGS, settings)
    write_json(out / COLLECTION, collection.to_dict())
    mark = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:16]
    plan = Plan(str(assignment.folder), sandbox, key, mark, out, level, scheme)
    results = {}
    todo = []
    for collected in collection.found:
        chosen = collected.attempts if attempt == "best" else collected.attempts[-1:]
        earlier = _before(out, collected, chosen, mark)
        if earlier is not None:
            results[collected.student] = earlier
        else:
            todo.append((collected, chosen))
    done = len(results)
    seconds = (
        TIMES * assignment.limits["seconds"] * max((len(chosen) for _, chosen in todo), default=1)
    )
    for is_last in (False, True):
        again = []
        judged = parallel.over(
            partial(_one, plan=plan), todo, jobs, seconds, partial(_failed, plan=plan), apart
        )
        for job, result in zip(todo, judged, strict=True):
            if result.reason.startswith(AGAIN) and not is_last:
                again.append(job)  # judged once more when the others no longer compete
                continue
            results[result.student] = result
            done += 1
            if show:
                show(done, len(collection.found), result)
        todo = again
    return [results[collected.student] for collected in collection.found]


def not_among(out):
    """Return the students whose results come from an earlier run only.

    Parameters
    ----------
    out : path-like
        Folder of results.

    Returns
    -------
    list of str
        Names of the result folders without a hand-in in the last run.
    """
    collection = (
        read_json(Path(out) / COLLECTION) if (Path(out) / COLLECTION).exists() else {"students": []}
    )
    folders = {folder_name(each["student"]) for each in collection["students"]}
    return sorted(
        path.parent.name
        for path in Path(out).glob("*/result.json")
        if path.parent.name not in folders
    )


def digest(assignment):
    """Return a hash of the content of an assignment's folder.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    str
        Sixteen hexadecimal digits, which change with any ``.py``, ``.toml`` or ``.md`` file.
    """
    total = hashlib.sha256()
    for name, path in sorted(assignment.files.items()):
        total.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def _refuse_out_inside(out, submissions):
    """Raise UserError if results would be written among the hand-ins, where the next run would
    read them as hand-ins.
    """
    if out.resolve().is_relative_to(submissions.resolve()):
        raise UserError(
            f"class: `out` {out} is inside the hand-ins in {submissions}: give another folder"
        )


def _one(job, plan):
    """Judge the attempts of one student and return the best of the results."""
    collected, chosen = job
    assignment = find(plan.folder)
    if not chosen:
        return _save(_not_graded(collected, plan, collected.reason), assignment, None, plan)
    results = []
    for each in chosen:
        submissions.remember(each.submission)
        result = judge(
            assignment,
            each.submission,
            plan.sandbox,
            plan.key,
            locate=plan.level in ("line", "full"),
            scheme=plan.scheme,
        )
        result.student = collected.student  # of a group, whose work is judged as its author's
        result.settings = plan.mark
        result.flags += collected.notes
        results.append(result)
    at = max(
        range(len(results)), key=lambda n: (results[n].status == "graded", results[n].score or 0, n)
    )
    if len(results) > 1:
        results[at].notes.append(f"the best of {len(results)} attempts: {chosen[at].name}")
        results[at].attempts = [each.submission.sha256 for each in chosen]
    return _save(results[at], assignment, chosen[at].submission, plan)


def _failed(job, words, plan):
    """Write and return the result of a student whose judge process ended."""
    kind = AGAIN if words == parallel.TOO_LONG else "the judge failed"
    return _save(_not_graded(job[0], plan, f"{kind}: {words}"), find(plan.folder), None, plan)


def _not_graded(collected, plan, reason):
    assignment = find(plan.folder)
    reason = re.sub(r"\bclass: ", "", reason)
    return Result(
        assignment.name,
        collected.student,
        "",
        "",
        "not graded",
        reason,
        settings=plan.mark,
        flags=collected.notes,
    )


def _save(result, assignment, submission, plan):
    """Write the files of a result and return it; a failing page never costs the result."""
    result = printable_result(result)
    folder = plan.out / folder_name(result.student)
    folder.mkdir(exist_ok=True)
    try:
        page = feedback(result, assignment, plan.level, submission.source if submission else "")
    except Exception as error:
        words = f"the page could not be written: {type(error).__name__}: {error}"
        result.flags.append(words)
        page = f"<p>{html.escape(words)}</p>"
    write_text(folder / "feedback.html", page)
    if submission is not None and submission.source:
        write_bytes(folder / "handin.py", submission.source.encode())
    else:
        (folder / "handin.py").unlink(missing_ok=True)
    write_json(
        folder / "result.json", result.to_dict()
    )  # written last: its existence shows that the folder is complete
    return result


def _before(out, collected, chosen, mark):
    """Return the result of an earlier run for the same texts and settings, or None."""
    path = out / folder_name(collected.student) / "result.json"
    if not path.exists() or not chosen:
        return None
    try:
        result = Result.from_dict(read_json(path))
    except (ValueError, KeyError, TypeError):
        return None
    failed = result.status == "not graded" and result.reason.startswith(("the judge failed", AGAIN))
    texts = [each.submission.sha256 for each in chosen]
    same = result.sha256 == texts[0] if len(texts) == 1 else result.attempts == texts
    return (
        result
        if same and not failed and result.settings == mark and result.student == collected.student
        else None
    )
