"""Units: all files that a platform keeps for one student."""

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Piece:
    """A file of a student.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    name : str
        Path of the file in the hand-in.
    attempt : str
        Name of the attempt on the platform; files of one attempt belong together.
    order : tuple
        Sort key: later files of one student have larger ones.
    late : bool
        Whether the platform marks it as late.
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
        Key that identifies the student.
    student : str
        The platform's id, or else the best name for the student.
    certain : bool
        Whether ``student`` is an id that the platform itself uses.
    fixed : bool
        Whether ``ibpcl class collect`` has decided on ``student`` before.
    words : tuple of str
        Names, addresses and numbers by which a roster may identify the student.
    pieces : list of Piece
        The files.
    ignored : list of (str, str)
        Name of each file that was passed over, and the reason.
    """

    key: str
    student: str
    certain: bool = False
    fixed: bool = False
    words: tuple = ()
    pieces: list = field(default_factory=list)
    ignored: list = field(default_factory=list)

    def add(self, path, name=None, **about):
        """Add a file, or all files of a folder.

        Parameters
        ----------
        path : pathlib.Path
            The file or folder.
        name : str, optional
            Name in the hand-in; by default that of the path.
        **about
            Further attributes of :class:`Piece`.
        """
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
