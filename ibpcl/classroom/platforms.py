"""The folders that learning platforms make of a class's hand-ins, taken apart into students and files.

=============  ====================================================================================================
platform       what its download looks like
=============  ====================================================================================================
moodle         ``Ada Byron_1000_assignsubmission_file/hw.py``, or flat: ``..._assignsubmission_file_hw.py``
canvas         ``byronada_LATE_4711_90210_hw-1.py``
gradescope     ``submission_55500/hw.py`` and ``submission_metadata.yml``
blackboard     ``Homework 1_ada_attempt_2024-11-01-23-59-10_hw.py``, and a ``.txt`` without the file's name
brightspace    ``1000-1005 - Ada Byron - Nov 3, 2024 1159 PM/hw.py``, or flat
github         a repository per student, named with a common prefix: ``hw1-ada/hw.py``
nbgrader       ``ada/hw1/hw.ipynb``, or ``ada+hw1+2024-11-01 12:00:00 UTC`` as the exchange has it
folder         a file or folder per student, named with the id
=============  ====================================================================================================

A platform's pattern gives an id only where the file itself names no student; see
:mod:`ibpcl.classroom.collecting`.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ibpcl.classroom.choosing import attempt_of, natural
from ibpcl.classroom.students import folded

PLATFORMS = ("moodle", "canvas", "gradescope", "blackboard", "brightspace", "github", "nbgrader", "folder")
PROGRAMS = (".py", ".ipynb", ".zip", ".py.txt", ".ipynb.txt", ".ipynb.json")
MOODLE = re.compile(r"(?P<who>.+?)(?:_(?P<number>\d+))?_+assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)")
# Names before the first "_", then the student's number and the file's.
CANVAS = re.compile(r"(?P<who>[^_]+)_(?P<late>LATE_)?(?P<number>\d+|[A-Za-z0-9]{5})_(?P<attachment>\d+|text|url)"
                    r"(?P<file>(?:_.*|\.html?))")
GRADESCOPE = re.compile(r"submission_(?P<number>\d+)(?P<file>\.\w+)?")
BLACKBOARD = re.compile(r"(?P<work>.+)_(?P<who>[^_]+)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?P<file>_.*|\.txt)?")
BRIGHTSPACE = re.compile(r"(?P<number>\d+)-(?P<item>\d+)\s*-\s*(?P<who>.+?)\s*-\s*"
                         r"(?P<time>[^-]*\b\d{4}\b[^-]*?)(?:\s*-\s*(?P<file>.*))?")
EXCHANGE = re.compile(r"(?P<who>[^+]+)\+(?P<work>[^+]+)\+(?P<time>\d{4}-\d\d-\d\d[^+]*)(?:\+.*)?")
COPY = re.compile(r"\s*(\(\d+\)|- (copy|kopie)( \(\d+\))?)$", re.IGNORECASE)
WRAPPERS = re.compile(r"(?i)(submitted|submissions?|hand-?ins|.*[-_]submissions?|assignment_\d+_export)")
COMMON_FOLDERS = ("src", "test", "tests", "doc", "docs", "data", "code", "lib", "notebooks", "figures", "images", "old")
NO_FOLDERS = (".git", "__MACOSX", ".ipynb_checkpoints", "__pycache__")


@dataclass(frozen=True)
class Piece:
    """A file of a student.

    Attributes
    ----------
    path : pathlib.Path
    name : str
        Its path in the hand-in.
    attempt : str
        What the platform calls the attempt; files of one attempt belong together.
    order : tuple
        Later files of one student have larger ones.
    late : bool
    """

    path: Path
    name: str
    attempt: str = ""
    order: tuple = ()
    late: bool = False


@dataclass
class Unit:
    """All files that a platform keeps for one student.

    Attributes
    ----------
    key : str
        The same for the same student.
    student : str
        The id, if the platform has one; else the best name for it.
    certain : bool
        Whether ``student`` is an id that the platform itself uses.
    fixed : bool
        Whether ``student`` was decided on before, by `ibpcl class collect`.
    words : tuple of str
        Names, addresses and numbers that a roster may know the student by.
    pieces : list of Piece
    ignored : list of (str, str)
        Names of files that were not looked at, and why.
    """

    key: str
    student: str
    certain: bool = False
    fixed: bool = False
    words: tuple = ()
    pieces: list = field(default_factory=list)
    ignored: list = field(default_factory=list)

    def add(self, path, name=None, **about):
        """Add a file, or all files of a folder."""
        if path.is_symlink():
            self.ignored.append((name or path.name, "a link"))
        elif path.is_dir():
            for each in _files(path, self.ignored):
                inner = f"{name or path.name}/{each.relative_to(path).as_posix()}"
                self.pieces.append(Piece(each, inner, **about))
        elif path.is_file():
            self.pieces.append(Piece(path, name or path.name, **about))
        else:
            self.ignored.append((name or path.name, "not an ordinary file"))


def unwrapped(folder):
    """Return the folder that has the hand-ins: downloads often have one folder around them."""
    folder = Path(folder)
    for _ in range(4):
        inside = [path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX"))]
        folders = [path for path in inside if path.is_dir() and not path.is_symlink()]
        rest = [path for path in inside if path not in folders]
        if len(folders) != 1 or any(path.name.lower().endswith(PROGRAMS) for path in rest):
            return folder
        below = list(folders[0].iterdir())
        # A folder with a program in it is a student's; one with folders, or a platform's names, is a wrapper.
        if guess(below) == "folder" and not (WRAPPERS.fullmatch(folders[0].name) or _is_class_folder(below)):
            return folder
        folder = folders[0]
    return folder


def guess(entries):
    """Return the platform that most of the names in a folder look like.

    Parameters
    ----------
    entries : list of pathlib.Path
    """
    names = [path.name for path in entries if not path.name.startswith(".")]
    if "submission_metadata.yml" in names:
        return "gradescope"
    counts = {
        "moodle": sum("_assignsubmission_" in name for name in names),
        "blackboard": sum(bool(BLACKBOARD.fullmatch(name)) for name in names),
        "brightspace": sum(bool(BRIGHTSPACE.fullmatch(name)) for name in names),
        "gradescope": sum(bool(GRADESCOPE.fullmatch(name)) for name in names),
        "canvas": sum(bool(CANVAS.fullmatch(name)) for name in names),
        "nbgrader": sum(bool(EXCHANGE.fullmatch(name)) for name in names),
    }
    best = max(counts, key=counts.get)
    if counts[best] * 2 > len(names):
        return best
    folders = [path for path in entries if path.is_dir() and not path.name.startswith(".")]
    if folders and sum((path / ".git").exists() or (path / ".github").is_dir() for path in folders) * 2 > len(folders):
        return "github"
    if folders and sum(any(path.glob("*/timestamp.txt")) for path in folders) * 2 > len(folders):
        return "nbgrader"
    return "folder"


def units(folder, platform, collected=None):
    """Return the students in a folder, and what belongs to none of them.

    Parameters
    ----------
    folder : path
    platform : str
        One of :data:`PLATFORMS`.
    collected : dict of str to str, optional
        Folder to student, where `ibpcl class collect` made the folder.

    Returns
    -------
    units : list of Unit
    ignored : list of (str, str)
    """
    entries = sorted(Path(folder).iterdir(), key=lambda path: natural(path.name))
    found, ignored = {}, []
    about = _metadata(Path(folder)) if platform == "gradescope" else {}
    prefix = _common_prefix([path.name for path in entries if path.is_dir()]) if platform == "github" else ""
    take = {"moodle": _moodle, "canvas": _canvas, "blackboard": _blackboard, "brightspace": _brightspace,
            "nbgrader": _nbgrader, "gradescope": lambda path: _gradescope(path, about),
            "github": lambda path: _github(path, prefix), "folder": _folder}[platform]
    for path in entries:
        if path.is_symlink():
            ignored.append((path.name, "a link"))
            continue
        made = None if path.name.startswith(".") or path.name in NO_FOLDERS else take(path)
        if made is None:
            ignored.append((path.name, _why(path)))
            continue
        unit, piece, options = made
        if collected and path.name in collected:
            student = collected[path.name]
            unit = Unit(folded(student), student, certain=True, fixed=True, words=(student,))
        unit = found.setdefault(unit.key, unit)
        unit.add(path, piece, **options)
    return list(found.values()), ignored


def _moodle(path):
    match = MOODLE.fullmatch(path.name)
    if match is None or match["kind"] not in ("file", "onlinetext"):
        return None
    who, number = match["who"].strip(" _"), match["number"] or ""
    # With groups the name is behind a hyphen: "Group A-Ada Byron".
    words = (who, who.partition("-")[2], who.rpartition("-")[2], f"Participant {number}", number, *who.split("_"))
    return Unit(number or folded(who), who, words=words), path.name, {}


def _canvas(path):
    match = CANVAS.fullmatch(path.name)
    if match is None:
        return None
    unit = Unit(f"{match['who']}_{match['number']}", match["who"], words=(match["number"], match["who"]))
    order = (int(match["attachment"]) if match["attachment"].isdecimal() else 0,)
    return unit, path.name, {"order": order, "late": bool(match["late"])}


def _gradescope(path, about):
    match = GRADESCOPE.fullmatch(path.name)
    if match is None:
        return None
    person = about.get(match["number"], {})
    student = person.get("sid") or person.get("email") or path.name
    words = tuple(filter(None, (person.get("sid"), person.get("email"), person.get("name"))))
    return Unit(path.name, student, certain=bool(words), words=words), path.name, {"late": person.get("late", False)}


def _blackboard(path):
    match = BLACKBOARD.fullmatch(path.name)
    if match is None or (match["file"] or ".txt") == ".txt":
        return None
    options = {"attempt": match["time"], "order": (match["time"],)}
    return Unit(folded(match["who"]), match["who"], certain=True, words=(match["who"],)), path.name, options


def _brightspace(path):
    match = BRIGHTSPACE.fullmatch(path.name)
    if match is None:
        return None
    unit = Unit(match["number"], match["who"], words=(match["who"], match["number"]))
    return unit, path.name, {"attempt": match["time"], "order": _date(match["time"])}


def _nbgrader(path):
    match = EXCHANGE.fullmatch(path.name)
    if match is not None:
        options = {"attempt": match["time"], "order": (match["time"],)}
        return Unit(folded(match["who"]), match["who"], certain=True, words=(match["who"],)), path.name, options
    return _folder(path) if path.is_dir() else None


def _github(path, prefix):
    if not path.is_dir():
        return None
    student = path.name[len(prefix):] or path.name
    return Unit(folded(student), student, certain=True, words=(student,)), path.name, {}


def _folder(path):
    suffix = next((each for each in PROGRAMS if path.name.lower().endswith(each)), "")
    if not path.is_dir() and not suffix:
        return None
    name = path.name if path.is_dir() else path.name[:-len(suffix)]
    student = COPY.sub("", name).strip() or name
    return Unit(folded(student), student, certain=True, words=(student,)), path.name, {}


def _why(path):
    if path.is_dir():
        return "a folder that no student's name can be read from"
    return f"a {path.suffix} file" if path.suffix and not path.name.lower().endswith(PROGRAMS) else \
        "no student's name can be read from it"


def _files(folder, ignored):
    """Yield the files of a folder in a fixed order; links are not followed."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in list(folders):
            if Path(root, name).is_symlink():
                folders.remove(name)
                ignored.append((Path(root, name).relative_to(folder).as_posix(), "a link"))
            elif name in (".git", "node_modules", "__pycache__") or Path(root, name, "pyvenv.cfg").exists():
                folders.remove(name)
                kind = "a virtual environment" if Path(root, name, "pyvenv.cfg").exists() else "not a student's work"
                ignored.append((Path(root, name).relative_to(folder).as_posix() + "/", kind))
        for name in sorted(names):
            path = Path(root, name)
            if path.is_symlink() or not path.is_file():
                ignored.append((path.relative_to(folder).as_posix(), "a link" if path.is_symlink() else "no file"))
            else:
                yield path


