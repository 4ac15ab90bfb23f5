"""Conversion of a notebook to one Python text in cells, with Markdown as comments.

The text begins with :data:`FIRST_LINE`; each cell begins with a line such as ``# %% code cell 3``
or ``# %% [markdown]``.  Outputs are left out.  A cell that is not Python becomes a comment, below a
line with the reason, so the definitions in the other cells still count.
"""

import re
from typing import NamedTuple

from ibpcl.classroom.intake.reading.latex import mended
from ibpcl.classroom.intake.reading.texts import clean, with_plain_lines
from ibpcl.codeview.notebook import as_python, cells, commented, syntax_error

FIRST_LINE = "# %% notebook"
CODE_CELL = re.compile(r"^# %% code cell (\d+)$", re.MULTILINE)
MARKDOWN_CELL = "# %% [markdown]"
SKIPPED = re.compile(r"^# skipped: (.*)$", re.MULTILINE)
PICTURE = re.compile(r"\(data:image/[^)]{100,}\)")


class Place(NamedTuple):
    """A place in a notebook.

    Attributes
    ----------
    cell : int
        Number of the code cell, from 1.
    line : int
        Line in the cell, from 1.
    """

    cell: int
    line: int


def source_of(text):
    """Return the Python text of a notebook.

    Parameters
    ----------
    text : str
        The notebook, of format 3 or 4, as JSON.

    Returns
    -------
    str

    Raises
    ------
    ibpcl.codeview.notebook.NotNotebook
        If the text is not a notebook.
    """
    pieces = [FIRST_LINE]
    number = 0
    for kind, content in cells(text):
        content = with_plain_lines(clean(content)).rstrip()
        if kind == "code":
            number += 1
            pieces += ["", f"# %% code cell {number}", *_code(content, number)]
        elif kind in ("markdown", "heading", "raw") and content:
            lines = PICTURE.sub("(a picture)", content).split("\n")
            pieces += ["", MARKDOWN_CELL, *(f"# {line}".rstrip() for line in lines)]
    return "\n".join(pieces) + "\n"


def place(source, line):
    """Return the place in the notebook of a line of the text that :func:`source_of` made.

    Parameters
    ----------
    source : str
        Python text.
    line : int
        Line of the text, from 1.

    Returns
    -------
    Place or None
        None if the text does not come from a notebook.

    Examples
    --------
    >>> place("# %% notebook\\n\\n# %% code cell 1\\nx = 1\\ny = 2\\n", 5)
    Place(cell=1, line=2)
    """
    if not source.startswith(FIRST_LINE + "\n") or line < 1:
        return None
    lines = source.split("\n")[:line]
    for at in range(len(lines) - 1, -1, -1):
        match = CODE_CELL.fullmatch(lines[at])
        if match:
            return Place(int(match[1]), max(1, line - at - 1))
    return None


def markdown(source):
    """Return the texts of the Markdown cells in the text that :func:`source_of` made.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    list of str
    """
    if not source.startswith(FIRST_LINE + "\n"):
        return []
    cells = re.split(r"^# %% ", source, flags=re.MULTILINE)
    bodies = [cell.partition("\n")[2] for cell in cells if cell.startswith("[markdown]")]
    return [re.sub(r"(?m)^# ?", "", body.rstrip()) for body in bodies]


def skipped(source):
    """Return the reasons for skipped cells in the text that :func:`source_of` made.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    list of str
    """
    return SKIPPED.findall(source) if source.startswith(FIRST_LINE + "\n") else []


def _code(content, number):
    """Return the lines of a code cell as they will run; comments only if the cell is skipped."""
    python, reason = as_python(content, imports=False)
    if not reason:
        python = mended(python)
        reason = syntax_error(python)
    if reason:
        return [commented(python), f"# skipped: code cell {number}: {reason}"]
    # A line that looks like the first line of a cell must not become one.
    return [f"#{line[1:]} " if line.startswith("# %% ") else line for line in python.split("\n")]
