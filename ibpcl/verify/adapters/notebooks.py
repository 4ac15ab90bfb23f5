"""Notebooks as Python source: the code cells, without IPython's commands.

Lines keep their position, so that a verdict can name ``cell 3, line 2``.  Commands are recognized
as in IPython: ``%``, ``!`` and ``?`` at the start of a statement, ``%%`` at the start of a cell.
Elsewhere, ``%`` is an operator.
"""

import ast
import io
import json
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

from ibpcl.errors import UserError

TIMED = ("%%time", "%%timeit", "%%capture", "%%prun")  # cells whose other lines are Python
ASSIGNED = re.compile(r"^(\s*[\w.,\s]+?=)\s*([%!].*)$")  # files = !ls
RUN = re.compile(r"%run\s+(?:-\w+\s+)*['\"]?(?:[^'\"]*[/\\])?(\w+)\.py\b")  # %run tools.py
# Names whose calls only display something.
DISPLAYED = (
    "plt",
    "sns",
    "matplotlib",
    "display",
    "print",
    "pprint",
    "px",
    "fig",
    "ax",
    "tqdm",
    "help",
)
CELLS = {}  # for each notebook read so far: {path: [(first line, number of the cell), ...]}


@dataclass(frozen=True)
class Cell:
    """A code cell of a notebook.

    Attributes
    ----------
    number : int
        Number among the code cells, from 1.
    first_line : int
        First line in the joined source, from 1.
    source : str
        Source without commands, with as many lines as in the notebook.
    """

    number: int
    first_line: int
    source: str


def read(path):
    """Return the code cells of a notebook.

    Parameters
    ----------
    path : str or path-like
        The notebook, of format 3 or 4.

    Returns
    -------
    list of Cell
        The cells.

    Raises
    ------
    UserError
        If the file cannot be read, or is not a notebook.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        listed = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        sources = [
            cell.get("source", cell.get("input", ""))
            for cell in listed
            if cell["cell_type"] == "code"
        ]
    except OSError as error:
        raise UserError(f"check: {path} cannot be read: {error}") from error
    except ValueError as error:
        raise UserError(f"check: {path} is not a notebook: it is not JSON ({error})") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise UserError(f"check: {path} is not a notebook of format 3 or 4") from error
    cells = []
    line = 1
    for number, source in enumerate(sources, 1):
        text = "".join(source) if isinstance(source, list) else str(source)
        cells.append(Cell(number, line, without_commands(text)))
        line += text.count("\n") + 2  # an empty line between cells
    CELLS[str(path)] = [(cell.first_line, cell.number) for cell in cells]
    return cells


def joined(cells):
    """Return the source of all cells.

    Parameters
    ----------
    cells : sequence of Cell
        The cells.

    Returns
    -------
    str
        The source; a cell that is not valid Python becomes empty lines.
    """
    return "\n\n".join(
        cell.source if is_python(cell.source) else "\n" * cell.source.count("\n") for cell in cells
    )


def is_python(source):
    """Return whether a text is valid Python.

    Parameters
    ----------
    source : str
        The text.

    Returns
    -------
    bool
        True if it can be parsed.
    """
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def place(path, line):
    """Return the position of a line in words.

    Parameters
    ----------
    path : str or path-like
        The file.
    line : int
        Line in its (joined) source, from 1.

    Returns
    -------
    str
        "cell 3, line 2" for a notebook, "line 2" for any other file.
    """
    cell, line = position(path, line)
    return f"cell {cell}, line {line}" if cell else f"line {line}"


def position(path, line):
    """Return the cell of a line of the joined source, and the line in this cell.

    Parameters
    ----------
    path : str or path-like
        The file.
    line : int
        Line in its (joined) source, from 1.

    Returns
    -------
    cell : int
        Number of the code cell; 0 in a file that is not a notebook.
    line : int
        Line in the cell, or in the file.
    """
    cells = CELLS.get(str(path))
    if not cells:
        return 0, line
    first, number = max((item for item in cells if item[0] <= line), default=cells[0])
    return number, line - first + 1


def without_commands(source):
    r"""Return the source of a cell with ``pass`` instead of IPython's commands.

    ``%run tools.py`` becomes an import of the names in ``tools``.

    Parameters
    ----------
    source : str
        Source of the cell.

    Returns
    -------
    str
        As many lines as before.

    Examples
    --------
    >>> print(without_commands("%matplotlib inline\nx = (7\n  % 4)\nfiles = !ls"))
    pass
    x = (7
      % 4)
    files = None
    >>> without_commands("%run '/home/me/tools.py'")
    'from tools import *'
    """
    if is_python(source):
        return source
    lines = source.split("\n")
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if not lines[first].startswith(TIMED):
            return "\n" * (len(lines) - 1)
        lines[first] = ""
    pending = ""
    skipping = False
    for n, line in enumerate(lines):
        text = line.strip()
        if skipping:
            lines[n] = ""
        elif not is_open(pending):
            pending = ""
            indent = line[: len(line) - len(line.lstrip())]
            command = text.startswith(("%", "!", "?")) or (
                text.endswith("?") and not text.startswith("#")
            )
            assignment = ASSIGNED.match(line)
            program = RUN.match(text)
            if program:
                lines[n] = f"{indent}from {program.group(1)} import *"
            elif command:
                lines[n] = f"{indent}pass"
            elif assignment:
                lines[n] = f"{assignment.group(1)} None"
            command = command or bool(assignment)
            skipping = command and text.endswith("\\")
            if command:
                continue
        pending += lines[n] + "\n"
        skipping = skipping and text.endswith("\\")
    return "\n".join(lines)


def is_open(text):
    r"""Return whether a text ends inside brackets, a string or a continued line.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    bool
        False if the text is complete or not valid Python.

    Examples
    --------
    >>> is_open("x = (1,\n"), is_open("x = 1\n"), is_open("'''doc\n")
    (True, False, True)
    """
    if text.rstrip("\n").endswith("\\"):
        return True
    try:
        depth = 0
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            depth += (
                (token.string in "([{") - (token.string in ")]}")
                if token.type == tokenize.OP
                else 0
            )
    except tokenize.TokenError as error:
        return "EOF in multi-line" in str(error)
    except (SyntaxError, IndentationError):
        return False
    return depth > 0


def shows_only(statement):
    """Return whether a statement only displays something: a plot, a printed line, a variable.

    Parameters
    ----------
    statement : ast.stmt
        The statement.

    Returns
    -------
    bool
        False for assignments and definitions.
    """
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    while isinstance(value, (ast.Call, ast.Attribute, ast.Subscript)):
        value = value.func if isinstance(value, ast.Call) else value.value
    called = isinstance(statement.value, ast.Call)
    return isinstance(value, ast.Name) and (value.id in DISPLAYED or not called)
