"""Choice among the files that a student handed in, by their content.

A file counts if it names this assignment in ``ASSIGNMENT``, or if it names none and defines
functions of the assignment.  A blank stub beside a file that is filled in does not count.  Several
files with different contents are attempts if the names of their folders indicate it.  Otherwise the
most complete one counts, and the newest of equally complete ones; a note names the others.
"""

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from ibpcl.classroom.assignments import assignment as assignments
from ibpcl.classroom.assignments.assignment import functions_of
from ibpcl.classroom.assignments.ids import variant_id
from ibpcl.errors import UserError

OLD = re.compile(
    r"(?i)(^|[\W_])(old|alt|backup|bak|copy|kopie|draft|orig|original|tmp|template)([\W_]|$)"
)
NUMBERED = re.compile(r"(?i)(?:attempt|versuch|submission|abgabe|version|upload|try|v)[\W_]*(\d+)")
VERSION = re.compile(r"(?:\s*\((\d+)\)|[-_ ]v?(\d+))$")
SUFFIXES = re.compile(r"(?i)\.(py|ipynb|zip)(\.txt|\.json)?$")
AT_ONCE = 60.0  # seconds between the times of files that were unpacked or cloned together


class Choice(NamedTuple):
    """The file that counts.

    Attributes
    ----------
    candidate : dict
        The file, as :func:`ibpcl.classroom.intake.reading.candidates.read_all` returns it.
    notes : list of str
        Sentences about its encoding and about other files that could be the hand-in.
    """

    candidate: dict
    notes: list


class Misfit(UserError):
    """An error: none of the files can be the hand-in.

    Parameters
    ----------
    words : str
        The message.
    said : dict, optional
        The constants in the most likely file, such as STUDENT.

    Attributes
    ----------
    said : dict
        The constants in the most likely file; empty if unknown.
    """

    def __init__(self, words, said=None):
        super().__init__(words)
        self.said = said or {}


def choose(candidates, assignment=None, path="the hand-in"):
    """Return the file that counts.

    Parameters
    ----------
    candidates : list of dict
        The files, as :func:`ibpcl.classroom.intake.reading.candidates.read_all` returns them.
    assignment : Assignment, optional
        The assignment; without it, a file that names any assignment counts.
    path : path-like
        Name of the hand-in in messages.

    Returns
    -------
    Choice

    Raises
    ------
    Misfit
        If none of them can be the hand-in.
    """
    readable = [each for each in candidates if each["source"] or each["facts"]]
    fitting = [each for each in readable if relation(each, assignment) > 0]
    best = max((relation(each, assignment) for each in fitting), default=0)
    fitting = [each for each in fitting if relation(each, assignment) == best]
    if not fitting:
        return Choice(_lonely(candidates, readable, assignment, path), [])
    filled = [each for each in fitting if not is_blank(each, assignment)] or fitting
    ranked = sorted(filled, key=lambda each: rank(each, assignment, path), reverse=True)
    chosen = ranked[0]
    others = [each for each in ranked[1:] if each["source"] != chosen["source"]]
    notes = []
    if chosen["note"]:
        notes.append(f"{chosen['name']}: {chosen['note']}")
    if others:
        names = ", ".join(each["name"] for each in others[:5])
        notes.append(f"{chosen['name']} counts; {names} could be the hand-in, too")
    return Choice(chosen, notes)


def relation(candidate, assignment):
    """Return how well a file fits an assignment.

    Parameters
    ----------
    candidate : dict
        The file.
    assignment : Assignment or None
        The assignment; None for any.

    Returns
    -------
    int
        2 if the file names the assignment, 1 if it may belong to it, 0 if it is unrelated, -1 if it
        names another assignment.
    """
    facts = candidate["facts"]
    named = facts["said"].get("ASSIGNMENT", "").strip()
    if assignment is None:
        return 2 if named else 0
    if named and is_same(named, assignment):
        return 2
    if named and any(is_same(named, assignments.find(each)) for each in assignments.names()):
        return -1
    return 1 if functions_of(assignment) & set(facts["functions"]) else 1 if named else 0


def is_same(named, assignment):
    """Return whether a name, number or word stands for an assignment.

    Parameters
    ----------
    named : str
        Value of ASSIGNMENT in a file.
    assignment : Assignment
        The assignment.

    Returns
    -------
    bool
    """
    number, _, word = assignment.name.partition("_")
    plain = named.casefold().replace(" ", "_").replace("-", "_")
    return plain in (assignment.name.casefold(), word.casefold(), number) or (
        plain.isdecimal() and number.isdecimal() and int(plain) == int(number)
    )