def _is_class_folder(entries):
    """Return whether a folder holds a class: three folders or more, with names that students could have."""
    visible = [path for path in entries if not path.name.startswith(".")]
    return len(visible) > 2 and all(path.is_dir() for path in visible) and not any(
        path.name.casefold() in COMMON_FOLDERS or attempt_of(f"{path.name}/x") for path in visible)


def _common_prefix(names):
    """Return the common beginning of names, up to and with the last hyphen."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:first.rfind("-", 0, same) + 1]


def _metadata(folder):
    """Return {number of the submission: what Gradescope's metadata say of its first submitter}."""
    path, found, number, depth = folder / "submission_metadata.yml", {}, "", 0
    if not path.is_file() or path.stat().st_size > 64 << 20:
        return {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        start = re.match(r"submission_(\d+):", line)
        if start:
            number, depth = start[1], 0
            found[number] = {}
        key = re.match(r"  :?(\w+):\s*(.*)$", line)
        if key:
            depth = key[1] == "submitters"                # of the submission itself, not of its history
        entry = re.match(r"\s*(?:- )?:?(name|sid|email):\s*(.*)$", line)
        if entry and number and depth:
            found[number].setdefault(entry[1], entry[2].strip().strip("'\""))
    return found


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _date(text):
    """Return a date such as ``Nov 3, 2024 1159 PM`` as a tuple that sorts; the text itself where it is not one."""
    match = re.match(r"(\w{3})\w* (\d+), (\d{4}),? (\d{1,2}):?(\d\d) ?(AM|PM)?", text, re.IGNORECASE)
    if match is None or match[1].lower() not in MONTHS:
        return (0, natural(text))
    hour = int(match[4]) % 12 + 12 * ((match[6] or "").upper() == "PM") if match[6] else int(match[4])
    return (1, (int(match[3]), MONTHS.index(match[1].lower()), int(match[2]), hour, int(match[5])))
