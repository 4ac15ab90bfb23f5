"""The results of a class as they stand: what the judge found, what the teacher gave, and late days.

Everything that shows or exports points reads the results here, so that all of them agree.
"""

from dataclasses import dataclass, field
from pathlib import Path

from ibpcl.classroom import by_hand, late
from ibpcl.classroom.assignment import find
from ibpcl.classroom.feedback import feedback
from ibpcl.classroom.verdict import Result
from ibpcl.errors import UserError
from ibpcl.storage import read_json, read_text, write_text

SETTINGS = "grading.json"
COLLECTION = "collection.json"


@dataclass
class Records:
    """The results of a class, with everything that belongs to them.

    Attributes
    ----------
    folder : pathlib.Path
        That ``ibpcl class grade --out`` wrote.
    settings : dict
        What the class was graded with.
    assignment : Assignment
    results : list of Result
        By student, with points given by hand and deductions.
    table : ibpcl.classroom.by_hand.Table
    policy : ibpcl.classroom.late.Policy
    folders : dict of str to pathlib.Path
        Where the files of each student are.
    missing, skipped, earlier : list of str
        Students who did not hand in; files that were not looked at; students whose results are
        from an earlier run, and whose hand-ins were not among those of the last one.
    notes : list of str
        What could not be used, one line each.
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

    def folder_of(self, student):
        """Return the folder that holds the files of a student."""
        return self.folders.get(student, self.folder / student)


def load(folder):
    """Return the records of a folder of results.

    Raises
    ------
    UserError
        If it is not such a folder, or ``by-hand.csv`` cannot be read.
    """
    folder = Path(folder)
    if not (folder / SETTINGS).exists():
        raise UserError(
            f"class: {folder} has no {SETTINGS}: it is not a folder that `ibpcl class grade` wrote"
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
    )


def rewrite(records):
    """Write the feedback pages that have changed, and ``by-hand.csv``; return the path of the
    table.

    The pages have the points that a person gave, so they are written again after each change.
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
    """Return the results in a folder that ``ibpcl class grade`` wrote, by student, and its
    settings.
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
    """Write times and attempts into results; return who is missing, what was skipped, and who is
    old.
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
            # Of several attempts the one that was graded; the texts say which.
            times = [each.get("time", "") for each in attempts if each["sha256"] == result.sha256]
            times = times or [each.get("time", "") for each in attempts]
            result.handed_in = times[-1] if times else ""
    except (ValueError, KeyError, TypeError, AttributeError):
        return [], [], []
    earlier = [result.student for result in results if listed and result.student not in listed]
    return missing, skipped, earlier
