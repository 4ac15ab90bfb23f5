"""The student's folder: a Python package that grows, and the record of progress."""

import ast
import hashlib
import json
import keyword
import sys
from pathlib import Path

from ibpcl import __version__
from ibpcl.classroom.assignments.assignment import PRIMITIVES
from ibpcl.classroom.intake.reading import texts
from ibpcl.errors import UserError
from ibpcl.learn.broken import definitions, runnable
from ibpcl.storage import json_text, read_text, write_text

SCHEMA = "ibpcl/learn/1"
NEW_RECORD = f'{{"schema": "{SCHEMA}", "exercises": {{}}}}'
PROGRESS = "progress.json"
FOLDER = "my_ibpcl"
HEADER = '''"""{title}"""

import numpy as np
{imports}'''
INIT = '''"""The primitives of Bayesian structure adaptation, written by you.

`ibpcl learn` shows the next exercise.  `ibpcl run --primitives {name}` runs experiments on the
functions of this package that have passed their checks.
"""


def __getattr__(name):
    """Import a module of this package; that of ibpcl stands in for one that you have not begun."""
    from importlib import import_module
    from importlib.util import find_spec

    for package in (__name__, "ibpcl.primitives"):
        if not name.startswith("_") and find_spec(package + "." + name):
            return import_module(package + "." + name)
    raise AttributeError(name)
'''


