"""The submissions of a class: from the files of a download to the students.

``files -> units -> candidates -> submissions -> students``: ``platforms`` sets the participants'
files apart, ``reading`` reads them, ``choosing`` says which file counts, and ``identity`` whose it
is.
"""

import contextlib
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.ids import folded, shown, variant_id
from ibpcl.classroom.intake import platforms
from ibpcl.classroom.intake.choosing import Misfit, age, attempt_of, choose, is_blank, natural
from ibpcl.classroom.intake.collected import SCHEMA, collected_ids
from ibpcl.classroom.intake.identity import Deciding, Evidence, refuse_contradiction, related
from ibpcl.classroom.intake.printable import printable
from ibpcl.classroom.intake.reading import process
from ibpcl.classroom.intake.students import Roster
from ibpcl.classroom.intake.submission import Submission, from_candidate, has_words, opened
from ibpcl.classroom.intake.units import Piece, Unit, files_in, is_program
from ibpcl.errors import UserError

MOST_ATTEMPTS = 10  # of one student; the newest count
AT_ONCE = 60.0  # seconds in which no class hands in: the times of all files are those of a download
MOST_NAMED = 20  # students in one message
LEAST_FOLDERS = 3  # that look like students, if no file names one
NO_STUDENTS = {
    "src",
    "test",
    "tests",
    "doc",
    "docs",
    "data",
    "code",
    "lib",
    "notebooks",
    "figures",
    "images",
    "old",
}


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
    time : str
        ISO date and time from the platform, or else of the outer file; empty if unknown.
    """

    submission: Submission
    name: str
    label: str
    order: tuple
    late: bool
    time: str


@dataclass
class Found:
    """The hand-in of one student.

    Attributes
    ----------
    student : str
        Id of the student.
    participants : list of str
        Numbers of the student on the platform; the members of a group share one.
    people : set of str
        All students that the files name in STUDENT.
    group : tuple of str
        Ids of all members, if it is the work of a group.
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
        The constants in the last attempt, such as STUDENT and VARIANT.
    """

    student: str
    origin: str
    attempts: list = field(default_factory=list)
    reason: str = ""
    notes: list = field(default_factory=list)
    ignored: list = field(default_factory=list)
    said: dict = field(default_factory=dict)
    participants: list = field(default_factory=list)
    people: set = field(default_factory=set)
    group: tuple = ()


class Read(NamedTuple):
    """A unit whose files have been read.

    Attributes
    ----------
    unit : ibpcl.classroom.intake.units.Unit
        The files.
    attempts : list of Attempt
        Attempts from the first to the last.
    reason : str
        Reason why there is none; empty if there is one.
    notes : list of str
        Notes on the choice of files.
    said : dict
        The constants in the file that counts or comes closest.
    people : set of str
        All students that the files name in STUDENT.
    """

    unit: Unit
    attempts: list
    reason: str
    notes: list
    said: dict
    people: set


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
    problems : list of str
        Signs that the download was not read as a class: most of it is missing, or several students
        fall into one.
    roster : list of ibpcl.classroom.intake.students.Student
        The class list.
    """

    platform: str
    found: list
    ignored: list
    missing: list
    unknown: list
    problems: list
    roster: list = ()

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
                "participants": each.participants,
                "group": list(each.group),
                "reason": each.reason,
                "notes": each.notes,
                "attempts": [
                    {
                        "file": collected.name,
                        "attempt": collected.label,
                        "late": collected.late,
                        "time": collected.time,
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
                "problems": self.problems,
                "roster": [each._replace(cells=())._asdict() for each in self.roster],
            }
        )


