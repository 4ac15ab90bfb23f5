"""Points in the formats of other systems.

============  ====================================================================================
format        output
============  ====================================================================================
csv           one table with nbgrader's columns
moodle        Moodle's grading worksheet, filled in; without it, a new worksheet
canvas        Canvas's gradebook, filled in
blackboard    the table of Blackboard's Grade Center, filled in
brightspace   Brightspace's export of grades, filled in; without it, a new table
gradescope    ``STUDENT/results.json``
============  ====================================================================================

All students have the same maximum, that of the assignment.  A hand-in that is not graded has an
empty cell, or no ``score``.  Points that a person has not given yet count as 0.
"""

from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom.feedback import worksheets
from ibpcl.classroom.feedback.plain_text import lines, shown_hints, shown_words
from ibpcl.classroom.feedback.tables import cell, points_text, write_csv
from ibpcl.classroom.intake.students import Roster, folder_name
from ibpcl.errors import UserError
from ibpcl.storage import json_text, write_text

NEEDS_TABLE = {
    "canvas": "the gradebook (Grades, Export)",
    "blackboard": "the table of the Grade Center (Work Offline, Download)",
}
TABLES = ("csv", "moodle", "canvas", "blackboard", "brightspace")
FORMATS = (*TABLES, "gradescope")


class Written(NamedTuple):
    """The outcome of an export.

    Attributes
    ----------
    path : pathlib.Path
        The file or folder that was written.
    notes : list of str
        Notes, such as the students who could not be matched; one line each.
    complete : bool
        Whether it contains the points of all students.
    filled : ibpcl.classroom.feedback.worksheets.Filled or None
        The platform's table, if one was filled in.
    """

    path: Path
    notes: list
    complete: bool = True
    filled: object = None


def write(results, assignment, system, out, roster=None, level="kind", worksheet=None, column=None):
    """Write the points of a class for a system.

    Parameters
    ----------
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.
    system : str
        One of :data:`FORMATS`.
    out : path-like
        A file for tables, otherwise a folder.
    roster : Roster, optional
        Names, addresses and the platform's identifiers.
    level : {"none", "kind", "line", "full"}
        Level of hints.
    worksheet : path-like, optional
        The table downloaded from the platform.
    column : str, optional
        Its column for the points, needed if several are possible.

    Returns
    -------
    Written

    Raises
    ------
    UserError
        If the platform's table is needed and missing, or is not that platform's.
    """
    roster = Roster() if roster is None else roster
    out = Path(out)
    if system in TABLES:
        out = out if out.suffix else out.with_suffix(".csv")
        return _table(results, assignment, system, out, roster, worksheet, column)
    for result in results:
        path = out / folder_name(result.student) / "results.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        table = gradescope(result, assignment, level, with_text=True)
        write_text(path, json_text(table, indent=1) + "\n")
    return Written(out, [])


def _table(results, assignment, system, out, roster, worksheet, column):
    """Write one table for the whole class."""
    if worksheet and system != "csv":
        filled = worksheets.fill(worksheet, system, results, assignment, roster, column)
        worksheets.write(filled, out)
        return Written(out, filled.notes, not filled.problems, filled)
    if system in NEEDS_TABLE:
        raise UserError(
            f"class: {system} matches students by internal numbers, so its table is needed: "
            f"download {NEEDS_TABLE[system]}, and give it with `worksheet`"
        )
    make = {"csv": nbgrader, "moodle": moodle, "brightspace": brightspace}[system]
    rows, notes = make(results, assignment, roster)
    write_csv(out, rows)
    return Written(out, notes, not notes)


def nbgrader(results, assignment, roster):
    """Return a table with the columns of nbgrader's export.

    Parameters
    ----------
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.
    roster : Roster
        Names and addresses.

    Returns
    -------
    rows : list of list
        The table, with its header.
    notes : list of str
        Always empty.
    """
    rows = [
        [
            "assignment",
            "duedate",
            "timestamp",
            "student_id",
            "last_name",
            "first_name",
            "email",
            "raw_score",
            "late_submission_penalty",
            "score",
            "max_score",
        ]
    ]
    for result in results:
        person = roster.get(result.student)
        names = [person.last_name, person.first_name, person.email] if person else [""] * 3
        score = "" if result.score is None else result.score
        raw = "" if result.score is None else result.earned
        rows.append(
            [
                assignment.name,
                "",
                result.handed_in,
                cell(result.student),
                *map(cell, names),
                raw,
                result.deduction,
                score,
                assignment.points,
            ]
        )
    return rows, []


