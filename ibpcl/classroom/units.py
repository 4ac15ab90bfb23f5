"""All files that a platform keeps for one student."""

import os
from dataclasses import dataclass, field
from pathlib import Path


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


def _files(folder, ignored):
    """Yield the files of a folder in a fixed order; links are not followed."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in list(folders):
            if Path(root, name).is_symlink():
                folders.remove(name)
                ignored.append((Path(root, name).relative_to(folder).as_posix(), "a link"))
            elif (
                name in (".git", "node_modules", "__pycache__")
                or Path(root, name, "pyvenv.cfg").exists()
            ):
                folders.remove(name)
                kind = (
                    "a virtual environment"
                    if Path(root, name, "pyvenv.cfg").exists()
                    else "not a student's work"
                )
                ignored.append((Path(root, name).relative_to(folder).as_posix() + "/", kind))
        for name in sorted(names):
            path = Path(root, name)
            if path.is_symlink() or not path.is_file():
                ignored.append(
                    (
                        path.relative_to(folder).as_posix(),
                        "a link" if path.is_symlink() else "no file",
                    )
                )
            else:
                yield path
