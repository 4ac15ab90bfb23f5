"""Downloads of learning platforms, separated into students and files.

===========  ======================================================================================
platform     download
===========  ======================================================================================
moodle       ``Ada Byron_1000_assignsubmission_file/hw.py``, or flat:
             ``..._assignsubmission_file_hw.py``
canvas       ``byronada_LATE_4711_90210_hw-1.py``
gradescope   ``submission_55500/hw.py`` and ``submission_metadata.yml``
blackboard   ``Homework 1_ada_attempt_2024-11-01-23-59-10_hw.py``, and a ``.txt`` without the
             file's name
brightspace  ``1000-1005 - Ada Byron - Nov 3, 2024 1159 PM/hw.py``, or flat
github       a repository per student, named with a common prefix: ``hw1-ada/hw.py``
nbgrader     ``ada/hw1/hw.ipynb``, or ``ada+hw1+2024-11-01 12:00:00 UTC`` as the exchange has it
folder       a file or folder per student, named with the id
===========  ======================================================================================

A platform's pattern gives an id only if the file itself names no student; see
:mod:`ibpcl.classroom.intake.collecting`.
"""

import re
from pathlib import Path

from ibpcl.classroom.assignments.ids import folded
from ibpcl.classroom.intake import platform_names
from ibpcl.classroom.intake.choosing import attempt_of, natural
from ibpcl.classroom.intake.units import Unit

PLATFORMS = (
    "moodle",
    "canvas",
    "gradescope",
    "blackboard",
    "brightspace",
    "github",
    "nbgrader",
    "folder",
)
WRAPPERS = re.compile(
    r"(?i)(submitted|submissions?|hand-?ins|.*[-_]submissions?|assignment_\d+_export)"
)
COMMON_FOLDERS = (
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
)
NO_FOLDERS = (".git", "__MACOSX", ".ipynb_checkpoints", "__pycache__")


def unwrapped(folder):
    """Return the folder with the hand-ins, which downloads often wrap in another folder.

    Parameters
    ----------
    folder : pathlib.Path
        The unpacked download.

    Returns
    -------
    pathlib.Path
    """
    folder = Path(folder)
    for _ in range(4):
        inside = [path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX"))]
        folders = [path for path in inside if path.is_dir() and not path.is_symlink()]
        rest = [path for path in inside if path not in folders]
        if len(folders) != 1 or any(
            path.name.lower().endswith(platform_names.PROGRAMS) for path in rest
        ):
            return folder
        below = list(folders[0].iterdir())
        # A folder with a program in it is a student's; one with folders, or a platform's names, is
        # a wrapper.
        if guess(below) == "folder" and not (
            WRAPPERS.fullmatch(folders[0].name) or _is_class_folder(below)
        ):
            return folder
        folder = folders[0]
    return folder


def guess(entries):
    """Return the platform whose pattern most names in a folder follow.

    Parameters
    ----------
    entries : list of pathlib.Path
        Entries of the folder.

    Returns
    -------
    str
        One of :data:`PLATFORMS`.
    """
    names = [path.name for path in entries if not path.name.startswith(".")]
    if "submission_metadata.yml" in names:
        return "gradescope"
    counts = {
        "moodle": sum("_assignsubmission_" in name for name in names),
        "blackboard": sum(bool(platform_names.BLACKBOARD.fullmatch(name)) for name in names),
        "brightspace": sum(bool(platform_names.BRIGHTSPACE.fullmatch(name)) for name in names),
        "gradescope": sum(bool(platform_names.GRADESCOPE.fullmatch(name)) for name in names),
        "canvas": sum(bool(platform_names.CANVAS.fullmatch(name)) for name in names),
        "nbgrader": sum(bool(platform_names.EXCHANGE.fullmatch(name)) for name in names),
    }
    best = max(counts, key=counts.get)
    if counts[best] * 2 > len(names):
        return best
    folders = [path for path in entries if path.is_dir() and not path.name.startswith(".")]
    if folders and sum(
        (path / ".git").exists() or (path / ".github").is_dir() for path in folders
    ) * 2 > len(folders):
        return "github"
    if folders and sum(any(path.glob("*/timestamp.txt")) for path in folders) * 2 > len(folders):
        return "nbgrader"
    return "folder"


def units(folder, platform, collected=None):
    """Return the students' files in a folder, and the entries that belong to no student.

    Parameters
    ----------
    folder : pathlib.Path
        The folder with the hand-ins.
    platform : str
        One of :data:`PLATFORMS`.
    collected : dict of str to str, optional
        Subfolder to student, if ``ibpcl class collect`` made the folder.

    Returns
    -------
    units : list of Unit
        Files of each student.
    ignored : list of (str, str)
        Name of each other entry, and the reason why it was passed over.
    """
    entries = sorted(Path(folder).iterdir(), key=lambda path: natural(path.name))
    by_student = {}
    ignored = []
    about = platform_names.metadata(Path(folder)) if platform == "gradescope" else {}
    folders = [path.name for path in entries if path.is_dir()]
    prefix = platform_names.common_prefix(folders) if platform == "github" else ""
    readers = {
        "moodle": platform_names.moodle,
        "canvas": platform_names.canvas,
        "blackboard": platform_names.blackboard,
        "brightspace": platform_names.brightspace,
        "nbgrader": platform_names.nbgrader,
        "folder": platform_names.plain,
        "gradescope": lambda path: platform_names.gradescope(path, about),
        "github": lambda path: platform_names.github(path, prefix),
    }
    take = readers[platform]
    for path in entries:
        if path.is_symlink():
            ignored.append((path.name, "a link"))
            continue
        made = (
            None
            if path.name.startswith(".") or path.name in NO_FOLDERS
            else take(path) or _stray(path)
        )
        if made is None:
            ignored.append((path.name, _why(path)))
            continue
        unit, piece, options = made
        if collected and path.name in collected:
            student = collected[path.name]
            unit = Unit(folded(student), student, certain=True, fixed=True, words=(student,))
        unit = by_student.setdefault(unit.key, unit)
        unit.add(path, piece, **options)
    return list(by_student.values()), ignored


def _stray(path):
    """Read a name outside the platform's pattern, such as a program or folder added by hand."""
    inside = path.rglob("*") if path.is_dir() else [path]
    has_program = any(each.name.lower().endswith(platform_names.PROGRAMS) for each in inside)
    return platform_names.plain(path) if has_program else None


def _why(path):
    if path.is_dir():
        return "a folder that no student's name can be read from"
    return (
        f"a {path.suffix} file"
        if path.suffix and not path.name.lower().endswith(platform_names.PROGRAMS)
        else "no student's name can be read from it"
    )


def _is_class_folder(entries):
    """Return whether a folder holds a class: at least three folders with plausible students'
    names.
    """
    visible = [path for path in entries if not path.name.startswith(".")]
    return (
        len(visible) > 2
        and all(path.is_dir() for path in visible)
        and not any(
            path.name.casefold() in COMMON_FOLDERS or attempt_of(f"{path.name}/x")
            for path in visible
        )
    )
