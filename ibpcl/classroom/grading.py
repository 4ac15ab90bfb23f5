"""Grade a folder of hand-ins: in parallel, and going on where it was interrupted."""

import hashlib
import html
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ibpcl.classroom import collecting, parallel, variants
from ibpcl.classroom import handin as handins
from ibpcl.classroom.assignment import find
from ibpcl.classroom.feedback import LEVELS, feedback
from ibpcl.classroom.judge import judge
from ibpcl.classroom.printable import printable_result
from ibpcl.classroom.records import COLLECTION, SETTINGS
from ibpcl.classroom.students import folder_name
from ibpcl.classroom.verdict import Result
from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_bytes, write_json, write_text

ATTEMPTS = ("last", "best")
# the time for one hand-in, loading and judging included, in times of its own limit
TIMES = 10


@dataclass(frozen=True)
class Plan:
    """How every hand-in of a class is judged.

    Attributes
    ----------
    folder : str
        Of the assignment.
    box : str
    key : bytes
    mark : str
        Short name of all settings; a result with the same one is kept.
    out : pathlib.Path
    level : str
        Of the hints.
    """

    folder: str
    box: str
    key: bytes
    mark: str
    out: Path
    level: str


def grade(
    assignment,
    submissions,
    out,
    box,
    key=variants.PUBLIC,
    level="kind",
    jobs=None,
    show=None,
    platform=None,
    roster=None,
    attempt="last",
    any_form=False,
    apart=False,
):
    """Grade every hand-in of a folder and write results, feedback pages and ``collection.json``.

    Results that are there for the same text, assignment, key, box and level are kept.  A hand-in
    that cannot be read or judged is "not graded" and has a reason; the others are graded all the
    same.

    Parameters
    ----------
    assignment : Assignment
    submissions, out : path
    box : str
    key : bytes
    level : {"none", "kind", "line", "full"}
        How much the feedback gives away.
    jobs : int, optional
        Hand-ins at the same time; by default as many as there are processors.
    show : callable, optional
        ``show(done, total, result)`` after each.
    platform : str, optional
        One of :data:`ibpcl.classroom.platforms.PLATFORMS`; guessed if not given.
    roster : Roster, optional
    attempt : {"last", "best"}
        Which of several attempts of a student counts.
    any_form : bool
        Grade even if most hand-ins have a form that the key does not give.
    apart : bool
        Whether ``jobs=1`` means one other process, and not this one.

    Returns
    -------
    list of Result
        By student.
    """
    if level not in LEVELS:
        raise UserError(f"class: --hints must be one of {', '.join(LEVELS)}, got {level!r}")
    if attempt not in ATTEMPTS:
        raise UserError(f"class: --attempt must be one of {', '.join(ATTEMPTS)}, got {attempt!r}")
    out = Path(out)
    _refuse_out_inside(out, Path(submissions))
    settings = {
        "assignment": assignment.name,
        "digest": digest(assignment),
        "key": variants.fingerprint(key),
        "level": level,
        "box": box,
        "folder": str(assignment.folder),
    }
    before = (
        read_json(out / SETTINGS)["assignment"] if (out / SETTINGS).exists() else assignment.name
    )
    if before != assignment.name:
        raise UserError(f"class: {out} holds the grades of {before}: give another --out")
    collection = collecting.collect(submissions, assignment, key, platform, roster, any_form)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / SETTINGS, settings)
    write_json(out / COLLECTION, collection.to_dict())
    mark = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:16]
    plan = Plan(str(assignment.folder), box, key, mark, out, level)
    results = {}
    todo = []
    for found in collection.found:
        chosen = found.attempts if attempt == "best" else found.attempts[-1:]
        kept = _before(out, found, chosen, mark)
        if kept is not None:
            results[found.student] = kept
        else:
            todo.append((found, chosen))
    done = len(results)
    seconds = (
        TIMES * assignment.limits["seconds"] * max((len(chosen) for _, chosen in todo), default=1)
    )
    for result in parallel.over(
        partial(_one, plan=plan), todo, jobs, seconds, partial(_failed, plan=plan), apart
    ):
        results[result.student] = result
        done += 1
        if show:
            show(done, len(collection.found), result)
    return [results[found.student] for found in collection.found]


