"""A zip of all feedback pages, named so that a platform can assign each page to its student.

===========  ====================================================  ==========================
platform     names in the zip                                      needs
===========  ====================================================  ==========================
moodle       ``Full name_7_assignsubmission_file_/feedback.html``  the grading worksheet
canvas       ``name_USER_ATTACHMENT_feedback.html``                the downloaded submissions
brightspace  the downloaded folder, ``/feedback.html`` in it       the downloaded submissions
others       ``STUDENT/feedback.html``
===========  ====================================================  ==========================

Moodle: "Upload multiple feedback files in a zip".  Canvas: "Upload Submissions", which needs the
number of the attachment that each student handed in.  Brightspace: "Add Feedback Files".
"""

import re
import zipfile
from pathlib import Path

from ibpcl.classroom.feedback.matching import Matcher, number_at_end
from ibpcl.classroom.intake.students import folder_name
from ibpcl.errors import UserError
from ibpcl.storage import read_text, write_bytes, zipped

CANVAS = re.compile(r"(?P<name>[^_/]*)(?:_LATE)?_(?P<user>\d+)_(?P<attachment>\d+)_")
BRIGHTSPACE = re.compile(r"(?P<ids>\d+-\d+) - (?P<name>.+?) - .+")


def write(records, system, out, filled=None, roster=None, downloads=None):
    """Write the zip of all feedback pages.

    Parameters
    ----------
    records : ibpcl.classroom.feedback.records.Records
        The results of the class.
    system : str
        The platform; one without special names gets a folder per student.
    out : path-like
        Path of the zip.
    filled : ibpcl.classroom.feedback.worksheets.Filled, optional
        The platform's table.
    roster : ibpcl.classroom.intake.students.Roster, optional
        List of the class.
    downloads : path-like, optional
        Folder or zip of the hand-ins as the platform named them.

    Returns
    -------
    list of str
        A note on the students who are not in the zip; empty if all are.

    Raises
    ------
    UserError
        If the table or the downloads that the platform's names require are missing.
    """
    students = [result.student for result in records.results]
    matcher = Matcher(students, roster)
    if system == "moodle":
        names = _moodle(students, filled, roster)
    elif system == "canvas":
        names = _canvas(_entries(downloads, "canvas"), matcher, filled)
    elif system == "brightspace":
        names = _brightspace(_entries(downloads, "brightspace"), matcher)
    else:
        names = {student: f"{folder_name(student)}/feedback.html" for student in students}
    files = {}
    for student, name in names.items():
        page = records.folder_of(student) / "feedback.html"
        if page.exists():
            files[name] = read_text(page)
    write_bytes(Path(out), zipped(files))
    missing = [student for student in students if student not in names]
    if not missing:
        return []
    shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
    return [
        f"the zip has no page for {len(missing)} students, whom {system} could not match: {shown}"
    ]


def _moodle(students, filled, roster):
    """Return the file names that Moodle reads; their second part is the participant's number."""
    if filled is None and roster is None:
        raise UserError(
            "class: `feedback_zip` for Moodle needs the participants' numbers: give the "
            "grading worksheet with `worksheet`"
        )
    names = {}
    for student in students:
        full_name = number = ""
        if filled is not None and student in filled.matches:
            row = filled.sheet.rows[filled.matches[student]]
            full_name = " ".join(row[at] for at in filled.layout.names)
            number = number_at_end(row[0])
        elif roster is not None and (person := roster.get(student)):
            full_name = person.full_name
            number = number_at_end(person.identifier)
        if number:
            # Moodle splits names at underscores, and slashes would create folders.
            safe = re.sub(r'[_/\\:*?"<>|\x00-\x1f]+', " ", full_name or student).strip()
            names[student] = f"{safe}_{number}_assignsubmission_file_/feedback.html"
    return names


def _canvas(entries, matcher, filled):
    """Return the file names that Canvas reads, with the user and attachment of the hand-in."""
    by_user = {}
    if filled is not None:
        for student, at in filled.matches.items():
            for cell in filled.layout.about(filled.sheet.rows[at])[0]:
                by_user.setdefault(cell.strip(), student)
    names = {}
    for entry in entries:
        match = CANVAS.match(Path(entry).name)
        if match is None:
            continue
        student = by_user.get(match["user"]) or matcher.by_id(match["user"], match["name"])
        if student:
            names[student] = f"{match['name']}_{match['user']}_{match['attachment']}_feedback.html"
    return names


def _brightspace(entries, matcher):
    """Return the file names that Brightspace reads, in the folder of each submission."""
    names = {}
    for entry in entries:
        for part in Path(entry).parts:
            match = BRIGHTSPACE.fullmatch(part)
            student = match and (
                matcher.by_id(*match["ids"].split("-"))
                or matcher.by_name(match["name"])
                or matcher.by_id(match["name"])
            )
            if student:
                names[student] = f"{part}/feedback.html"
    return names


def _entries(downloads, system):
    """Return the paths within a folder or zip of downloaded hand-ins."""
    if downloads is None:
        raise UserError(
            f"class: `feedback_zip` for {system} needs the names of the files handed "
            "in: give the downloaded folder or zip with `downloads`"
        )
    path = Path(downloads)
    if path.is_dir():
        return [str(each.relative_to(path)) for each in sorted(path.rglob("*"))]
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(f"class: {path} is neither a folder nor a readable zip: {error}") from None
