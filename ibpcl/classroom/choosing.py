"""Choice among the files that a student handed in: by their content, not by name or time alone.

A file counts if it names this assignment in ``ASSIGNMENT``, or names none and defines functions
that the assignment asks for.  A blank stub beside a file that is filled in does not count.  Several
files with different contents are attempts if their folders say so; otherwise the most complete one
is taken, then the newest, and the others are named.
"""

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from ibpcl.classroom import assignment as assignments
from ibpcl.classroom.handin import functions_of
from ibpcl.errors import UserError

OLD = re.compile(
    r"(?i)(^|[\W_])(old|alt|backup|bak|copy|kopie|draft|orig|original|tmp|template)([\W_]|$)"
)
NUMBERED = re.compile(r"(?i)(?:attempt|versuch|submission|abgabe|version|upload|try|v)[\W_]*(\d+)")


class Choice(NamedTuple):
    """The file that counts.

    Attributes
    ----------
    candidate : dict
        As :func:`ibpcl.classroom.reading.candidates.read_all` returns it.
    notes : list of str
        Which other files there were, and why this one was taken.
    """

    candidate: dict
    notes: list


class Misfit(UserError):
    """Nothing that was handed in can be the hand-in; ``said`` has the names in the best of the
    files.
    """

    def __init__(self, words, said=None):
        super().__init__(words)
        self.said = said or {}


def choose(candidates, assignment=None, path="the hand-in"):
    """Return the file that counts.

    Parameters
    ----------
    candidates : list of dict
    assignment : Assignment, optional
        Without it, the file that names any assignment.
    path : path
        For messages.

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
    ranked = sorted(filled, key=lambda each: rank(each, assignment), reverse=True)
    chosen = ranked[0]
    others = [each for each in ranked[1:] if each["source"] != chosen["source"]]
    notes = []
    if chosen["note"]:
        notes.append(f"{chosen['name']}: {chosen['note']}")
    if others:
        names = ", ".join(each["name"] for each in others[:5])
        notes.append(f"{chosen['name']} counts, not {names}, which could be the hand-in, too")
    return Choice(chosen, notes)


def relation(candidate, assignment):
    """Return 2 for a file of the assignment, 1 for a possible one, 0 for a stranger, -1 for another
    assignment.
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
    """Return whether a name, number or word stands for an assignment."""
    number, _, word = assignment.name.partition("_")
    plain = named.casefold().replace(" ", "_").replace("-", "_")
    return plain in (assignment.name.casefold(), word.casefold(), number) or (
        plain.isdecimal() and number.isdecimal() and int(plain) == int(number)
    )


def is_blank(candidate, assignment):
    """Return whether a file is a stub in which nothing was filled in."""
    return (
        not candidate["facts"]["error"]
        and not filled(candidate, assignment)
        and not _written(candidate)
    )


def filled(candidate, assignment):
    """Return how many of the required functions have a body."""
    functions = candidate["facts"]["functions"]
    asked = functions_of(assignment) if assignment is not None else set(functions)
    return sum(functions.get(name, False) for name in asked)


def rank(candidate, assignment):
    """Return what files are compared by: complete, not a backup, the platform's order, the time,
    the name.
    """
    stem = PurePosixPath(candidate["name"]).name
    return (
        not candidate["facts"]["error"],
        filled(candidate, assignment),
        not OLD.search(stem),
        candidate.get("order", ()),
        candidate["time"],
        natural(candidate["name"]),
    )


def attempt_of(name):
    """Return the folder of an attempt in a path, "" if there is none.

    >>> attempt_of("attempt2/hw.py"), attempt_of("hw/hw.py")
    ('attempt2', '')
    """
    folders = PurePosixPath(name).parts[:-1]
    return next((part for part in folders if NUMBERED.fullmatch(part.strip("_- "))), "")


def natural(name):
    """Return a name as it is sorted: numbers by their value.

    >>> natural("a10") > natural("a9")
    True
    """
    return tuple(
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part)
        for part in re.split(r"(\d+)", name)
    )


def _written(candidate):
    said = candidate["facts"]["said"]
    answers = said.get("ANSWERS")
    given = isinstance(answers, dict) and any(
        isinstance(each, dict) and any(each.values()) for each in answers.values()
    )
    return given or bool(str(said.get("DERIVATION", "")).strip())


def _lonely(candidates, readable, assignment, path):
    """Return the only file there is, although it names no assignment; raise if there is none or are
    several.
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
        raise Misfit(f"class: {path}: there is no Python file or notebook")
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
            f"class: none of the files {names} has the line ASSIGNMENT = ... of the stub: keep it"
        )
    return plain[0]
