"""Candidates: the files of one student that could be the hand-in, with their content."""

import calendar
import os
import re
from pathlib import PurePosixPath
from typing import NamedTuple

from ibpcl.classroom.intake.reading import archives, notebooks, texts
from ibpcl.classroom.intake.reading.inspection import inspect
from ibpcl.classroom.intake.reading.latex import mended
from ibpcl.codeview.notebook import as_python, syntax_error

MOST_BYTES = 1 << 20  # bytes of code and text
MOST_FILE = 64 << 20  # bytes of a zip, or of a notebook with its outputs
MOST_IN_ALL = 256 << 20  # unpacked bytes of one student
MOST_DEPTH = 3  # levels of zips within zips
MOST_FILES = 5000
MOST_INSPECTED = 40
MOST_SOURCES = 8 << 20  # in one answer
SUFFIXES = (".py", ".ipynb", ".zip", ".py.txt", ".ipynb.txt", ".ipynb.json")
FOLDERS = {
    "__macosx": "a file that macOS adds to zips",
    "__pycache__": "compiled Python",
    ".ipynb_checkpoints": "old versions",
    ".git": "the history of a repository",
    ".svn": "the history of a repository",
    ".hg": "the history of a repository",
    ".github": "settings of a repository",
    "venv": "a virtual environment",
    ".venv": "a virtual environment",
    "env": "a virtual environment",
    ".env": "a virtual environment",
    "site-packages": "installed packages",
    "node_modules": "installed packages",
    ".tox": "installed packages",
    ".conda": "installed packages",
    ".vscode": "settings of an editor",
    ".idea": "settings of an editor",
    ".pytest_cache": "a cache",
    ".mypy_cache": "a cache",
    ".ruff_cache": "a cache",
    ".local": "settings",
    ".cache": "a cache",
    ".config": "settings",
}
JUNK = re.compile(
    r"^(\._.*|\.DS_Store|Thumbs\.db|desktop\.ini|\.gitignore|\.gitattributes|\.gitkeep)$",
    re.IGNORECASE,
)


class File(NamedTuple):
    """A file, perhaps inside an archive.

    Attributes
    ----------
    piece : int
        Number of the file in the request that this one came from.
    name : str
        Path in the hand-in; an archive counts as a folder.
    load : callable
        ``load(most)`` returns the bytes.
    time : float
        Seconds since 1970; 0 if unknown.
    depth : int
        Number of archives around it.
    """

    piece: int
    name: str
    load: object
    time: float
    depth: int


class Opened:
    """The files of one student while they are read.

    Parameters
    ----------
    words : sequence of str
        Names of functions that mark a hand-in.
    """

    def __init__(self, words):
        self.marks = tuple(word.encode() for word in ("ASSIGNMENT", *words))
        self.candidates = []
        self.plain = []
        self.ignored = {}
        self.left = MOST_IN_ALL
        self.files = 0
        self.sources = 0

    def add(self, file):
        """Examine one file and, if it is a zip, the files inside.

        Parameters
        ----------
        file : File
            The file.
        """
        self.files += 1
        if self.files > MOST_FILES:
            self.ignored.setdefault("...", f"the rest: more than {MOST_FILES} files")
            return
        path = PurePosixPath(file.name)
        folder = next(
            (at for at, part in enumerate(path.parts[:-1]) if part.lower() in FOLDERS), None
        )
        if folder is not None:
            self.ignored.setdefault(
                "/".join(path.parts[: folder + 1]) + "/", FOLDERS[path.parts[folder].lower()]
            )
            return
        if JUNK.match(path.name):
            return
        kind = next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), "")
        if not kind:
            self.ignored[file.name] = (
                f"a {path.suffix} file" if path.suffix else "a file without a suffix"
            )
        elif kind == ".zip":
            self.add_zip(file)
        else:
            self.add_program(file, notebook=kind.startswith(".ipynb"))

    def add_zip(self, file):
        """Examine the files in a zip.

        Parameters
        ----------
        file : File
            The zip.
        """
        if file.depth >= MOST_DEPTH:
            self.ignored[file.name] = f"a zip inside {MOST_DEPTH} others"
            return
        try:
            data = self.load(file, MOST_FILE)
            inside = archives.members(data)
        except archives.Damaged as error:
            self.candidates.append(_failed(file, str(error)))
            return
        for member in sorted(inside, key=lambda each: each.name):
            name = f"{file.name}/{member.name.lstrip('/')}"
            if member.link:
                self.ignored[name] = "a link"
                continue
            self.add(
                File(
                    file.piece,
                    name,
                    lambda most, item=member.item: archives.content(data, item, most),
                    _seconds(member.time) or file.time,
                    file.depth + 1,
                )
            )

    def add_program(self, file, notebook):
        """Read a Python file or notebook, and inspect it if it looks like a hand-in.

        Parameters
        ----------
        file : File
            The file.
        notebook : bool
            Whether it is a notebook.
        """
        try:
            data = self.load(file, MOST_FILE if notebook else 4 * MOST_BYTES)
        except archives.Damaged as error:
            self.candidates.append(_failed(file, str(error)))
            return
        bare = data.replace(b"\0", b"")
        if not any(mark in bare for mark in self.marks):
            self.plain.append((file, data, notebook))
        elif len(self.candidates) < MOST_INSPECTED:
            self.candidates.append(self.inspected(file, data, notebook))
        else:
            self.ignored[file.name] = f"more than {MOST_INSPECTED} files could be the hand-in"

    def inspected(self, file, data, notebook):
        """Return the candidate that a file is.

        Parameters
        ----------
        file : File
            The file.
        data : bytes
            Its content.
        notebook : bool
            Whether it is a notebook.

        Returns
        -------
        dict
        """
        try:
            source, note = source_of(data, notebook)
        except ValueError as error:
            return _failed(file, str(error), marked=True)
        self.sources += len(source)
        if self.sources > MOST_SOURCES:
            return _failed(
                file,
                f"all files together have more than {MOST_SOURCES >> 20} MB of text",
                marked=True,
            )
        return {
            **_failed(file, "", marked=True),
            "source": source,
            "note": note,
            "facts": inspect(source),
        }

    def load(self, file, most):
        """Return the bytes of a file, within the limit for this student.

        Parameters
        ----------
        file : File
            The file.
        most : int
            Largest number of bytes.

        Returns
        -------
        bytes
        """
        try:
            data = file.load(min(most, self.left))
        except OSError as error:
            raise archives.Damaged(f"it cannot be read ({error.strerror})") from None
        self.left -= len(data)
        return data