def moodle(results, assignment, roster):
    """Return a worksheet for Moodle, in English.

    Parameters
    ----------
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.
    roster : Roster
        Names, addresses and identifiers.

    Returns
    -------
    rows : list of list
        The table, with its header.
    notes : list of str
        A note on the students without an identifier, who are left out.
    """
    # Moodle finds columns by their names.  The identifier is not the first one, because a reader
    # that keeps the byte order mark would take the mark as a part of that name.
    rows = [
        [
            "Full name",
            "Identifier",
            "Email address",
            "Status",
            "Grade",
            "Maximum grade",
            "Grade can be changed",
            "Last modified (submission)",
            "Last modified (grade)",
        ]
    ]
    unknown = []
    for result in results:
        person = roster.get(result.student)
        number = person.identifier if person else ""
        if not number:
            unknown.append(result.student)
            continue
        identifier = f"Participant {number}" if number.isdecimal() else number
        rows.append(
            [
                cell(person.full_name),
                cell(identifier),
                cell(person.email),
                "Submitted for grading",
                points_text(result.score),
                points_text(assignment.points),
                "Yes",
                "-",
                "-",
            ]
        )
    notes = []
    if unknown:
        notes.append(
            f"{len(unknown)} students have no Moodle identifier and are left out "
            f"({', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}): download "
            "the grading worksheet and give it with `worksheet`"
        )
    return rows, notes


def brightspace(results, assignment, roster):
    """Return a table that Brightspace imports as a grade item.

    Parameters
    ----------
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.
    roster : Roster
        The platform's identifiers; the student's id is used where there is none.

    Returns
    -------
    rows : list of list
        The table, with its header.
    notes : list of str
        Always empty.
    """
    rows = [
        [
            "OrgDefinedId",
            f"{assignment.title} Points Grade <Numeric MaxPoints:{assignment.points:g}>",
            "End-of-Line Indicator",
        ]
    ]
    for result in results:
        person = roster.get(result.student)
        identifier = (person.identifier if person else "") or result.student
        if result.score is not None:
            rows.append([f"#{identifier.removeprefix('#')}", points_text(result.score), "#"])
    return rows, []


def gradescope(result, assignment, level="kind", with_text=False):
    """Return the content of Gradescope's ``results.json``.

    Every test is visible, because one hidden test would hide the total.  The output of hidden tasks
    is free of numbers anyway.

    Parameters
    ----------
    result : Result
        The result of one hand-in.
    assignment : Assignment
        The assignment.
    level : {"none", "kind", "line", "full"}
        Level of hints.
    with_text : bool
        Whether written tasks are among the tests.  On Gradescope itself they are not, because a
        person grades them there.

    Returns
    -------
    dict
        Plain values.
    """
    sentences = lines(result, level)
    if result.status != "graded":
        return {
            "output": sentences[0],
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "extra_data": {"status": result.status, "reason": result.reason},
        }
    texts = {task.id for task in assignment.tasks if task.kind == "text"}
    shown = [verdict for verdict in result.verdicts if with_text or verdict.task not in texts]
    score = result.score if with_text else round(sum(verdict.points for verdict in shown), 2)
    if with_text:
        summary = sentences[-1]
    else:
        most = round(sum(verdict.most for verdict in shown), 2)
        summary = f"{score:g} of {most:g} points; texts are graded by hand"
    tests = [
        {
            "score": verdict.points,
            "max_score": verdict.most,
            "number": verdict.task,
            "name": verdict.title,
            "status": "passed" if verdict.state == "right" else "failed",
            "output": _output(verdict, level),
            "output_format": "text",
            "visibility": "visible",
        }
        for verdict in shown
    ]
    return {
        "score": score,
        "execution_time": result.seconds,
        "output": summary,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "status": result.status,
            "variant": result.variant,
            "sha256": result.sha256,
            "pending": result.pending,
            "flags": list(result.flags),
        },
    }


def _output(verdict, level):
    """Return the verdict, the hints and the teacher's comment on a task as text."""
    comment = [f"comment: {verdict.comment}"] if verdict.comment else []
    return "\n".join(
        [
            *shown_words(verdict, level),
            *comment,
            *(f"hint: {hint}" for hint in shown_hints(verdict, level)),
        ]
    )