def collect(folder, **options):
    """Return the hand-ins of a folder as {student: path of the file that counts}.

    Parameters
    ----------
    folder : path
    **options
        Of :func:`ibpcl.classroom.collecting.collect`.
    """
    found = collecting.collect(folder, **options).found
    return {
        each.student: each.attempts[-1].handin.path if each.attempts else Path(folder, each.origin)
        for each in found
    }


def not_among(out):
    """Return the students whose results are in a folder, but whose hand-ins the last run did not
    find.
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
    """Return a short name for the content of an assignment's folder: another one after any
    change.
    """
    total = hashlib.sha256()
    for path in sorted(assignment.folder.rglob("*")):
        if path.suffix in (".py", ".toml", ".md") and path.is_file():
            total.update(
                str(path.relative_to(assignment.folder)).encode()
                + b"\0"
                + path.read_bytes()
                + b"\0"
            )
    return total.hexdigest()[:16]


def _refuse_out_inside(out, submissions):
    """Raise if results would be written among the hand-ins, where the next run would take them for
    some.
    """
    if out.resolve().is_relative_to(submissions.resolve()):
        raise UserError(
            f"class: --out {out} is inside the hand-ins in {submissions}: give another folder"
        )


def _one(job, plan):
    """Judge the attempts of one student and return the best of the results."""
    found, chosen = job
    assignment = find(plan.folder)
    if not chosen:
        return _save(_not_graded(found, plan, found.reason), assignment, None, plan)
    results = []
    for each in chosen:
        handins.remember(each.handin)
        result = judge(
            assignment, each.handin, plan.box, plan.key, locate=plan.level in ("line", "full")
        )
        result.settings = plan.mark
        result.flags += found.notes
        results.append(result)
    at = max(
        range(len(results)), key=lambda n: (results[n].status == "graded", results[n].score or 0, n)
    )
    if len(results) > 1:
        results[at].notes.append(f"the best of {len(results)} attempts: {chosen[at].name}")
        results[at].attempts = [each.handin.sha256 for each in chosen]
    return _save(results[at], assignment, chosen[at].handin, plan)


def _failed(job, words, plan):
    """Return, and write, the result of a student whose judge ended."""
    return _save(
        _not_graded(job[0], plan, f"the judge failed: {words}"), find(plan.folder), None, plan
    )


def _not_graded(found, plan, reason):
    assignment = find(plan.folder)
    reason = re.sub(r"\bclass: ", "", reason)
    return Result(
        assignment.name,
        found.student,
        "",
        "",
        "not graded",
        reason,
        settings=plan.mark,
        flags=found.notes,
    )


def _save(result, assignment, handin, plan):
    """Write what belongs to a result; a page that cannot be made never costs the result."""
    result = printable_result(result)
    folder = plan.out / folder_name(result.student)
    folder.mkdir(exist_ok=True)
    try:
        page = feedback(result, assignment, plan.level, handin.source if handin else "")
    except Exception as error:
        words = f"the page could not be written: {type(error).__name__}: {error}"
        result.flags.append(words)
        page = f"<p>{html.escape(words)}</p>"
    write_text(folder / "feedback.html", page)
    if handin is not None and handin.source:
        write_bytes(folder / "handin.py", handin.source.encode())
    else:
        (folder / "handin.py").unlink(missing_ok=True)
    write_json(folder / "result.json", result.to_dict())  # last: what is there is whole
    return result


def _before(out, found, chosen, mark):
    """Return the result of an earlier run for the same texts and settings, None if there is
    none.
    """
    path = out / folder_name(found.student) / "result.json"
    if not path.exists() or not chosen:
        return None
    try:
        result = Result.from_dict(read_json(path))
    except (ValueError, KeyError, TypeError):
        return None
    failed = result.status == "not graded" and result.reason.startswith("the judge failed")
    texts = [each.handin.sha256 for each in chosen]
    same = result.sha256 == texts[0] if len(texts) == 1 else result.attempts == texts
    return (
        result
        if same and not failed and result.settings == mark and result.student == found.student
        else None
    )
