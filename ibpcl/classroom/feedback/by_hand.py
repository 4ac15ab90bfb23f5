"""The teacher's points and comments: ``by-hand.csv``, in any format that spreadsheets write.

=========  ================================================================================
column     contents
=========  ================================================================================
student    the student's id; letter case and lost leading zeros do not matter
task       a task's id, ``all`` for the whole hand-in, ``extension``, or ``late``
most       the points of the task, for the reader's convenience
comment    shown to the student
points     the points given; with ``extension`` and ``late``, days; empty if nothing is decided yet
=========  ================================================================================

A row for a task that the judge has graded replaces its points.  Rows that cannot be used are
reported, never applied and never erased; columns that a teacher adds stay.
"""

import csv
import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom.assignments.ids import folded, variant_id
from ibpcl.classroom.feedback.tables import cell, points_text
from ibpcl.classroom.intake.spreadsheet import column_key, decoded, delimiter_of, number, read_rows
from ibpcl.classroom.judging.verdict import Verdict
from ibpcl.errors import UserError
from ibpcl.storage import write_bytes

FILE = "by-hand.csv"
COLUMNS = ("student", "task", "most", "comment", "points")
WHOLE = "all"
EXTENSION = "extension"
LATE = "late"
MOST_DAYS = 366.0
NAMES = {
    "student": ("student", "studentid", "id"),
    "task": ("task", "aufgabe"),
    "most": ("most", "max", "maximum"),
    "points": ("points", "punkte", "score"),
    "comment": ("comment", "comments", "kommentar", "feedback"),
}