def is_blank(candidate, assignment):
    """Return whether a file is a stub in which nothing was filled in.

    Parameters
    ----------
    candidate : dict
        The file; only ``facts`` is read.
    assignment : Assignment or None
        The assignment; None for any.

    Returns
    -------
    bool
    """
    return (
        not candidate["facts"]["error"]
        and not filled(candidate, assignment)
        and not _written(candidate)
    )


def filled(candidate, assignment):
    """Return the number of required functions that have a body.

    Parameters
    ----------
    candidate : dict
        The file; only ``facts`` is read.
    assignment : Assignment or None
        The assignment; None counts all functions of the file.

    Returns
    -------
    int
    """
    functions = candidate["facts"]["functions"]
    required = functions_of(assignment) if assignment is not None else set(functions)
    return sum(functions.get(name, False) for name in required)


def rank(candidate, assignment, student=""):
    """Return the sort key of a file; the file with the largest key counts.

    Files are compared by, in this order: whether they parse, how many functions are filled in,
    whether they name the student of the folder, whether the name looks like a backup, the
    platform's order, the minute, the version in the name (``hw (2).py`` is newer than ``hw.py``),
    the time, and the name.

    Parameters
    ----------
    candidate : dict
        The file.
    assignment : Assignment or None
        The assignment.
    student : str
        Name of the student's folder or file.

    Returns
    -------
    tuple
    """
    stem = PurePosixPath(candidate["name"]).name
    return (
        not candidate["facts"]["error"],
        filled(candidate, assignment),
        variant_id(candidate["facts"]["said"].get("STUDENT", "")) == variant_id(student),
        not OLD.search(stem),
        candidate.get("order", ()),
        *age(candidate["name"], candidate["time"]),
    )


def age(name, seconds):
    """Return the sort key of a file by its age; the newest file has the largest key.

    Parameters
    ----------
    name : str
        Its name.
    seconds : float
        Its time, in seconds since 1970.

    Returns
    -------
    tuple

    Examples
    --------
    >>> age("hw (2).py", 1.0) > age("hw.py", 2.0)
    True
    """
    version = VERSION.search(SUFFIXES.sub("", name))
    number = int(version[1] or version[2]) if version else 0
    return (seconds // AT_ONCE, number, seconds, natural(name))


def attempt_of(name):
    """Return the folder of an attempt in a path.

    Parameters
    ----------
    name : str
        Path of a file, with slashes.

    Returns
    -------
    str
        Name of the folder; empty if no folder is named like an attempt.

    Examples
    --------
    >>> attempt_of("attempt2/hw.py"), attempt_of("hw/hw.py")
    ('attempt2', '')
    """
    folders = PurePosixPath(name).parts[:-1]
    return next((folder for folder in folders if NUMBERED.fullmatch(folder.strip("_- "))), "")


def natural(name):
    """Return the sort key of a name in natural order, with numbers sorted by value.

    Parameters
    ----------
    name : str
        Any name.

    Returns
    -------
    tuple

    Examples
    --------
    >>> natural("a10") > natural("a9")
    True
    """
    return tuple(
        (int(piece), "") if piece.isdecimal() and len(piece) < 20 else (-1, piece)
        for piece in re.split(r"(\d+)", name)
    )


def _written(candidate):
    said = candidate["facts"]["said"]
    answers = said.get("ANSWERS")
    given = isinstance(answers, dict) and any(
        isinstance(each, dict) and any(each.values()) for each in answers.values()
    )
    return given or bool(str(said.get("DERIVATION", "")).strip())


def _lonely(candidates, readable, assignment, path):
    """Return the only file, although it names no assignment.

    Raises
    ------
    Misfit
        If no file is left, or none of several can be preferred.
    """
    others = [
        each for each in readable if assignment is not None and relation(each, assignment) < 0
    ]
    plain = [each for each in readable if each not in others]
    failed = [each for each in candidates if each["problem"]]
    if not plain and not others:
        if failed:
            raise Misfit(
                "; ".join(f"class: {each['name']}: {each['problem']}" for each in failed[:3])
            )
        raise Misfit(f"class: {path} contains no Python file or notebook")
    if not plain:
        said = others[0]["facts"]["said"]
        raise Misfit(
            f"class: {others[0]['name']} names the assignment {said['ASSIGNMENT'][:60]!r}, not "
            f"{assignment.name!r}",
            said,
        )
    if len(plain) > 1 or failed:
        named = [
            each
            for each in plain
            if assignment is not None
            and PurePosixPath(each["name"]).stem == PurePosixPath(assignment.file).stem
        ]
        if len(named) == 1:
            return named[0]
        names = ", ".join(each["name"] for each in [*plain, *failed][:5])
        raise Misfit(
            f"class: none of the files {names} has the line ASSIGNMENT = ... of the stub; this "
            "line must be kept"
        )
    return plain[0]