def read_all(files, words):
    """Return the candidates among the files of one student, and the files that were passed over.

    Parameters
    ----------
    files : list of [str, str]
        Path and name of each file.
    words : list of str
        Names of functions; a program is inspected if it contains one of these or ASSIGNMENT.

    Returns
    -------
    dict
        ``candidates``, a list of dicts, and ``ignored``, pairs of a name and a reason.
    """
    opened = Opened(words)
    for piece, (path, name) in enumerate(files):
        try:
            time = os.stat(path).st_mtime
        except OSError:
            time = 0.0
        opened.add(File(piece, name, lambda most, path=path: _read(path, most), time, 0))
    if not any(candidate["source"] for candidate in opened.candidates):
        for file, data, notebook in opened.plain[:5]:
            opened.candidates.append({**opened.inspected(file, data, notebook), "marked": False})
        opened.plain = opened.plain[5:]
    for file, _, _ in opened.plain:
        opened.ignored[file.name] = "it names no ASSIGNMENT and has none of the functions"
    return {"candidates": opened.candidates, "ignored": sorted(opened.ignored.items())}


def source_of(data, notebook):
    """Return the Python text of a file and a note on its encoding.

    Parameters
    ----------
    data : bytes
        Content of the file.
    notebook : bool
        Whether it is a notebook.

    Returns
    -------
    source : str
    note : str
        Empty if the encoding is UTF-8.

    Raises
    ------
    ValueError
        If the bytes are not a text, or too long.
    """
    text, note = texts.decoded(data)
    if notebook:
        source = notebooks.source_of(text)
    else:
        source = mended(texts.with_plain_lines(texts.clean(text)))
        if syntax_error(source):  # a notebook saved as a program has lines such as `!pip install x`
            python, reason = as_python(source, imports=False)
            source = source if reason or syntax_error(python) else python
    if len(source.encode()) > MOST_BYTES:
        raise archives.Damaged(f"it has more than {MOST_BYTES >> 20} MB of code and text")
    return source, note


def _failed(file, problem, marked=False):
    return {
        "piece": file.piece,
        "name": file.name,
        "time": file.time,
        "source": "",
        "note": "",
        "facts": None,
        "problem": problem,
        "marked": marked,
    }


def _read(path, most):
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise archives.Damaged(
            f"it has more than {max(1, most >> 20) if most >= MOST_FILE else 1} MB"
        )
    return data


def _seconds(time):
    try:
        return float(calendar.timegm((*time, 0, 0, 0)))
    except (ValueError, OverflowError, TypeError):
        return 0.0
