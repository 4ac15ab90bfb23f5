"""Points in the formats of other systems.

===========  =====================================================================================================
format       what is written
===========  =====================================================================================================
csv          one table with nbgrader's columns
moodle       one grading worksheet
gradescope   ``STUDENT/results.json``
classroom50  ``STUDENT/result.json``, schema ``classroom50/result/v1``
autolab      ``STUDENT.json``: the line that an autograder prints last
prairielearn ``STUDENT/results.json``, scores from 0 to 1
===========  =====================================================================================================

A hand-in that is not graded has no score in any of them: an empty cell, or no ``score``.  Points that are given by
hand are in none of them; the systems have places of their own for these.
"""

import csv
import io
from pathlib import Path

from ibpcl.classroom.classpage import safe
from ibpcl.classroom.feedback import STATES, lines, shown_hints, shown_words
from ibpcl.errors import UserError
from ibpcl.storage import json_text, read_text, write_text

ROSTER = ("last_name", "first_name", "email", "identifier", "username")


def write(results, assignment, system, out, roster=None, level="kind"):
    """Write the points of a class for a system and return the path.

    Parameters
    ----------
    results : list of Result
    assignment : Assignment
    system : str
        One of the formats above.
    out : path
        A file for ``csv`` and ``moodle``, otherwise a folder.
    roster : path, optional
        CSV with a column ``student_id`` and any of ``last_name, first_name, email, identifier, username``.
    level : str
        Of the hints.
    """
    people, out = read_roster(roster), Path(out)
    if system in ("csv", "moodle"):
        out = out if out.suffix else out.with_suffix(".csv")
        table = {"csv": nbgrader, "moodle": moodle}[system](results, assignment, people)
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerows(table)
        write_text(out, text.getvalue())
        return out
    made = {"gradescope": (gradescope, "results.json"), "classroom50": (classroom50, "result.json"),
            "autolab": (autolab, ""), "prairielearn": (prairielearn, "results.json")}
    function, name = made[system]
    for result in results:
        path = out / result.student / name if name else out / f"{result.student}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json_text(function(result, assignment, level), indent=1 if name else None) + "\n")
    return out


def read_roster(path):
    """Return {student id: {column: value}}; empty without a roster."""
    if path is None:
        return {}
    rows = list(csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline="")))
    if not rows or "student_id" not in rows[0]:
        raise UserError(f"class: {path} must have a column student_id, and may have {', '.join(ROSTER)}")
    return {row["student_id"]: row for row in rows}


def nbgrader(results, assignment, people):
    """Return a table with the columns of nbgrader's export."""
    rows = [["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
             "late_submission_penalty", "score", "max_score"]]
    for result in results:
        person, score = people.get(result.student, {}), "" if result.score is None else result.score
        names = [safe(person.get(key) or "") for key in ROSTER[:3]]
        rows.append([assignment.name, "", "", safe(result.student), *names, score, 0.0, score,
                     _most(result, assignment)])
    return rows


def moodle(results, assignment, people):
    """Return Moodle's grading worksheet."""
    rows = [["Identifier", "Full name", "Username", "Status", "Grade", "Maximum grade"]]
    for result in results:
        person = people.get(result.student, {})
        name = f"{person.get('first_name') or ''} {person.get('last_name') or ''}".strip()
        status = "Graded" if result.status == "graded" else "Submitted for grading"
        rows.append([safe(person.get("identifier") or result.student), safe(name),
                     safe(person.get("username") or result.student), status,
                     "" if result.score is None else result.score, _most(result, assignment)])
    return rows


def gradescope(result, assignment, level="kind"):
    """Return the content of Gradescope's ``results.json``.

    Every test is visible, since one hidden test would hide the total; hidden tasks show no numbers anyway.
    """
    told = lines(result, level)
    if result.status != "graded":
        return {"output": told[0], "output_format": "text", "visibility": "visible", "stdout_visibility": "hidden",
                "extra_data": {"status": result.status, "reason": result.reason}}
    tests = [{"score": verdict.points, "max_score": verdict.most, "number": verdict.task, "name": verdict.title,
              "status": "passed" if verdict.state == "right" else "failed", "output": _output(verdict, level),
              "output_format": "text", "visibility": "visible"}
             for verdict in result.verdicts if not verdict.pending]
    return {"score": result.score, "execution_time": result.seconds, "output": told[-1], "output_format": "text",
            "visibility": "visible", "stdout_visibility": "hidden", "tests": tests,
            "extra_data": {"status": result.status, "form": result.form, "sha256": result.sha256,
                           "flags": list(result.flags)}}


def classroom50(result, assignment, level="kind", **about):
    """Return the content of Classroom 50's ``result.json``; ``about`` has what only its runner knows."""
    known = {key: about.get(key, "") for key in ("classroom", "submission", "commit", "release", "review", "datetime")}
    table = {"schema": "classroom50/result/v1", "classroom": known.pop("classroom"), "assignment": assignment.name,
             **known, "max-score": _most(result, assignment),
             "tests": [{"test-name": f"{verdict.task} {verdict.title}", "passed": verdict.state == "right",
                        "score": verdict.points, "max-score": verdict.most}
                       for verdict in result.verdicts if not verdict.pending]}
    return table if result.score is None else {**table, "score": result.score}


def autolab(result, assignment, level="kind"):
    """Return what an Autolab grader prints in its last line."""
    if result.status != "graded":
        return {"scores": {}, "scoreboard": []}
    return {"scores": {f"{verdict.task} {verdict.title}": verdict.points for verdict in result.verdicts
                       if not verdict.pending}, "scoreboard": [result.score]}


def prairielearn(result, assignment, level="kind"):
    """Return the content of PrairieLearn's ``results.json``; what is not graded is not gradable there."""
    told = lines(result, level)
    if result.status != "graded":
        return {"gradable": False, "message": told[0], "format_errors": [told[0]]}
    return {"gradable": True, "score": result.score / result.most if result.most else 0.0, "message": told[-1],
            "output": "\n".join(told), "tests": [{"name": f"{verdict.task} {verdict.title}", "points": verdict.points,
                                                 "max_points": verdict.most, "message": STATES[verdict.state],
                                                 "output": _output(verdict, level)}
                                                for verdict in result.verdicts if not verdict.pending]}


def _output(verdict, level):
    """Return words and hints of a task as text."""
    return "\n".join([*shown_words(verdict, level), *(f"hint: {hint}" for hint in shown_hints(verdict, level))])


def _most(result, assignment):
    """Return the points that could be had without those given by hand; of what is not graded, from the assignment."""
    by_hand = sum(task.points for task in assignment.tasks if task.kind == "text")
    return result.most if result.status == "graded" else assignment.points - by_hand
