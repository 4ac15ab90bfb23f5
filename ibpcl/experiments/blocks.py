"""The parts that a report is made of, as plain data; the template ``report.html`` renders them.

All text is escaped by the template.  Text between backticks becomes code where a part says so.
"""

from pathlib import Path
from typing import Any, NamedTuple

import jinja2


class Paragraph(NamedTuple):
    """A paragraph."""

    text: str
    kind: str = "paragraph"


class Code(NamedTuple):
    """A command or code; lines break only between its parts."""

    parts: tuple[str, ...]
    kind: str = "code"


class Cell(NamedTuple):
    """A cell of a table.

    Attributes
    ----------
    text : object
        Text or a number; what stands between backticks is code.
    classes : str
        Names of styles.
    depth : float or None
        Percentage of the colour behind it.
    """

    text: Any
    classes: str = ""
    depth: float | None = None


class Table(NamedTuple):
    """A table in a box that scrolls, and a sentence above it that does not.

    Attributes
    ----------
    label : str
        The sentence above.
    head : sequence of str
    rows : sequence of sequence
        Of texts, numbers or :class:`Cell`.  A row whose first cell begins with spaces belongs to
        the one above it.
    sortable : bool
        Whether a click on a column's name sorts the rows.
    text : tuple of int
        Columns that are aligned to the left, besides the first.
    style : str
        Name of a style of the whole table.
    """

    label: str
    head: Any
    rows: Any
    sortable: bool = False
    text: tuple[int, ...] = ()
    style: str = ""
    kind: str = "table"

    @property
    def groups(self):
        """The rows with those that belong to them: lists of (is below another, name, cells)."""
        groups = []
        for first, *cells in self.rows:
            below = str(first).startswith("  ")
            made = [
                cell if isinstance(cell, Cell) else Cell(cell, "text" if at in self.text else "")
                for at, cell in enumerate(cells, 1)
            ]
            if not below or not groups:
                groups.append([])
            groups[-1].append((below, first, made))
        return groups


class Tiles(NamedTuple):
    """The few numbers that a reader looks for first, by name."""

    numbers: dict
    kind: str = "tiles"


class Details(NamedTuple):
    """Parts that are shown on a click on their summary."""

    summary: str
    blocks: Any
    kind: str = "details"


class Figure(NamedTuple):
    """A figure with its caption; ``data`` is its PNG in base64, or None if it is left out."""

    name: str
    title: str
    alt: str
    sentence: str
    data: str | None
    kind: str = "figure"


class Section(NamedTuple):
    """A section with a heading, which the list of contents names."""

    title: str
    blocks: Any


class Header(NamedTuple):
    """What stands above the sections.

    Attributes
    ----------
    title : str
    state : str
        What became of it, in a word.
    is_open : bool
        Whether that word is a warning.
    about : str
    tiles : Tiles or None
    """

    title: str
    state: str
    is_open: bool
    about: str
    tiles: Any = None


ENVIRONMENT = jinja2.Environment(
    autoescape=True,
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
