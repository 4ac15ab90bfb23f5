"""The hand-ins of a class: the files that count for each student, and all files passed over.

A hand-in names its student itself (``STUDENT``).  The name that a platform gives to a file or
folder decides only if the file names no student, if two students claim one id, or if a roster
identifies the student.
"""

import contextlib
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.ids import folded, shown, variant_id
from ibpcl.classroom.intake import platforms
from ibpcl.classroom.intake.attribution import refuse_contradiction, related, student_of
from ibpcl.classroom.intake.choosing import Misfit, attempt_of, choose, is_blank, natural
from ibpcl.classroom.intake.collected import SCHEMA, collected_ids
from ibpcl.classroom.intake.late import handed_in
from ibpcl.classroom.intake.printable import printable
from ibpcl.classroom.intake.reading import process
from ibpcl.classroom.intake.students import Roster
from ibpcl.classroom.intake.submission import Submission, from_candidate, has_words, opened
from ibpcl.classroom.intake.units import Unit
from ibpcl.errors import UserError


@dataclass(frozen=True)
class Attempt:
    """One attempt of a student.

    Attributes
    ----------
    submission : Submission
        The file that counts in this attempt.
    name : str
        Path of the file in the folder of hand-ins.
    label : str
        Name of the attempt on the platform, or of its folder.
    order : tuple
        Sort key: later attempts have larger ones.
    late : bool
        Whether the platform marks it as late.
    """

    submission: Submission
    name: str
    label: str
    order: tuple
    late: bool


@dataclass
class Found:
    """The hand-in of one student.

    Attributes
    ----------
    student : str
        Id of the student.
    origin : str
        Name of the file or folder that was handed in.
    attempts : list of Attempt
        Attempts from the first to the last; empty if nothing can be graded.
    reason : str
        Reason why nothing can be graded; empty if something can.
    notes : list of str
        Notes for the teacher.
    ignored : list of (str, str)
        Name of each file that was passed over, and the reason.
    said : dict
        The constants in the last attempt, such as STUDENT and FORM.
    """

    student: str
    origin: str
    attempts: list = field(default_factory=list)
    reason: str = ""
    notes: list = field(default_factory=list)
    ignored: list = field(default_factory=list)
    said: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Collection:
    """The hand-ins of a class.

    Attributes
    ----------
    platform : str
        Name of the platform.
    found : list of Found
        The hand-ins, sorted by student.
    ignored : list of (str, str)
        Name of each file or folder that belongs to no student, and the reason why it was passed
        over.
    missing : list of ibpcl.classroom.intake.students.Student
        Students of the roster who did not hand in.
    unknown : list of str
        Students who handed in and are not in the roster.
    """

    platform: str
    found: list
    ignored: list
    missing: list
    unknown: list

    def to_dict(self):
        """Return the content of ``collection.json``.

        Returns
        -------
        dict
            Plain values.
        """
        students = [
            {
                "student": each.student,
                "origin": each.origin,
                "reason": each.reason,
                "notes": each.notes,
                "attempts": [
                    {
                        "file": collected.name,
                        "attempt": collected.label,
                        "late": collected.late,
                        "time": handed_in(collected.label, collected.order[1]),
                        "sha256": collected.submission.sha256,
                    }
                    for collected in each.attempts
                ],
                "ignored": [list(pair) for pair in each.ignored],
            }
            for each in self.found
        ]
        missing = [
            {"student": each.id, "name": each.full_name, "email": each.email}
            for each in self.missing
        ]
        return printable(
            {
                "schema": SCHEMA,
                "platform": self.platform,
                "students": students,
                "ignored": [list(pair) for pair in self.ignored],
                "missing": missing,
                "unknown": self.unknown,
            }
        )


