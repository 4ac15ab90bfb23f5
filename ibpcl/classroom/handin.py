"""A hand-in: its text, the student, and the facts that need no run.

Nothing here parses or unpacks what students wrote: :mod:`ibpcl.classroom.reading` does, in a
process with limits.
"""

import functools
import hashlib
import re
import sys
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ibpcl.classroom.reading import process
from ibpcl.classroom.reading.candidates import MOST_BYTES
from ibpcl.classroom.reading.inspection import SCRATCH
from ibpcl.classroom.reading.notebooks import place
from ibpcl.errors import UserError

__all__ = [
    "MOST_BYTES",
    "HandIn",
    "Refusal",
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


class HandIn(NamedTuple):
    """A hand-in as text.

    Attributes
    ----------
    student : str
    path : pathlib.Path
        The file.
    file : str
        Name of the Python file or notebook, for messages.
    source : str
    sha256 : str
        Hash of the source.
    facts : dict or None
        Result of :func:`ibpcl.classroom.reading.inspection.inspect`, if it is known already.
    """

    student: str
    path: Path
    file: str
    source: str
    sha256: str
    facts: dict | None = None

    def place(self, line):
        """Return a line in words; in a notebook, the cell and the line in it."""
        found = place(self.source, line)
        if found is None:
            return f"line {line} of {self.file}"
        return f"line {found.line} of code cell {found.cell} of {self.file}"


class Refusal(NamedTuple):
    """The reason why a hand-in is not run: the line, and words."""

    line: int
    words: str


def read(path, student="", assignment=None):
    """Read a hand-in from a ``.py``, a notebook, or a zip that has one.

    Parameters
    ----------
    path : path
    student : str, optional
        By default the one that the file names.
    assignment : Assignment, optional
        Chooses among several files in a zip.

    Raises
    ------
    UserError
        If there is no hand-in in it, or it cannot be read.
    """
    from ibpcl.classroom.choosing import choose

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
    files : list of (path, str)
        Path, and the name in messages.
    assignment : Assignment, optional

    Returns
    -------
    dict
        ``candidates`` and ``ignored``, as :func:`ibpcl.classroom.reading.candidates.read_all`
        returns them.

    Raises
    ------
    UserError
        If reading takes too long, or too much memory.
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


def functions_of(assignment):
    """Return the names of the functions that an assignment asks for; for a referee, of the
    proofs.
    """
    named = {task.function for task in assignment.tasks if task.function}
    return named or {f"proof_{task.id}" for task in assignment.tasks}


def from_candidate(candidate, path, student):
    """Return the hand-in that a candidate is."""
    source = candidate["source"]
    file = re.sub(r"[^\w.-]", "_", PurePosixPath(candidate["name"]).name)
    suffix = ".ipynb" if ".ipynb" in file.lower() else ".py"
    file = re.sub(r"(?i)\.(py|ipynb)(\.txt|\.json)?$", "", file)[:SHOWN_FILE] + suffix
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    return HandIn(student, Path(path), file, source, sha256, candidate["facts"])


def remember(handin):
    """Keep the facts of a hand-in that has them, so that this process need not ask for them
    again.
    """
    if handin.facts is not None:
        _facts.cache_clear()
        _known[:] = [(handin.source, handin.facts)]


def facts_of(source):
    """Return the result of :func:`ibpcl.classroom.reading.inspection.inspect` for a text."""
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
            "error": [0, f"is not read: {error}"],
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
    """Return the module-level constants that the kit knows: literals only, so nothing is run to
    read them.

    >>> literals("STUDENT = 'ada'\\nFORM = f()")
    {'STUDENT': 'ada'}
    """
    return dict(facts_of(source)["said"])


def derivation(source, assignment):
    """Return the written derivation: DERIVATION, or where that is empty the Markdown cells that the
    student wrote.

    Parameters
    ----------
    source : str
    assignment : Assignment
        Its statement, which a notebook that was handed out has in Markdown, is left out.
    """
    facts = facts_of(source)
    text = facts["said"].get("DERIVATION", "")
    if has_words(text) or not facts["markdown"]:
        return text if has_words(text) else ""
    given = {
        line.strip() for form in assignment.forms for line in assignment.statement(form).split("\n")
    }
    cells = [
        "\n".join(line for line in cell.split("\n") if line.strip() not in given)
        for cell in facts["markdown"]
    ]
    text = "\n\n".join(cell.strip() for cell in cells if has_words(re.sub(r"(?m)^#.*$", "", cell)))
    return text if has_words(text) else ""


def has_words(text):
    """Return whether a text has anything to read: invisible characters are not enough."""
    return re.search(r"\w", text) is not None


def refuse(source, allowed):
    """Return why a hand-in is not run, or None: it does not compile, or imports what is not
    allowed.

    Parameters
    ----------
    source : str
    allowed : sequence of str
        Packages that may be imported; the harmless modules of the standard library are always
        allowed.

    Returns
    -------
    Refusal or None

    Examples
    --------
    >>> refuse("import os", ["numpy"]).words.partition(";")[0]
    'imports os'
    """
    facts = facts_of(source)
    if facts["error"] is not None:
        return Refusal(*facts["error"])
    found = [
        Refusal(line, _not_allowed(name, allowed))
        for line, name in facts["imports"]
        if name.split(".")[0] not in allowed
    ]
    found += [
        Refusal(line, f"uses {name}, which is not needed here and could run or import anything")
        for line, name in facts["uses"]
    ]
    return min(found, key=lambda each: each.line, default=None)


def _not_allowed(name, allowed):
    top = name.split(".")[0]
    if top in SCRATCH:
        hint = 'put what needs it below `if __name__ == "__main__":`'
    elif not top or (top not in sys.stdlib_module_names and top not in OTHERS):
        hint = "if it is a file of yours, copy its functions into this one"
    else:
        hint = f"modules such as {', '.join(EXAMPLES)} are allowed, too"
    return f"imports {name or 'from its own folder'}; allowed are {', '.join(allowed)}; {hint}"


def suspicions(source):
    """Return what in a gradient function looks like numerical differentiation, as (line, words):
    flags, no more.
    """
    return [(line, words) for line, words in facts_of(source)["suspicions"]]


def notes(handin, assignment):
    """Return what the student should know besides the verdicts: skipped cells, functions under
    another name.
    """
    facts = facts_of(handin.source)
    found = [f"skipped: {each}" for each in facts["skipped"]]
    present = {_bare(name): name for name in facts["functions"]}
    for name in sorted(functions_of(assignment) - set(facts["functions"])):
        other = present.get(_bare(name))
        if other is not None:
            found.append(
                f"there is no function {name}, but there is {other}: it must be called {name}"
            )
        elif name in facts["methods"]:
            found.append(
                f"there is no function {name}, but class {facts['methods'][name]} has one: move "
                "it out of the class, without self"
            )
    return found


def _bare(name):
    return name.replace("_", "").lower()
