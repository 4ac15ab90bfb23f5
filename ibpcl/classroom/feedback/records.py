"""The current results of a class: the judge's verdicts, the teacher's points, and late days.

All pages and exports read the results here, so that they agree.
"""

from dataclasses import dataclass, field
from pathlib import Path

from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.feedback import by_hand
from ibpcl.classroom.feedback.student_page import feedback
from ibpcl.classroom.intake import late
from ibpcl.classroom.intake.students import Roster, Student
from ibpcl.classroom.judging.verdict import Result
from ibpcl.errors import UserError
from ibpcl.storage import read_json, read_text, write_text

SETTINGS = "grading.json"
COLLECTION = "collection.json"
# How a platform's own table writes the number of a participant that its file names have.
NUMBERS = {"moodle": "Participant {}", "canvas": "{}"}


@dataclass
class Records:
    """The results of a class, with everything that belongs to them.

    Attributes
    ----------
    folder : pathlib.Path
        Folder of results that ``ibpcl class grade`` wrote.
    settings : dict
        Settings of grading.
    assignment : Assignment
        The assignment.
    results : list of Result
        One result per student, with points given by hand and deductions.
    table : ibpcl.classroom.feedback.by_hand.Table
        Points and comments of the teacher.
    policy : ibpcl.classroom.intake.late.Policy
        Rules for late hand-ins.
    folders : dict of str to pathlib.Path
        Folder of each student's files.
    missing : list of str
        Students who did not hand in.
    skipped : list of str
        Files that were passed over, each with a reason.
    earlier : list of str
        Students whose results come from an earlier run only.
    notes : list of str
        Files and rows that could not be used, one line each.
    roster : ibpcl.classroom.intake.students.Roster
        The class list that was graded with, and the platform's numbers of the participants.
    """

    folder: Path
    settings: dict
    assignment: object
    results: list
    table: by_hand.Table
    policy: late.Policy
    folders: dict
    missing: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    earlier: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    roster: Roster = field(default_factory=Roster)

    def folder_of(self, student):
        """Return the folder that holds the files of a student.

        Parameters
        ----------
        student : str
            Id of the student.

        Returns
        -------
        pathlib.Path
        """
        return self.folders.get(student, self.folder / student)


def load(folder):
    """Return the records of a folder of results.

    Parameters
    ----------
    folder : path-like
        Folder that ``ibpcl class grade`` wrote.

    Returns
    -------
    Records

    Raises
    ------
    UserError
        If the folder holds no results, or ``by-hand.csv`` cannot be read.
    """
    folder = Path(folder)
    if not (folder / SETTINGS).exists():
        raise UserError(
            f"class: {folder} has no {SETTINGS}; give a folder that `ibpcl class grade` wrote"
        )
    settings = read_json(folder / SETTINGS)
    assignment = find(settings["folder"])
    results, folders, notes = _results(folder)
    missing, skipped, earlier = _collected(folder, results)
    table = by_hand.read(folder / by_hand.FILE)
    extensions, late_days = by_hand.apply(table, results, assignment)
    policy = late.read(folder)
    notes += table.notes
    notes += late.apply(policy, results, extensions, assignment.points, late_days)
    return Records(
        folder,
        settings,
        assignment,
        results,
        table,
        policy,
        folders,
        missing,
        skipped,
        earlier,
        notes,
        _roster(folder),
    )


def _roster(folder):
    """Return the class list of a collection, completed by the numbers of the participants."""
    path = folder / COLLECTION
    table = read_json(path) if path.exists() else {}
    listed = {row["id"]: Student(**row) for row in table.get("roster", ())}
    pattern = NUMBERS.get(table.get("platform"))
    for each in table.get("students", ()):
        numbers = each.get("participants") or ()
        student = listed.get(each["student"], Student(each["student"]))
        if pattern and numbers and not student.identifier:
            listed[each["student"]] = student._replace(identifier=pattern.format(numbers[-1]))
    return Roster(list(listed.values()))


def rewrite(records):
    """Write ``by-hand.csv`` and the feedback pages that have changed.

    The pages show the points that a person gave, so they are written again after each change.

    Parameters
    ----------
    records : Records
        The results of the class.

    Returns
    -------
    pathlib.Path
        Path of ``by-hand.csv``.
    """
    level = records.settings.get("level", "kind")
    for result in records.results:
        folder = records.folder_of(result.student)
        source = folder / "handin.py"
        text = read_text(source) if source.exists() else ""
        html = feedback(result, records.assignment, level, text)
        path = folder / "feedback.html"
        if not path.exists() or path.read_bytes() != html.encode():
            write_text(path, html)
    return by_hand.write(records.table, records.results, records.folder / by_hand.FILE)


def results_of(folder):
    """Return the results and the settings in a folder of results.

    Parameters
    ----------
    folder : path-like
        Folder that ``ibpcl class grade`` wrote.

    Returns
    -------
    results : list of Result
        One result per student.
    settings : dict
        Settings of grading.
    """
    records = load(folder)
    return records.results, records.settings


def _results(folder):
    """Return results, the folder of each, and a note on those that cannot be read."""
    results = []
    folders = {}
    notes = []
    for path in sorted(folder.glob("*/result.json")):
        try:
            result = Result.from_dict(read_json(path))
        except (ValueError, KeyError, TypeError, AttributeError):
            notes.append(
                f"{path.parent.name}/result.json is damaged: run `ibpcl class grade` again"
            )
            continue
        results.append(result)
        folders[result.student] = path.parent
    return results, folders, notes


def _collected(folder, results):
    """Write times and attempts into results; return the missing students, the skipped files, and
    the students with earlier results only.
    """
    path = folder / COLLECTION
    try:
        table = read_json(path) if path.exists() else {}
        listed = {each["student"]: each["attempts"] for each in table.get("students", ())}
        missing = [f"{each['student']} {each['name']}".strip() for each in table.get("missing", ())]
        skipped = [f"{name}: {reason}" for name, reason in table.get("ignored", ())]
        skipped += [
            f"{name}: {reason}"
            for each in table.get("students", ())
            for name, reason in each["ignored"]
        ]
        for result in results:
            attempts = listed.get(result.student) or ()
            result.attempt_count = len(attempts) or 1
            # Among several attempts, the hash identifies the one that was graded.
            times = [each.get("time", "") for each in attempts if each["sha256"] == result.sha256]
            times = times or [each.get("time", "") for each in attempts]
            result.handed_in = times[-1] if times else ""
    except (ValueError, KeyError, TypeError, AttributeError):
        return [], [], []
    earlier = [result.student for result in results if listed and result.student not in listed]
    return missing, skipped, earlier
