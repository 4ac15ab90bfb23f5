"""Hand-ins: the text, the student, and all facts that can be read without running it.

This module neither parses nor unpacks a student's files.  :mod:`ibpcl.classroom.intake.reading`
does that, in a process with limits.
"""

import functools
import hashlib
import re
import sys
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ibpcl.classroom.assignments.assignment import functions_of
from ibpcl.classroom.intake.choosing import choose
from ibpcl.classroom.intake.reading import process
from ibpcl.classroom.intake.reading.candidates import MOST_BYTES
from ibpcl.classroom.intake.reading.inspection import SCRATCH
from ibpcl.classroom.intake.reading.notebooks import place
from ibpcl.errors import UserError

__all__ = [
    "MOST_BYTES",
    "Refusal",
    "Submission",
    "facts_of",
    "literals",
    "notes",
    "opened",
    "read",
    "refuse",
    "suspicions",
]
SUFFIXES = (".py", ".ipynb", ".zip")
SHOWN_FILE = 80  # characters of a file's name in messages
EXAMPLES = ("typing", "dataclasses", "functools", "itertools")  # of harmless modules
OTHERS = (
    "ibpcl",
    "torch",
    "jax",
    "jaxlib",
    "tensorflow",
    "autograd",
    "cupy",
    "numba",
    "sympy",
    "pandas",
)


class Submission(NamedTuple):
    """A hand-in as text.

    Attributes
    ----------
    student : str
        Id of the student.
    path : pathlib.Path
        The file that was handed in; may be a zip.
    file : str
        Name of the Python file or notebook, for messages.
    source : str
        Python text; of a notebook, its cells as one text.
    sha256 : str
        Hash of the source, in hexadecimal digits.
    facts : dict or None
        Result of :func:`ibpcl.classroom.intake.reading.inspection.inspect`, if it is known already.
    """

    student: str
    path: Path
    file: str
    source: str
    sha256: str
    facts: dict | None = None

    def place(self, line):
        """Return the name of a line, such as ``line 3 of ada.py``.

        Parameters
        ----------
        line : int
            Line of ``source``, from 1.

        Returns
        -------
        str
            In a notebook, the name gives the cell and the line within it.
        """
        in_notebook = place(self.source, line)
        if in_notebook is None:
            return f"line {line} of {self.file}"
        return f"line {in_notebook.line} of code cell {in_notebook.cell} of {self.file}"


class Refusal(NamedTuple):
    """The reason why a hand-in is not run.

    Attributes
    ----------
    line : int
        Line of the hand-in; 0 if the reason concerns the whole file.
    words : str
        The reason, a predicate such as ``"imports os"``.
    """

    line: int
    words: str


def read(path, student="", assignment=None):
    """Read a hand-in from a Python file, a notebook, or a zip that contains one.

    Parameters
    ----------
    path : path-like
        The file.
    student : str, optional
        Id of the student; by default the one in the file, or the name of the file.
    assignment : Assignment, optional
        Helps to choose among several files in a zip.

    Returns
    -------
    Submission

    Raises
    ------
    UserError
        If the file contains no hand-in, or cannot be read.
    """
    path = Path(path)
    if not path.is_file() or not path.name.lower().endswith(SUFFIXES):
        raise UserError(
            f"class: {path} is not a file that can be handed in ({', '.join(SUFFIXES)})"
        )
    chosen = choose(
        opened([(path, path.name)], assignment)["candidates"], assignment, path
    ).candidate
    return from_candidate(
        chosen, path, student or chosen["facts"]["said"].get("STUDENT", "") or path.stem
    )


def opened(files, assignment=None):
    """Return the candidates among the files of one student, and the files that were passed over.

    Parameters
    ----------
    files : list of (path-like, str)
        Path of each file, and its name in messages.
    assignment : Assignment, optional
        The assignment, whose function names mark a candidate.

    Returns
    -------
    dict
        ``candidates`` and ``ignored``, as
        :func:`ibpcl.classroom.intake.reading.candidates.read_all` returns them.

    Raises
    ------
    UserError
        If reading takes too much time or memory.
    """
    words = [] if assignment is None else sorted(functions_of(assignment))
    try:
        return process.ask(
            do="read",
            files=[[str(Path(path).absolute()), name] for path, name in files],
            words=words,
        )
    except process.ReadingError as error:
        raise UserError(
            f"class: {files[0][1] if len(files) == 1 else 'the hand-in'}: {error}"
        ) from None


def from_candidate(candidate, path, student):
    """Return a candidate as a hand-in.

    Parameters
    ----------
    candidate : dict
        As :func:`ibpcl.classroom.intake.reading.candidates.read_all` returns it.
    path : path-like
        The file that was handed in.
    student : str
        Id of the student.

    Returns
    -------
    Submission
    """
    source = candidate["source"]
    file = re.sub(r"[^\w.-]", "_", PurePosixPath(candidate["name"]).name)
    suffix = ".ipynb" if ".ipynb" in file.lower() else ".py"
    file = re.sub(r"(?i)\.(py|ipynb)(\.txt|\.json)?$", "", file)[:SHOWN_FILE] + suffix
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    return Submission(student, Path(path), file, source, sha256, candidate["facts"])


