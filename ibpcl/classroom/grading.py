"""Grade a folder of hand-ins: in parallel, and going on where it was interrupted."""

import hashlib
import re
from functools import partial
from pathlib import Path

from ibpcl.classroom import handin as handins
from ibpcl.classroom import parallel, variants
from ibpcl.classroom.assignment import find
from ibpcl.classroom.feedback import LEVELS, feedback
from ibpcl.classroom.handin import HandIn
from ibpcl.classroom.judge import judge
from ibpcl.classroom.records import SETTINGS
from ibpcl.classroom.verdict import Result
from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_bytes, write_json, write_text


def collect_one(folder):
    """Return the one hand-in in a folder: the newest, where there are several.

    Raises
    ------
    UserError
        If there is none.
    """
    inside = [path for path in Path(folder).rglob("*") if path.suffix in handins.SUFFIXES and path.is_file()
              and not path.is_symlink() and not path.name.startswith((".", "test_"))]
    if not inside:
        raise UserError(f"class: there is no hand-in ({', '.join(handins.SUFFIXES)})")
    return max(inside, key=lambda path: (path.stat().st_mtime, path.name))


def collect(folder):
    """Return the hand-ins of a folder as {student: path}.

    A file's student is its name without suffix; a folder's is the folder's name, which then holds one hand-in (the
    newest, where there are several).  Links are not followed.

    Raises
    ------
    UserError
        If the folder is not there, or two hand-ins have the same student.
    """
    folder, found = Path(folder), {}
    if not folder.is_dir():
        raise UserError(f"class: there is no folder {folder}")
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")) or path.is_symlink():
            continue
        if not path.is_dir() and path.suffix not in handins.SUFFIXES:
            continue
        student = re.sub(r"[^\w@.+-]", "_", path.name if path.is_dir() else path.stem)
        if student in found:
            raise UserError(f"class: {found[student]} and {path} are both of student {student!r}")
        found[student] = path
    if not found:
        raise UserError(f"class: {folder} has no hand-in ({', '.join(handins.SUFFIXES)})")
    return found


def grade(assignment, submissions, out, box, key=variants.PUBLIC, level="kind", jobs=None, show=None):
    """Grade every hand-in of a folder and write results, feedback pages and the class page.

    Results that are there for the same text, assignment, key, box and level are kept.

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

    Returns
    -------
    list of Result
        By student.
    """
    if level not in LEVELS:
        raise UserError(f"class: --hints must be one of {', '.join(LEVELS)}, got {level!r}")
    out, found = Path(out), collect(submissions)
    settings = {"assignment": assignment.name, "digest": digest(assignment), "key": variants.fingerprint(key),
                "level": level, "box": box, "folder": str(assignment.folder)}
    before = read_json(out / SETTINGS)["assignment"] if (out / SETTINGS).exists() else assignment.name
    if before != assignment.name:
        raise UserError(f"class: {out} holds the grades of {before}: give another --out")
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / SETTINGS, settings)
    mark = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:16]
    results, todo = {}, []
    for student, path in found.items():
        try:
            handin = handins.read(collect_one(path) if path.is_dir() else path, student)
        except UserError as error:
            handin = HandIn(student, path, path.name, "", "")
            results[student] = _save(Result(assignment.name, student, "", "", "not graded", str(error), settings=mark),
                                     assignment, handin, out, level)
            continue
        before = _before(out, student, handin, mark)
        if before is not None:
            results[student] = before
        else:
            todo.append(handin)
    done = len(results)
    one = partial(_one, folder=str(assignment.folder), box=box, key=key, mark=mark, out=out, level=level)
    for result in parallel.over(one, todo, jobs):
        results[result.student] = result
        done += 1
        if show:
            show(done, len(found), result)
    return [results[student] for student in found]


def digest(assignment):
    """Return a short name for the content of an assignment's folder: another one after any change."""
    total = hashlib.sha256()
    for path in sorted(assignment.folder.rglob("*")):
        if path.suffix in (".py", ".toml", ".md") and path.is_file():
            total.update(str(path.relative_to(assignment.folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def _one(handin, folder, box, key, mark, out, level):
    assignment = find(folder)
    result = judge(assignment, handin, box, key, locate=level in ("line", "full"))
    result.settings = mark
    return _save(result, assignment, handin, out, level)


def _save(result, assignment, handin, out, level):
    folder = out / result.student
    folder.mkdir(exist_ok=True)
    write_text(folder / "feedback.html", feedback(result, assignment, level, handin.source))
    if handin.source:
        write_bytes(folder / "handin.py", handin.source.encode())
    write_json(folder / "result.json", result.to_dict())   # last: what is there is whole
    return result


def _before(out, student, handin, mark):
    path = out / student / "result.json"
    if not path.exists():
        return None
    try:
        result = Result.from_dict(read_json(path))
    except (ValueError, KeyError, TypeError):
        return None
    failed = result.status == "not graded" and result.reason.startswith("the judge failed")
    return None if failed or (result.sha256, result.settings) != (handin.sha256, mark) else result