def collect(
    path, assignment=None, key=variants.PUBLIC, platform=None, roster=None, any_variant=False
):
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
        One of :func:`ibpcl.classroom.intake.platforms.platforms`; guessed by default.
    roster : Roster, optional
        List of the class.
    any_variant : bool
        Whether to accept a class whose variants do not follow from the key.

    Returns
    -------
    Collection

    Raises
    ------
    UserError
        If no hand-in is found, or if the variants of most hand-ins do not follow from the key.
    """
    roster = roster or Roster()
    path = Path(path)
    with _folder(path) as (folder, left_out):
        download = platforms.separated(folder, platform, collected_ids(folder))
        if not download.units:
            raise UserError(
                f"class: {path} contains no hand-in, read as a download of the platform "
                f"{download.platform!r}; see `platform`"
            )
        reads = [read for unit in download.units for read in _read(unit, assignment, roster)]
        if path.is_dir() and (packed := _packed_class(reads)):
            return collect(packed, assignment, key, platform, roster, any_variant)
    evidence = [Evidence.of(read.unit, read.said, roster) for read in reads]
    identities = Deciding(evidence, roster, assignment, key).identities()
    submissions = _by_student(reads, identities, assignment)
    if assignment is not None and not any_variant:
        refuse_contradiction(submissions, assignment, key)
    ids = {folded(each.student) for each in submissions}
    missing = [student for student in roster.students if folded(student.id) not in ids]
    unknown = [
        each.student for each in submissions if len(roster) and roster.get(each.student) is None
    ]
    return Collection(
        download.platform,
        submissions,
        [*map(tuple, left_out), *download.ignored],
        missing,
        unknown,
        _problems(submissions, missing, roster) + _unlisted_groups(reads, missing, roster),
        roster.students,
    )


def _packed_class(reads):
    """Return the only file of a folder if it is the zip of a class, else None."""
    pieces = [(read, piece) for read in reads for piece in read.unit.pieces]
    if len(pieces) != 1 or pieces[0][0].unit.known:
        return None
    read, piece = pieces[0]
    if piece.path.suffix.lower() != ".zip":
        return None
    with _folder(piece.path) as (folder, _):
        download = platforms.separated(folder)
    recognized = download.platform != platforms.PLAIN and len(download.units) > 1
    return piece.path if recognized or len(read.people) > 1 else None


def _unlisted_groups(reads, missing, roster):
    """Return a problem if the participants are groups whose members nothing states.

    Then the names of most participants differ from each other and from all names in the class list,
    but their files name students of the list, and other students are missing.
    """
    names = {}
    for read in reads:
        written = shown(read.said.get("STUDENT", ""))
        listed = has_words(written) and roster.match(written) is not None
        if read.unit.known and listed and not read.unit.members:
            names |= {name: read for name in read.unit.names if not roster.find(name).students}
    has_names = any(student.full_name for student in roster.students)
    if not missing or not has_names or len(names) < 2 or 2 * len(names) <= len(reads):
        return []
    examples = ", ".join(list(names)[:MOST_NAMED])
    return [
        f"no student of the class list has one of these names: {examples}; if they are groups, "
        "give the class list a column `group`, and all members get the points"
    ]


def _problems(submissions, missing, roster):
    """Return the signs that a download was not read as a class, the gravest first."""
    problems = []
    if len(roster) > 1 and 2 * len(missing) > len(roster):
        names = ", ".join(each.id for each in missing[:MOST_NAMED])
        more = ", ..." if len(missing) > MOST_NAMED else ""
        problems.append(
            f"{len(missing)} of {len(roster)} students of the class list are missing: {names}{more}"
        )
    for each in submissions:
        if len(each.people) > 1 and not each.group:
            names = ", ".join(sorted(each.people)[:MOST_NAMED])
            problems.append(
                f"the files of {each.student} name {len(each.people)} students: {names}"
            )
    return problems


def submission_of(folder, assignment, student, key=variants.PUBLIC, words=()):
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
    files = files_in(folder)
    unit = Unit(folded(student), student, logins=(student, *filter(None, words)), known=True)
    unit.pieces += [Piece(file, name) for name, file in files.paths.items() if file.is_file()]
    unit.ignored += files.ignored.items()
    (read,) = _read(unit, assignment, Roster())
    if not read.attempts:
        raise UserError(read.reason)
    evidence = Evidence.of(unit, read.said, Roster())
    if related(evidence.written, unit):
        (identity,) = Deciding([evidence], Roster(), assignment, key).identities()
        student = identity.students[0]
    return read.attempts[-1].submission._replace(student=student)


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


def _read(unit, assignment, roster):
    """Return a unit with its attempts, or the units of the students whom it holds."""
    if not unit.pieces:
        unit.ignored = unit.ignored or [(unit.student, "an empty folder")]
        reason = f"class: {unit.student} contains no Python file or notebook"
        return [Read(unit, [], reason, [], {}, set())]
    try:
        answer = opened([(piece.path, piece.name) for piece in unit.pieces], assignment)
    except UserError as error:
        return [Read(unit, [], str(error), [], {}, set())]
    named = defaultdict(set)
    for candidate in answer["candidates"]:
        written = shown((candidate["facts"] or {"said": {}})["said"].get("STUDENT", ""))
        if has_words(written):
            meant = roster.match(written)
            named[candidate["piece"]].add(variant_id(meant.id if meant else written))
    parts = [] if unit.known else divided(unit, named, roster)
    if parts:
        return [read for part in parts for read in _read(part, assignment, roster)]
    unit.ignored += [tuple(pair) for pair in answer["ignored"]]
    people = set().union(*named.values())
    return [Read(unit, *_attempts(unit, answer["candidates"], assignment), people)]


def divided(unit, named, roster):
    """Return the units of the students whom a folder holds, or nothing if it is one student's.

    A folder holds several students if files in different places name different ones, or if the
    class list knows its entries.  The folder of a student whom its name tells is never divided.

    Parameters
    ----------
    unit : ibpcl.classroom.intake.units.Unit
        A file or folder that follows no platform's pattern.
    named : dict of int to set of str
        Number of a piece to the students whom it names.
    roster : Roster
        List of the class.

    Returns
    -------
    list of Unit
    """
    pieces = dict(enumerate(unit.pieces))
    for level in range(max(piece.name.count("/") for piece in unit.pieces) + 1):
        groups = defaultdict(list)
        for at, piece in pieces.items():
            groups[piece.name.split("/")[level]].append(at)
        known = {name: roster.find(platforms.bare(name)).students for name in groups}
        people = {
            name: {person for at in places for person in named.get(at, ())}
            | {variant_id(each.id) for each in known[name][:1]}
            for name, places in groups.items()
        }
        everybody = set().union(*people.values())
        if sum(map(bool, people.values())) > 1 and len(everybody) > 1:
            return _units(unit, groups, level)
        if len(groups) > 1:
            return (
                []
                if everybody or not _look_like_students(groups, unit)
                else _units(unit, groups, level)
            )
        (name,) = groups
        if known[name] or any(related(person, Unit("", name)) for person in everybody):
            return []
        pieces = {at: piece for at, piece in pieces.items() if piece.name.count("/") > level}
        if not pieces:
            return []
    return []


def _units(unit, groups, level):
    """Return a unit for each entry of a folder that holds a class."""
    units = []
    for name, places in groups.items():
        pieces = [unit.pieces[at] for at in places]
        is_file = pieces[0].name.count("/") == level
        if is_file and not is_program(name):
            unit.ignored.append((pieces[0].name, "a file outside the students' folders"))
            continue
        student = platforms.bare(name) if is_file else name
        units.append(Unit(folded(name), student, names=(student,), pieces=pieces))
    if units:
        units[0].ignored += unit.ignored
    return units


def _look_like_students(groups, unit):
    """Return whether all entries of a folder are folders with plausible names of students."""
    return len(groups) >= LEAST_FOLDERS and not any(
        name.casefold() in NO_STUDENTS
        or attempt_of(f"{name}/x")
        or any(unit.pieces[at].name.endswith(f"/{name}") for at in places)
        for name, places in groups.items()
    )


def _attempts(unit, found, assignment):
    """Return the attempts of a unit, the reason if there are none, notes, and the constants in
    the file that counts or comes closest.
    """
    groups = defaultdict(list)
    for candidate in found:
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
    order = (piece.order, *age(label or candidate["name"], piece.path.stat().st_mtime))
    return Attempt(submission, candidate["name"], label, order, piece.late, piece.time)


def _times_are_known(reads):
    """Return whether the times of the files differ.

    If they hardly do, they are those of a download or of unpacking, and say nothing.
    """
    seconds = [read.attempts[-1].order[3] for read in reads if read.attempts]
    return len(seconds) < LEAST_FOLDERS or max(seconds) - min(seconds) > AT_ONCE


def _timed(attempt, student, known):
    """Return an attempt of a student with its time, which is that of the platform if it has one."""
    seconds = attempt.order[3] if known else 0.0
    time = attempt.time
    if not time and seconds:
        time = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return replace(attempt, submission=attempt.submission._replace(student=student), time=time)


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


def _by_student(reads, identities, assignment):
    """Return the hand-ins, one per student, sorted by student."""
    students = {}
    known = _times_are_known(reads)
    for read, identity in zip(reads, identities, strict=True):
        unit = read.unit
        origin = unit.pieces[0].name.split("/")[0] if unit.pieces else unit.student
        # The work of a group has the variant of one member, who is the author for the judge.
        author = _author(read.said, identity.students)
        for student in identity.students:
            found = students.setdefault(folded(student), Found(student, origin))
            found.notes += [*read.notes, *identity.notes]
            found.ignored += unit.ignored
            found.reason = read.reason or found.reason
            found.said = read.said or found.said
            found.attempts += [_timed(each, author, known) for each in read.attempts]
            found.participants += [unit.number] if unit.number else []
            found.people |= read.people
            if len(identity.students) > 1:
                found.group = identity.students
    for found in students.values():
        _settle(found, assignment)
    return [students[name] for name in sorted(students, key=natural)]


def _author(said, students):
    """Return the member of a group whom the file names, or else the first."""
    written = variant_id(said.get("STUDENT", ""))
    return next((each for each in students if variant_id(each) == written), students[0])


def _settle(found, assignment):
    """Put the attempts of a student in order, and note what the teacher must know."""
    attempts = _distinct(found.attempts, assignment)
    found.attempts = attempts[-MOST_ATTEMPTS:]
    found.ignored += [
        (each.name, f"an earlier attempt: the last {MOST_ATTEMPTS} count")
        for each in attempts[:-MOST_ATTEMPTS]
    ]
    if found.attempts:
        found.notes += [found.reason] if found.reason else []
        found.reason = ""
        found.said = found.attempts[-1].submission.facts["said"]
    if found.group:
        found.notes.append(f"work of a group: {', '.join(found.group)}")
    if len(attempts) > 1:
        names = ", ".join(each.name for each in attempts[-5:])
        found.notes.append(f"{len(attempts)} attempts: {names}")