class Entry(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    row : int
        Number in the file; the header is row 1.
    student, task, points, comment : str
        The cells as they were written.
    others : dict of str to str
        The cells of columns that the teacher added.
    """

    row: int
    student: str
    task: str
    points: str
    comment: str
    others: dict

    @property
    def filled(self):
        """True if any cell besides student and task is filled in."""
        return bool(self.points or self.comment or any(self.others.values()))


@dataclass
class Table:
    """The table ``by-hand.csv``.

    Attributes
    ----------
    entries : list of Entry
        All rows.
    used : dict of (str, str) to Entry
        Student and task to row, as :func:`apply` found them.
    held : dict of (str, str) to Entry
        Student and task to row, for rows with unusable points.
    kept : list of Entry
        Rows about an unknown student or task, and repeated rows.
    columns : tuple of str
        The columns that the teacher added.
    delimiter : str
        Delimiter of the file.
    decimal_comma : bool
        Whether numbers have decimal commas.
    notes : list of str
        One line for each row that could not be used.
    """

    entries: list = field(default_factory=list)
    used: dict = field(default_factory=dict)
    held: dict = field(default_factory=dict)
    kept: list = field(default_factory=list)
    columns: tuple = ()
    delimiter: str = ","
    decimal_comma: bool = False
    notes: list = field(default_factory=list)


def read(path):
    """Return the table in a file.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Table
        Empty if the file does not exist.

    Raises
    ------
    UserError
        If the file is not a table, or lacks one of the columns student, task and points.
    """
    path = Path(path)
    if not path.exists():
        return Table()
    rows = read_rows(path)
    if not rows:
        return Table()
    places = _places(rows[0], path)
    taken = set(places.values())
    added = tuple(name for at, name in enumerate(rows[0]) if at not in taken and name)
    table = Table(columns=added, delimiter=delimiter_of(decoded(path.read_bytes())))
    for at, row in enumerate(rows[1:], start=2):
        row = [*row, *[""] * (len(rows[0]) - len(row))]
        cells = {name: row[place] for name, place in places.items()}
        others = {name: row[rows[0].index(name)] for name in added}
        table.entries.append(
            Entry(
                at,
                cells["student"],
                cells["task"],
                cells["points"],
                cells.get("comment", ""),
                others,
            )
        )
        table.decimal_comma |= "," in cells["points"]
    return table


def apply(table, results, assignment, file=FILE):
    """Enter the points and comments of a table into results.

    Parameters
    ----------
    table : Table
        The table; ``used``, ``held``, ``kept`` and ``notes`` are filled in.
    results : list of Result
        Changed in place.
    assignment : Assignment
        The assignment.
    file : str
        Name of the table in notes.

    Returns
    -------
    extensions : dict of str to float
        Student to days of extension.
    late_days : dict of str to float
        Student to late days, for students with a row ``late``.
    """
    by_student = {result.student: result for result in results}
    find = finder(by_student)
    tasks = {folded(task.id): task for task in assignment.tasks}
    days = {EXTENSION: {}, LATE: {}}
    for entry in table.entries:
        student = find(entry.student)
        if student:
            problem = _use(entry, by_student[student], tasks, assignment, table, days)
        else:
            problem = f"no hand-in of a student {entry.student!r}"
        if problem:
            if entry not in table.held.values():
                table.kept.append(entry)
            if entry.filled:
                table.notes.append(f"{file}, row {entry.row}: {problem}; the row is kept, not used")
    return days[EXTENSION], days[LATE]


def code(student):
    """Return the name of a student on an anonymous page; ``by-hand.csv`` may contain it, too.

    Parameters
    ----------
    student : str
        Id of the student.

    Returns
    -------
    str

    Examples
    --------
    >>> code("ada") == code("ada") != code("ben")
    True
    """
    return "anonymous-" + hashlib.sha256(f"by hand {folded(student)}".encode()).hexdigest()[:10]


def finder(students):
    """Return a function that finds a student's id in another spelling.

    Letter case, Unicode forms and characters that file names lose are ignored.  Leading zeros are
    ignored if only one student matches.

    Parameters
    ----------
    students : iterable of str
        Ids of the students.

    Returns
    -------
    callable
        Takes a spelling and returns the id, or an empty string.

    Examples
    --------
    >>> find = finder(["00123", "Ada", "o'brien"])
    >>> find("123"), find("ADA"), find("o_brien"), find("eve")
    ('00123', 'Ada', "o'brien", '')
    """
    students = list(students)
    spellings = []
    for spell in (str, folded, variant_id, _without_zeros, code):
        spelled = {}
        for student in students:
            spelled.setdefault(spell(student), []).append(student)
        spellings.append((spell, spelled))

    def find(written):
        for spell, spelled in spellings:
            same = spelled.get(written if spell is code else spell(written), ())
            if len(same) == 1:
                return same[0]
        return ""

    return find


def write(table, results, path):
    """Write the table again: a row for each text to be graded, and all rows of the teacher.

    The delimiter and the decimal sign of the file are preserved, so that the same spreadsheet can
    read it.  A file that would not change is not written.

    Parameters
    ----------
    table : Table
        The table.
    results : list of Result
        The results of the class.
    path : path-like
        The file.

    Returns
    -------
    pathlib.Path
        The file.
    """
    rows = []
    used = {**table.used, **table.held}
    for result in results:
        for verdict in result.verdicts:
            if verdict.kind == "text" or verdict.pending:
                entry = used.pop((result.student, verdict.task), None)
                rows.append(_row(table, result.student, verdict.task, verdict.most, entry))
        own = [key for key in used if key[0] == result.student]
        most = {verdict.task: verdict.most for verdict in result.verdicts}
        rows += [_row(table, *key, most.get(key[1], ""), used.pop(key)) for key in own]
    rows += [_row(table, entry.student, entry.task, "", entry) for entry in table.kept]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=table.delimiter, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *table.columns])
    writer.writerows(rows)
    data = text.getvalue().encode("utf-8-sig")
    path = Path(path)
    if not path.exists() or path.read_bytes() != data:
        write_bytes(path, data)
    return path


def _use(entry, result, tasks, assignment, table, days):
    """Apply one row; return the reason why it cannot be used, or an empty string."""
    name = folded(entry.task).removeprefix("task ").strip()
    task = tasks.get(name)
    if task is None and name not in (WHOLE, *days):
        return (
            f"unknown task {entry.task!r}; it must be one of {', '.join(map(str, tasks))}, "
            f"{WHOLE}, {EXTENSION} and {LATE}"
        )
    most = MOST_DAYS if name in days else task.points if task else assignment.points
    key = (result.student, task.id if task else name)
    before = table.used.get(key) or table.held.get(key)
    if before is not None and before.filled:
        if entry.filled and (before.points, before.comment) != (entry.points, entry.comment):
            return f"{entry.student}, {entry.task} already has row {before.row}"
        return ""
    value = None
    if entry.points:
        problem = ""
        try:
            value = number(entry.points)
        except ValueError:
            problem = f"{entry.student}, {entry.task}: {entry.points!r} is not a number"
        if value is not None and not 0 <= value <= most:
            problem = f"{entry.student}, {entry.task}: points must be in 0..{most:g}, got {value:g}"
        if problem:
            table.used.pop(key, None)
            table.held[key] = entry
            return problem
    table.used[key] = entry
    if name in days:
        if value is not None:
            days[name][result.student] = value
    elif task is None:
        _whole(result, value, entry.comment, assignment)
    else:
        _task(result, task, value, entry.comment, assignment)
    return ""


def _whole(result, value, comment, assignment):
    """Give points or a comment to a hand-in as a whole."""
    result.comment = comment
    if value is not None:
        _make_graded(result, assignment)
        result.given = value


def _task(result, task, value, comment, assignment):
    """Give points or a comment to one task."""
    if value is not None:
        _make_graded(result, assignment)
    for verdict in result.verdicts:
        if verdict.task != task.id:
            continue
        verdict.comment = comment
        if value is not None:
            if not verdict.pending and verdict.kind != "text":
                verdict.judged = verdict.points
            verdict.points = value
            verdict.state = "given by hand"


def _make_graded(result, assignment):
    """Turn a hand-in that the judge could not grade into one that a person grades."""
    if result.status != "graded":
        result.status = "graded"
        result.verdicts = [Verdict.of(task) for task in assignment.tasks]
        for verdict in result.verdicts:
            verdict.state = "not judged"
            verdict.words = ["the judge could not grade the hand-in; your teacher did"]


def _places(head, path):
    """Return the place of each known column."""
    keys = [column_key(name) for name in head]
    places = {
        name: next((at for at, key in enumerate(keys) if key in known), None)
        for name, known in NAMES.items()
    }
    for name in ("student", "task", "points"):
        if places[name] is None:
            raise UserError(
                f"class: {path} must have the columns student, task and points; it has "
                f"{', '.join(head)}. Correct its first row, or move the file away"
            )
    return {name: place for name, place in places.items() if place is not None}


def _row(table, student, task, most, entry):
    """Return the cells of a row."""
    points = entry.points if entry else ""
    comment = entry.comment if entry else ""
    most = points_text(most, table.decimal_comma) if isinstance(most, (int, float)) else most
    others = [entry.others.get(name, "") if entry else "" for name in table.columns]
    return [cell(student), cell(task), most, cell(comment), points, *map(cell, others)]


def _without_zeros(student):
    return folded(student).lstrip("0") if folded(student).isdecimal() else folded(student)