def collect(path, assignment=None, key=variants.PUBLIC, platform=None, roster=None, any_form=False):
    """Return the hand-ins in a folder, or in the zip that a platform makes of a class.

    Parameters
    ----------
    path : path-like
        The folder or zip.
    assignment : Assignment, optional
        The assignment that is graded; by default, the one that each file names.
    key : bytes
        The course key.
    platform : str, optional
        One of :data:`ibpcl.classroom.intake.platforms.PLATFORMS`; guessed by default.
    roster : Roster, optional
        List of the class.
    any_form : bool
        Whether to accept a class whose forms do not follow from the key.

    Returns
    -------
    Collection

    Raises
    ------
    UserError
        If no hand-in is found, or if most hand-ins have a form that does not follow from the key.
    """
    roster = roster or Roster()
    with _folder(Path(path)) as (folder, left_out):
        folder = platforms.unwrapped(folder)
        platform = platform or platforms.guess(list(folder.iterdir()))
        units, ignored = platforms.units(folder, platform, collected_ids(folder))
        if not units:
            raise UserError(
                f"class: {path} contains no hand-in, read as a download of the platform "
                f"{platform!r}; see `platform`"
            )
        if len(units) == 1 and _holds_a_class(folder, units[0], assignment):
            folder = folder / units[0].pieces[0].name.split("/")[0]
            units, ignored = platforms.units(folder, platform)
        read = [(unit, *_attempts(unit, assignment)) for unit in units]
    hand_ins = _by_student(read, roster, assignment, key)
    if assignment is not None and not any_form:
        refuse_contradiction(hand_ins, assignment, key)
    ids = {folded(each.student) for each in hand_ins}
    missing = [student for student in roster.students if folded(student.id) not in ids]
    unknown = [
        each.student for each in hand_ins if len(roster) and roster.get(each.student) is None
    ]
    return Collection(platform, hand_ins, [*map(tuple, left_out), *ignored], missing, unknown)


def hand_in(folder, assignment, student, key=variants.PUBLIC, words=()):
    """Return the one hand-in in a student's folder: the last attempt that can be graded.

    Parameters
    ----------
    folder : path-like
        Folder of the student.
    assignment : Assignment
        The assignment.
    student : str
        Id on the platform; the id in the file counts instead if it seems to be the same person's.
    key : bytes
        The course key.
    words : sequence of str
        Other names of the student.

    Returns
    -------
    Submission

    Raises
    ------
    UserError
        If nothing in the folder can be graded.
    """
    unit = Unit(folded(student), student, certain=True, words=tuple(filter(None, words)))
    for path in sorted(Path(folder).iterdir()):
        unit.add(path)
    attempts, reason, _, said = _attempts(unit, assignment)
    if not attempts:
        raise UserError(reason)
    if related(shown(said.get("STUDENT", "")), unit):
        student = student_of(unit, said, Roster(), {}, {}, assignment, key)[0]
    return attempts[-1].submission._replace(student=student)


@contextlib.contextmanager
def _folder(path):
    """Yield the folder of the hand-ins, unpacked if it is a zip, and the files left out."""
    if path.is_dir():
        yield path, []
        return
    if not path.is_file() or path.suffix.lower() != ".zip":
        raise UserError(f"class: {path} is not an existing folder or zip")
    with tempfile.TemporaryDirectory(prefix="ibpcl-class-") as target:
        try:
            left_out = process.ask(do="unpack", path=str(path.absolute()), target=target)["ignored"]
        except process.ReadingError as error:
            raise UserError(f"class: {path}: {error}") from None
        yield Path(target), left_out


def _holds_a_class(folder, unit, assignment):
    """Return whether the only folder holds a class: its files name several students, each in a
    separate place.
    """
    if not unit.pieces or not (folder / unit.pieces[0].name.split("/")[0]).is_dir():
        return False
    try:
        answer = opened([(piece.path, piece.name) for piece in unit.pieces], assignment)
    except UserError:
        return False
    places = defaultdict(set)
    for candidate in answer["candidates"]:
        student = candidate["facts"] and candidate["facts"]["said"].get("STUDENT")
        if student:
            places[variant_id(student)].add(candidate["name"].split("/")[1])
    return len(places) > 1 and len(set.union(*places.values())) >= len(places)


