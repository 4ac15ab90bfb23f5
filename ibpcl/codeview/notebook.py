"""Notebooks as Python: their cells, with IPython's commands replaced by IPython's rules.

A line counts as a command only where a statement begins: not inside brackets or a string, and not
after a backslash.  Line numbers and indentation do not change, so a verdict can name
``cell 3, line 2``.

===========================  =======================================
in the cell                  becomes
===========================  =======================================
``%time statement``          the statement
``%run tools.py``            ``from tools import *``
``%name ...``, ``!command``  ``pass``, and the line as a comment
``x = !ls``, ``x = %pwd``    ``x = None``, and the line as a comment
``name?``, ``?name``         ``pass``, and the line as a comment
``pip install x``, ``ls``    ``pass``, and the line as a comment
``>>> line``, ``In [1]:``    the line
``%%time`` and the like      the rest of the cell
``%%bash`` and others        comments: the cell is not Python
===========================  =======================================

The body of a ``%%timeit`` cell defines no names, so such a cell becomes comments, too.
"""

import ast
import json
import re
import warnings
from pathlib import Path

from ibpcl.errors import UserError

# Cell magics whose cell is Python that defines names.
PYTHON_CELLS = (
    "time",
    "capture",
    "prun",
    "python",
    "python3",
    "pypy",
    "px",
    "mypy",
    "nb_black",
    "snakeviz",
    "memit",
    "mprun",
    "lprun",
    "heat",
    "scalene",
    "script_magic",
    "local",
)
FILE_CELLS = re.compile(r"%%(writefile|file)\b.*\.py\s*$")
LINE_MAGIC = re.compile(r"\s*(%[A-Za-z_]|!|\?\??\s*[%A-Za-z_])")
ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w.,\[\]'\" ]*=\s*)(!|%[A-Za-z_])(?!=)")
HELP = re.compile(r"\s*%{0,2}[A-Za-z_][\w.]*(\[\d+\])?\s*\?\??\s*(#.*)?$")
# Magics that work without "%", as students type them.
BARE = re.compile(
    r"\s*((pip3?|conda|mamba)\s+(install|uninstall|list|show)\b"
    r"|(cd|ls|pwd|whos?|clear)(\s+[\w./~-]+)*\s*$"
    r"|(load_ext|reload_ext|autoreload|matplotlib)\s+\w+\s*$)"
)
TIMED = re.compile(r"(\s*)%time\s+(?=\S)")
DEFINES = re.compile(r"@|(def|class|import|from)\b")  # what no console prints
PROMPT = re.compile(r"(In \[\d*\]: ?|\s*\.{3,}: ?|>>> ?|\.\.\. ?)")
RUN = re.compile(r"(\s*)%run\s+(?:-\w+\s+)*['\"]?(?:[^'\"]*[/\\])?(\w+)\.py\b")
OPENING = "([{"
CLOSING = ")]}"
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
# For each notebook read by :func:`read`: (first line, number) of its code cells.
CELLS = {}


class NotNotebook(ValueError):
    """A text that is not a notebook; the message gives the reason."""