class Folder:
    """A student's folder.

    Parameters
    ----------
    path : path-like
        The folder; its name is that of the package, so it must be a Python name.

    Attributes
    ----------
    path : pathlib.Path
    package : str
        Name of the package.
    started : list of int
        Numbers of the chapters whose exercises have been written.
    progress : dict of str to dict
        Record of each exercise: ``state``, ``tries``, ``hints``, ``solution``, ``prediction``.

    Raises
    ------
    UserError
        If the folder is not a student's, or its record is damaged or from another version.
    """

    def __init__(self, path=FOLDER):
        self.path = Path(path)
        self.package = self.path.absolute().name
        if not self.package.isidentifier() or keyword.iskeyword(self.package):
            raise UserError(
                f"learn: the folder's name must be a Python name, such as {FOLDER}, got "
                f"{self.package!r}"
            )
        self.started = []
        self.progress = self._read()

    @property
    def exists(self):
        """True if the folder has been started."""
        return (self.path / PROGRESS).is_file()

    def require(self):
        """Refuse a folder that has not been started.

        Raises
        ------
        UserError
            If it has not.
        """
        if not self.exists:
            self._refuse_a_folder_in_another()
            raise UserError(
                f"learn: {self.path} is not a folder of the path; `ibpcl learn start` makes one"
            )

    def _refuse_a_folder_in_another(self):
        """Refuse a new folder inside of a student's folder, where the command was called."""
        above = self.path.absolute().parent
        record = above / PROGRESS
        is_one = record.is_file() and SCHEMA.encode() in record.read_bytes()
        if not self.exists and is_one:
            raise UserError(
                f"learn: {above} is itself a folder of the path: change to the folder above it, or "
                "give it with --folder"
            )

    def _read(self):
        """Return the record of progress, which is empty without a folder."""
        file = self.path / PROGRESS
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"learn: {self.path} is a file; give the path of a folder")
        if not file.exists():
            if self.path.is_dir() and any(self.path.iterdir()):
                raise UserError(
                    f"learn: {self.path} has files but no {PROGRESS}: it is not a folder of the "
                    f"path, or the record was deleted; give another folder, or write {NEW_RECORD} "
                    f"to {file} to begin a new record"
                )
            return {}
        try:
            table = json.loads(read_text(file))
            schema = table["schema"]
            exercises = table["exercises"]
            started = table.get("started", [])
            sound = isinstance(exercises, dict) and all(
                isinstance(entry, dict) for entry in exercises.values()
            )
            sound = sound and isinstance(started, list) and all(type(n) is int for n in started)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UserError(
                f"learn: {file} cannot be read ({type(error).__name__}); restore it, or write "
                f"{NEW_RECORD} to it and check your chapters again"
            ) from None
        if schema != SCHEMA:
            raise UserError(
                f"learn: {file} was written by another version ({schema!r}); move the folder "
                "away, start anew, and copy your functions into the new files"
            )
        if not sound:
            raise UserError(
                f"learn: {file} has been changed: exercises must be a table; restore it, or write "
                f"{NEW_RECORD} to it and check your chapters again"
            )
        self.started = started
        return exercises

    def entry(self, exercise):
        """Return the record of an exercise, an empty one if it has not been tried.

        Parameters
        ----------
        exercise : str
            Such as ``2.1``.

        Returns
        -------
        entry : dict
        """
        entry = self.progress.setdefault(exercise, {})
        for key, value in (("state", "new"), ("tries", 0), ("hints", 0), ("solution", False)):
            if not isinstance(entry.get(key), type(value)):
                entry[key] = value
        return entry

    def save(self):
        """Write the record of progress."""
        table = {
            "schema": SCHEMA,
            "version": __version__,
            "started": self.started,
            "exercises": self.progress,
        }
        write_text(self.path / PROGRESS, json_text(table, indent=1) + "\n")

    @property
    def packages(self):
        """Names under which the student's files import each other.

        Besides that of the folder, those that it had before it was renamed or copied: a name that
        is no other package, from which modules of this package are imported.
        """
        names = [self.package]
        stems = {path.stem for path in PRIMITIVES.glob("[a-z]*.py")}
        for path in sorted(self.path.glob("*.py")):
            try:
                tree = ast.parse(runnable(self.source(path.stem) or "").source)
            except UserError:
                continue  # the check reports it
            for node in tree.body:
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    top, _, module = node.module.partition(".")
                    modules = {module} if module else {each.name for each in node.names}
                    if top not in ("ibpcl", *sys.stdlib_module_names) and modules <= stems:
                        names.append(top)
        return tuple(dict.fromkeys(names))

    def file(self, stem):
        """Return the path of one of the package's modules.

        Parameters
        ----------
        stem : str

        Returns
        -------
        path : pathlib.Path
        """
        return self.path / f"{stem}.py"

    def source(self, stem):
        """Return the text of a module of the package.

        Parameters
        ----------
        stem : str

        Returns
        -------
        text : str or None
            None if there is no such file.

        Raises
        ------
        UserError
            If the file is not text.
        """
        try:
            return texts.decoded(self.file(stem).read_bytes())[0]
        except FileNotFoundError:
            return None
        except (OSError, texts.NotText) as error:
            raise UserError(f"learn: {self.file(stem)} cannot be read: {error}") from None

    def start(self, chapter):
        """Write the exercises of a chapter; existing functions and files stay as they are.

        Parameters
        ----------
        chapter : ibpcl.learn.chapters.Chapter

        Returns
        -------
        written, kept : list of str
            Names of files that were written or extended, and of those with nothing to add.
        """
        self.begin(chapter)
        written = []
        kept = []
        for stem in chapter.files:
            before = self.source(stem)
            text = before if before is not None else self._header(chapter, stem)
            missing = [
                stub
                for name, stub in chapter.stubs_of(stem).items()
                if before is None or name not in written_in(before)
            ]
            if not missing:
                kept.append(f"{stem}.py")
                continue
            write_text(self.file(stem), "\n\n\n".join([text.rstrip(), *missing]) + "\n")
            written.append(f"{stem}.py")
        return written, kept

    def begin(self, chapter):
        """Make the folder if it does not exist, and record that a chapter has been started.

        Parameters
        ----------
        chapter : ibpcl.learn.chapters.Chapter
        """
        self._refuse_a_folder_in_another()
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.file("__init__").exists():
            write_text(self.file("__init__"), INIT.format(name=self.package))
        self.started = sorted({*self.started, chapter.number})
        self.save()

    def parts(self, stem):
        """Return the primitive modules that one of the package's modules calls.

        Parameters
        ----------
        stem : str

        Returns
        -------
        names : list of str
        """
        return parts_of(stem)

    def _header(self, chapter, stem):
        """Return the first lines of a new module."""
        if stem == chapter.assignment.name:
            stop = "" if chapter.title.endswith("?") else "."
            title = f"Chapter {chapter.number}: {chapter.title}{stop}"
            return HEADER.format(title=title, imports="")
        parts = parts_of(stem)
        line = f"\nfrom {self.package} import {', '.join(parts)}\n" if parts else ""
        title = f"{stem.replace('_', ' ').capitalize()}: functions and their gradients."
        return HEADER.format(title=title, imports=line)

    def sha256(self, stem):
        """Return the hash of a module of the package.

        Parameters
        ----------
        stem : str

        Returns
        -------
        sha256 : str
        """
        return hashlib.sha256((self.source(stem) or "").encode()).hexdigest()


def parts_of(stem):
    """Return the primitive modules that a primitive module calls.

    Parameters
    ----------
    stem : str

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> parts_of("sticks"), parts_of("gaussian")
    (['kumaraswamy', 'stick_breaking'], [])
    """
    path = PRIMITIVES / f"{stem}.py"
    if not path.is_file():
        return []
    return [
        name.name
        for node in ast.parse(read_text(path)).body
        if isinstance(node, ast.ImportFrom) and node.module == "ibpcl.primitives"
        for name in node.names
    ]


def written_in(source):
    """Return the names of the functions at the top level of a text, also of those not in Python.

    Parameters
    ----------
    source : str

    Returns
    -------
    names : set of str

    Examples
    --------
    >>> sorted(written_in("def f():\\n    return (\\n\\n\\ndef g():\\n    pass\\n"))
    ['f', 'g']
    """
    text, reasons = runnable(source)
    return {*definitions(text), *reasons} - {""}
