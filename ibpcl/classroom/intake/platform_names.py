"""Names of files and folders on each platform, read for the student, the attempt and lateness.

Each function returns the unit of the student, the name in messages, and the facts about the
attempt.  It returns None if the name does not follow the platform's pattern.
"""

import re

from ibpcl.classroom.assignments.ids import folded
from ibpcl.classroom.intake.choosing import natural
from ibpcl.classroom.intake.units import Unit

PROGRAMS = (".py", ".ipynb", ".zip", ".py.txt", ".ipynb.txt", ".ipynb.json")
MOODLE = re.compile(
    r"(?P<who>.+?)(?:_(?P<number>\d+))?_+assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)"
)
# Names before the first "_", then the student's number and the file's.
CANVAS = re.compile(
    r"(?P<who>[^_]+)_(?P<late>LATE_)?(?P<number>\d+|[A-Za-z0-9]{5})_(?P<attachment>\d+|text|url)"
    r"(?P<file>(?:_.*|\.html?))"
)
GRADESCOPE = re.compile(r"submission_(?P<number>\d+)(?P<file>\.\w+)?")
BLACKBOARD = re.compile(
    r"(?P<work>.+)_(?P<who>[^_]+)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?P<file>_.*|\.txt)?"
)
BRIGHTSPACE = re.compile(
    r"(?P<number>\d+)-(?P<item>\d+)\s*-\s*(?P<who>.+?)\s*-\s*"
    r"(?P<time>[^-]*\b\d{4}\b[^-]*?)(?:\s*-\s*(?P<file>.*))?"
)
EXCHANGE = re.compile(r"(?P<who>[^+]+)\+(?P<work>[^+]+)\+(?P<time>\d{4}-\d\d-\d\d[^+]*)(?:\+.*)?")
COPY = re.compile(r"\s*(\(\d+\)|- (copy|kopie)( \(\d+\))?)$", re.IGNORECASE)


def moodle(path):
    """Read a name of Moodle: folders, flat files, groups and anonymous participants.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    match = MOODLE.fullmatch(path.name)
    if match is None:
        return None
    who = match["who"].strip(" _")
    number = match["number"] or ""
    # With groups, the name follows a hyphen: "Group A-Ada Byron".
    words = (
        who,
        who.partition("-")[2],
        who.rpartition("-")[2],
        f"Participant {number}",
        number,
        *who.split("_"),
    )
    return Unit(number or folded(who), who, words=words), path.name, {}


def canvas(path):
    """Read a name of Canvas.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    match = CANVAS.fullmatch(path.name)
    if match is None:
        return None
    unit = Unit(
        f"{match['who']}_{match['number']}", match["who"], words=(match["number"], match["who"])
    )
    order = (int(match["attachment"]) if match["attachment"].isdecimal() else 0,)
    return unit, path.name, {"order": order, "late": bool(match["late"])}


def gradescope(path, about):
    """Read a name of a Gradescope export.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.
    about : dict of str to dict
        Facts about the submitters, as :func:`metadata` returns them.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    match = GRADESCOPE.fullmatch(path.name)
    if match is None:
        return None
    person = about.get(match["number"], {})
    student = person.get("sid") or person.get("email") or path.name
    words = tuple(filter(None, (person.get("sid"), person.get("email"), person.get("name"))))
    return (
        Unit(path.name, student, certain=bool(words), words=words),
        path.name,
        {"late": person.get("late", False)},
    )


def blackboard(path):
    """Read a name of Blackboard; the ``.txt`` beside the files is not a hand-in.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    match = BLACKBOARD.fullmatch(path.name)
    if match is None or (match["file"] or ".txt") == ".txt":
        return None
    options = {"attempt": match["time"], "order": (match["time"],)}
    return (
        Unit(folded(match["who"]), match["who"], certain=True, words=(match["who"],)),
        path.name,
        options,
    )


def brightspace(path):
    """Read a name of Brightspace.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    match = BRIGHTSPACE.fullmatch(path.name)
    if match is None:
        return None
    unit = Unit(match["number"], match["who"], words=(match["who"], match["number"]))
    return unit, path.name, {"attempt": match["time"], "order": _date(match["time"])}


def nbgrader(path):
    """Read a name of nbgrader's exchange, or the folder of a student.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    match = EXCHANGE.fullmatch(path.name)
    if match is not None:
        options = {"attempt": match["time"], "order": (match["time"],)}
        return (
            Unit(folded(match["who"]), match["who"], certain=True, words=(match["who"],)),
            path.name,
            options,
        )
    return plain(path) if path.is_dir() else None


def github(path, prefix):
    """Read the name of a repository after the common prefix.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.
    prefix : str
        Common prefix of all repositories.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    if not path.is_dir():
        return None
    student = path.name[len(prefix) :] or path.name
    return Unit(folded(student), student, certain=True, words=(student,)), path.name, {}


def plain(path):
    """Read a file or folder that is named with the id.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; only its name and kind are read.

    Returns
    -------
    (Unit, str, dict) or None
        The student's unit, the name in messages, and keyword arguments of
        :class:`ibpcl.classroom.intake.units.Piece`.
    """
    suffix = next((each for each in PROGRAMS if path.name.lower().endswith(each)), "")
    if not path.is_dir() and not suffix:
        return None
    name = path.name if path.is_dir() else path.name[: -len(suffix)]
    student = COPY.sub("", name).strip() or name
    return Unit(folded(student), student, certain=True, words=(student,)), path.name, {}


def common_prefix(names):
    """Return the common prefix of names, up to and including its last hyphen.

    Parameters
    ----------
    names : list of str
        Names of all entries.

    Returns
    -------
    str
        Empty if there are fewer than two names.
    """
    if len(names) < 2:
        return ""
    first = min(names)
    last = max(names)
    same = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first[: first.rfind("-", 0, same) + 1]


def metadata(folder):
    """Return the facts about each submission from Gradescope's metadata.

    Parameters
    ----------
    folder : pathlib.Path
        The export.

    Returns
    -------
    dict of str to dict
        Number of the submission to ``name``, ``sid`` and ``email`` of its first submitter; empty if
        there is no metadata.
    """
    path = folder / "submission_metadata.yml"
    facts = {}
    number = ""
    depth = 0
    if not path.is_file() or path.stat().st_size > 64 << 20:
        return {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        start = re.match(r"submission_(\d+):", line)
        if start:
            number = start[1]
            depth = 0
            facts[number] = {}
        key = re.match(r"  :?(\w+):\s*(.*)$", line)
        if key:
            # submitters of the submission itself, not of its history
            depth = key[1] == "submitters"
        entry = re.match(r"\s*(?:- )?:?(name|sid|email):\s*(.*)$", line)
        if entry and number and depth:
            facts[number].setdefault(entry[1], entry[2].strip().strip("'\""))
    return facts


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _date(text):
    """Return a date such as ``Nov 3, 2024 1159 PM`` as a sort key; any other text unchanged."""
    match = re.match(
        r"(\w{3})\w* (\d+), (\d{4}),? (\d{1,2}):?(\d\d) ?(AM|PM)?", text, re.IGNORECASE
    )
    if match is None or match[1].lower() not in MONTHS:
        return (0, natural(text))
    hour = (
        int(match[4]) % 12 + 12 * ((match[6] or "").upper() == "PM") if match[6] else int(match[4])
    )
    return (1, (int(match[3]), MONTHS.index(match[1].lower()), int(match[2]), hour, int(match[5])))