def remember(submission):
    """Store the facts of a hand-in, so that this process need not ask for them again.

    Parameters
    ----------
    submission : Submission
        Ignored if its facts are unknown.
    """
    if submission.facts is not None:
        _facts.cache_clear()
        _known[:] = [(submission.source, submission.facts)]


def facts_of(source):
    """Return the facts about a text.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    dict
        Result of :func:`ibpcl.classroom.intake.reading.inspection.inspect`.
    """
    if _known and _known[0][0] == source:
        return _known[0][1]
    return _facts(source)


_known = []


@functools.lru_cache(maxsize=8)
def _facts(source):
    try:
        return process.ask(do="inspect", source=source)
    except process.ReadingError as error:
        return {
            "error": [0, f"cannot be read: {error}"],
            "said": {},
            "imports": [],
            "uses": [],
            "suspicions": [],
            "functions": {},
            "methods": {},
            "skipped": [],
            "markdown": [],
        }


def literals(source):
    """Return the module-level constants that the kit uses, such as STUDENT.

    Only literals are read, so nothing is run.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    dict
        Name to value.

    Examples
    --------
    >>> literals("STUDENT = 'ada'\\nVARIANT = f()")
    {'STUDENT': 'ada'}
    """
    return dict(facts_of(source)["said"])


def derivation(source, assignment):
    """Return the written derivation of a hand-in.

    Parameters
    ----------
    source : str
        Python text; of a notebook, its cells as one text.
    assignment : Assignment
        The assignment.  Its statement, which the notebook contains as Markdown, is left out.

    Returns
    -------
    str
        The constant DERIVATION or, if that is empty, the Markdown cells that the student wrote.
    """
    facts = facts_of(source)
    text = facts["said"].get("DERIVATION", "")
    if has_words(text) or not facts["markdown"]:
        return text if has_words(text) else ""
    given = {
        line.strip()
        for variant in assignment.variants
        for line in assignment.statement(variant).split("\n")
    }
    cells = [
        "\n".join(line for line in cell.split("\n") if line.strip() not in given)
        for cell in facts["markdown"]
    ]
    text = "\n\n".join(cell.strip() for cell in cells if has_words(re.sub(r"(?m)^#.*$", "", cell)))
    return text if has_words(text) else ""


def has_words(text):
    """Return whether a text contains a letter, a digit or an underscore.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    bool
    """
    return re.search(r"\w", text) is not None


def refuse(source, allowed):
    """Return the reason why a hand-in is not run, or None.

    A hand-in is refused if it does not compile, imports a forbidden package, or uses a name such as
    ``exec`` that could run or import anything.

    Parameters
    ----------
    source : str
        Python text.
    allowed : sequence of str
        Packages that may be imported; the harmless modules of the standard library are always
        allowed.

    Returns
    -------
    Refusal or None
        The first reason in the text.

    Examples
    --------
    >>> refuse("import os; os.getcwd()", ["numpy"]).words.partition(";")[0]
    'imports os'
    """
    facts = facts_of(source)
    if facts["error"] is not None:
        return Refusal(*facts["error"])
    refusals = [
        Refusal(line, _not_allowed(name, allowed))
        for line, name in facts["imports"]
        if name.split(".")[0] not in allowed
    ]
    refusals += [
        Refusal(line, f"uses {name}, which is not needed here and could run or import anything")
        for line, name in facts["uses"]
    ]
    return min(refusals, key=lambda refusal: refusal.line, default=None)


def _not_allowed(name, allowed):
    top = name.split(".")[0]
    if top in SCRATCH:
        hint = 'put the code that needs it below `if __name__ == "__main__":`'
    elif not top or (top not in sys.stdlib_module_names and top not in OTHERS):
        hint = "if you wrote that file, copy its functions into this one"
    else:
        hint = f"modules such as {', '.join(EXAMPLES)} are allowed, too"
    return f"imports {name or 'from its own folder'}; allowed are {', '.join(allowed)}; {hint}"


def suspicions(source):
    """Return the places of long texts and lists, which may hide code or answers.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    list of (int, str)
        Line and description; these are flags, not proofs.
    """
    return [(line, words) for line, words in facts_of(source)["suspicions"]]


def notes(submission, assignment):
    """Return notes for the student: skipped cells, and functions under a wrong name.

    Parameters
    ----------
    submission : Submission
        The hand-in.
    assignment : Assignment
        The assignment.

    Returns
    -------
    list of str
        One sentence each.
    """
    facts = facts_of(submission.source)
    sentences = [f"skipped: {reason}" for reason in facts["skipped"]]
    present = {_bare(name): name for name in facts["functions"]}
    for name in sorted(functions_of(assignment) - set(facts["functions"])):
        other = present.get(_bare(name))
        if other is not None:
            sentences.append(
                f"the function {name} is missing, but {other} exists: rename it {name}"
            )
        elif name in facts["methods"]:
            sentences.append(
                f"the function {name} is missing, but class {facts['methods'][name]} has a method "
                "of that name: move it out of the class, without self"
            )
    return sentences


def _bare(name):
    return name.replace("_", "").lower()
