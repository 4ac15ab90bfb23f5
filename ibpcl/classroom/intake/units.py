"""Units: all files that a download keeps for one participant."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

PROGRAMS = (".py", ".ipynb", ".zip", ".py.txt", ".ipynb.txt", ".ipynb.json")
NO_WORK = (".git", ".github", "node_modules", "__pycache__", "__MACOSX", ".ipynb_checkpoints")


@dataclass(frozen=True)
class Piece:
    """A file of a participant.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    name : str
        Path of the file in the download.
    attempt : str
        Name of the attempt on the platform; files of one attempt belong together.
    order : tuple
        Sort key: later files of one participant have larger ones.
    late : bool
        Whether the platform marks it as late.
    time : str
        ISO date and time at which the platform received it; empty if unknown.
    """

    path: Path
    name: str
    attempt: str = ""
    order: tuple = ()
    late: bool = False
    time: str = ""


@dataclass
class Unit:
    """All files that a download keeps for one participant, and the platform's evidence.

    Attributes
    ----------
    key : str
        Key that identifies the participant in the download.
    student : str
        The platform's id, or else the best name.
    number : str
        Number of the participant on the platform; empty if it has none.
    logins : tuple of str
        Ids, logins and addresses that the platform itself states.
    names : tuple of str
        Full names, and texts that contain a name or a login.
    members : tuple of tuple of str
        For each member of a group that the platform states, ids, addresses and names.
    known : bool
        Whether the platform's pattern, and not only a file name, sets the files apart.
    fixed : bool
        Whether ``ibpcl class collect`` has decided on ``student`` before.
    pieces : list of Piece
        The files.
    ignored : list of (str, str)
        Name of each file that was passed over, and the reason.
    """

    key: str
    student: str
    number: str = ""
    logins: tuple = ()
    names: tuple = ()
    members: tuple = ()
    known: bool = False
    fixed: bool = False
    pieces: list = field(default_factory=list)
    ignored: list = field(default_factory=list)


class Files(NamedTuple):
    """The files of a folder.

    Attributes
    ----------
    paths : dict of str to pathlib.Path
        Each file and each empty folder by its path below the folder.
    ignored : dict of str to str
        Each link, special file, and folder without a student's work, with the reason.
    """

    paths: dict
    ignored: dict


def files_in(folder):
    """Return the files of a folder in a fixed order; links are not followed.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    Files
    """
    found = Files({}, {})
    for root, folders, names in os.walk(folder):
        place = Path(root)
        for name in sorted(folders):
            reason = _no_folder(place / name)
            if reason:
                folders.remove(name)
                found.ignored[(place / name).relative_to(folder).as_posix()] = reason
        folders.sort()
        for name in sorted(names):
            path = place / name
            inner = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file():
                found.ignored[inner] = "a link" if path.is_symlink() else "not an ordinary file"
            else:
                found.paths[inner] = path
        if not folders and not names and place != Path(folder):
            found.paths[place.relative_to(folder).as_posix()] = place
    return found


def _no_folder(path):
    """Return why a folder is passed over; empty if it is not."""
    if path.is_symlink():
        return "a link"
    if (path / "pyvenv.cfg").exists():
        return "a virtual environment"
    return "not a student's work" if path.name in NO_WORK else ""


def is_program(name):
    """Return whether a file can be a submission or contain one.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    bool
    """
    return name.lower().endswith(PROGRAMS)