def cells(text):
    """Return the kind and the content of every cell of a notebook.

    Parameters
    ----------
    text : str
        The notebook, of format 3 or 4, as JSON.

    Returns
    -------
    list of tuple of str
        Pairs such as ``("code", "x = 1")``.

    Raises
    ------
    NotNotebook
        If the text is not a notebook.

    Examples
    --------
    >>> cells('{"cells": [{"cell_type": "code", "source": ["x = 1\\\\n", "y = 2"]}]}')
    [('code', 'x = 1\\ny = 2')]
    """
    try:
        table = json.loads(text)
        listed = table.get("cells")
        if listed is None:
            listed = [cell for sheet in table["worksheets"] for cell in sheet["cells"]]
        contents = [
            (str(cell["cell_type"]), cell.get("source", cell.get("input", ""))) for cell in listed
        ]
        return [
            (kind, content if isinstance(content, str) else "".join(content))
            for kind, content in contents
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotNotebook("it is not a notebook of format 3 or 4") from None


def read(path):
    """Return the code cells of a notebook as one Python source.

    :func:`place` knows the cells of the file afterwards.

    Parameters
    ----------
    path : str or path-like
        The notebook.

    Returns
    -------
    str
        A cell that is not Python becomes comments.

    Raises
    ------
    UserError
        If the file cannot be read, or is not a notebook.
    """
    try:
        listed = cells(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"check: {path} cannot be read: {error}") from error
    except ValueError as error:
        raise UserError(f"check: {path} is not a notebook of format 3 or 4") from error
    sources = []
    starts = []
    line = 1
    for kind, content in listed:
        if kind == "code":
            python, reason = as_python(content)
            if not reason and syntax_error(python):
                python = commented(python)
            sources.append(python)
            starts.append((line, len(sources)))
            line += python.count("\n") + 2  # an empty line between cells
    CELLS[str(path)] = starts
    return "\n\n".join(sources)


def place(path, line):
    """Return the position of a line in words.

    Parameters
    ----------
    path : str or path-like
        The file.
    line : int
        Line in its source, from 1.

    Returns
    -------
    str
        "cell 3, line 2" for a notebook that :func:`read` has read, "line 2" for any other file.
    """
    cell, line = position(path, line)
    return f"cell {cell}, line {line}" if cell else f"line {line}"


def position(path, line):
    """Return the cell of a line, and the line in the cell.

    Parameters
    ----------
    path : str or path-like
        The file.
    line : int
        Line in its source, from 1.

    Returns
    -------
    cell : int
        Number of the code cell, from 1; 0 for a file that is not a notebook.
    line : int
        The line in the cell, from 1; the same line for any other file.
    """
    starts = CELLS.get(str(path))
    if not starts:
        return 0, line
    first, number = max((item for item in starts if item[0] <= line), default=starts[0])
    return number, line - first + 1


def commented(text):
    """Return the lines of a text as comments.

    Parameters
    ----------
    text : str
        The text of a cell.

    Returns
    -------
    str
        As many lines.
    """
    return "\n".join(line if line.startswith("# ") else f"# {line}" for line in text.split("\n"))


def as_python(cell, imports=True):
    """Return a code cell as Python, and the reason if it must be skipped.

    Parameters
    ----------
    cell : str
        The cell.
    imports : bool
        Whether ``%run tools.py`` becomes an import.

    Returns
    -------
    text : str
        Python text with the same lines.
    reason : str
        Empty if the cell is not skipped.

    Examples
    --------
    >>> print(as_python("%matplotlib inline\\nx = (7\\n    % 4)")[0])
    pass  # %matplotlib inline
    x = (7
        % 4)
    """
    lines = cell.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return cell, ""
    if lines[first].startswith("%%"):
        name = re.match(r"%%\s*(\w*)", lines[first])[1]
        if name not in PYTHON_CELLS and not FILE_CELLS.match(lines[first]):
            return "\n".join(f"# {line}" for line in lines), f"%%{name} is not Python"
        lines[first] = f"# {lines[first]}"
    return "\n".join(_converted(_without_indent(_without_prompts(lines)), imports)), ""


def _without_indent(lines):
    """Return the lines without the indentation that the first of them has."""
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return [line.removeprefix(indent) for line in lines] if indent else lines


def _without_prompts(lines):
    """Return the lines without the prompts of a console, if the first line has one.

    Lines without a prompt are what the console printed, unless one of them begins a definition:
    then a program follows a line that was copied from a console.
    """
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    if not re.match(r"(In \[\d*\]:|>>>)", first):
        return lines
    printed = "# " if not any(map(DEFINES.match, lines)) else ""
    return [
        PROMPT.sub("", line, count=1) if PROMPT.match(line) else printed + line for line in lines
    ]


def _converted(lines, imports):
    """Yield the lines with IPython's own replaced."""
    state = Scanner()
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at
        if state.at_statement and _is_own(line):
            while lines[end].endswith("\\") and end + 1 < len(lines):
                end += 1
            yield _replaced(line, imports)
            yield from (f"# {rest}" for rest in lines[at + 1 : end + 1])
        else:
            state.read(line)
            yield line
        at = end + 1


def _is_own(line):
    if line.lstrip().startswith(("%%",)):
        return True
    return any(each.match(line) for each in (LINE_MAGIC, ASSIGNED, HELP, BARE))


def _replaced(line, imports):
    run = RUN.match(line)
    if run and imports:
        return f"{run[1]}from {run[2]} import *"
    if TIMED.match(line):
        return TIMED.sub(r"\1", line)
    assigned = ASSIGNED.match(line)
    if assigned:
        return f"{assigned[1]}None  # {line[assigned.end(1) :]}"
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}pass  # {line.strip()}"


class Scanner:
    """The state of a Python scanner at the end of a line.

    Attributes
    ----------
    depth : int
        Number of open brackets.
    quotes : str
        The quotes of the string that is open at the end of the line; "" if none is.
    continued : bool
        Whether the line ends in a backslash.
    """

    def __init__(self):
        self.depth = 0
        self.quotes = ""
        self.continued = False

    @property
    def at_statement(self):
        """True if the next line begins a statement."""
        return not (self.depth or self.quotes or self.continued)

    def read(self, line):
        """Process one more line.

        Parameters
        ----------
        line : str
            The line.
        """
        at = 0
        self.continued = False
        while at < len(line):
            at = self._in_string(line, at) if self.quotes else self._in_code(line, at)
        if len(self.quotes) == 1 and not self.continued:
            # an unclosed string is an error in this line only
            self.quotes = ""

    def _in_code(self, line, at):
        """Return the position after one piece of code."""
        each = line[at]
        if each == "#":
            return len(line)
        if each in "\"'":
            self.quotes = each * 3 if line.startswith(each * 3, at) else each
            return at + len(self.quotes)
        if each in OPENING:
            self.depth += 1
        elif each in CLOSING:
            self.depth = max(0, self.depth - 1)
        elif each == "\\" and at == len(line) - 1:
            self.continued = True
        return at + 1

    def _in_string(self, line, at):
        """Return the position after one piece of a string."""
        if line[at] == "\\":
            self.continued = at == len(line) - 1
            return at + 2
        if line.startswith(self.quotes, at):
            at += len(self.quotes)
            self.quotes = ""
            return at
        return at + 1


def syntax_error(text):
    """Return the reason why a cell is not Python.

    Parameters
    ----------
    text : str
        The cell.

    Returns
    -------
    str
        Empty if the cell is Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "cell", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno or 1} is not Python: {error.msg}"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return f"it is not Python: {error}"
    return ""


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