def _attempts(unit, assignment):
    """Return the attempts of a unit, the reason if there are none, notes, and the constants in
    the file that counts or comes closest.
    """
    if not unit.pieces:
        unit.ignored = unit.ignored or [(unit.student, "an empty folder")]
        return [], f"class: {unit.student} contains no Python file or notebook", [], {}
    try:
        answer = opened([(piece.path, piece.name) for piece in unit.pieces], assignment)
    except UserError as error:
        return [], str(error), [], {}
    unit.ignored += [tuple(pair) for pair in answer["ignored"]]
    groups = defaultdict(list)
    for candidate in answer["candidates"]:
        piece = unit.pieces[candidate["piece"]]
        candidate["order"] = piece.order
        groups[piece.attempt or attempt_of(candidate["name"])].append(candidate)
    attempts = []
    reasons = []
    notes = []
    said = {}
    for label, candidates in groups.items():
        try:
            choice = choose(candidates, assignment, unit.student)
        except Misfit as error:
            reasons.append(str(error))
            said = said or error.said
            continue
        notes += choice.notes
        attempts.append(_attempt(choice.candidate, unit, label))
    attempts = _distinct(attempts, assignment)
    if attempts:
        notes += reasons
        return attempts, "", notes, attempts[-1].submission.facts["said"]
    others = ", ".join(name for name, _ in unit.ignored[:5])
    nothing = f"class: {unit.student} contains no Python file or notebook" + (
        f", only {others}" if others else ""
    )
    return [], "; ".join(reasons) or nothing, notes, said


def _attempt(candidate, unit, label):
    piece = unit.pieces[candidate["piece"]]
    submission = from_candidate(candidate, piece.path, unit.student)
    order = (piece.order, candidate["time"], natural(label or candidate["name"]))
    return Attempt(submission, candidate["name"], label, order, piece.late)


def _distinct(attempts, assignment):
    """Return attempts in order; equal texts count once, and a blank stub only if it is alone."""
    distinct = {}
    for attempt in sorted(attempts, key=lambda each: each.order):
        distinct.pop(attempt.submission.sha256, None)
        distinct[attempt.submission.sha256] = attempt
    filled = [
        each
        for each in distinct.values()
        if not is_blank({"facts": each.submission.facts}, assignment)
    ]
    return filled or list(distinct.values())


def _by_student(read, roster, assignment, key):
    """Return the hand-ins, one per student, sorted by student."""
    claims = defaultdict(list)
    for unit, _, _, _, said in read:
        if has_words(said.get("STUDENT", "")):
            claims[variant_id(said["STUDENT"])].append(unit)
    owners = {variant_id(unit.student): unit for unit, *_ in read}
    students = {}
    for unit, attempts, reason, notes, said in read:
        student, note = student_of(unit, said, roster, claims, owners, assignment, key)
        origin = unit.pieces[0].name.split("/")[0] if unit.pieces else unit.student
        collected = students.setdefault(folded(student), Found(student, origin))
        collected.notes += [*notes, *([note] if note else [])]
        collected.ignored += unit.ignored
        collected.reason = reason or collected.reason
        collected.said = said or collected.said
        collected.attempts += [
            Attempt(
                each.submission._replace(student=student),
                each.name,
                each.label,
                each.order,
                each.late,
            )
            for each in attempts
        ]
    for collected in students.values():
        collected.attempts = _distinct(collected.attempts, assignment)
        if collected.attempts:
            collected.notes += [collected.reason] if collected.reason else []
            collected.reason = ""
            collected.said = collected.attempts[-1].submission.facts["said"]
        if len(collected.attempts) > 1:
            collected.notes.append(
                f"{len(collected.attempts)} attempts: "
                f"{', '.join(each.name for each in collected.attempts[-5:])}"
            )
    return [students[name] for name in sorted(students, key=natural)]
