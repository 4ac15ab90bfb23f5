"""Building blocks of a report, as plain data; the template ``report.html`` renders them.

The template escapes all text. Where a block says so, text between backticks is shown as code.
"""

from pathlib import Path
from typing import Any, NamedTuple

import jinja2


class Paragraph(NamedTuple):
    """A paragraph.

    Attributes
    ----------
    text : str
        Its text.
    kind : str
        Name of the block in the template.
    """

    text: str
    kind: str = "paragraph"


class Code(NamedTuple):
    """A command or a piece of code.

    Attributes
    ----------
    parts : tuple of str
        The text; lines break only between the parts.
    kind : str
        Name of the block in the template.
    """

    parts: tuple[str, ...]
    kind: str = "code"


class Cell(NamedTuple):
    """A cell of a table.

    Attributes
    ----------
    text : object
        Text or a number; text between backticks is shown as code.
    classes : str
        Names of style classes.
    depth : float or None
        Strength of the background colour in percent; None for no colour.
    """

    text: Any
    classes: str = ""
    depth: float | None = None


class Table(NamedTuple):
    """A table, with a sentence above it.

    Attributes
    ----------
    label : str
        The sentence above the table.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence
        Texts, numbers or :class:`Cell`. A row whose first cell begins with spaces belongs to the
        row above it.
    sortable : bool
        Whether a click on the name of a column sorts the rows.
    text : tuple of int
        Columns, besides the first, that are aligned left.
    style : str
        Name of a style for the whole table.
    kind : str
        Name of the block in the template.
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
        """The rows, grouped with the rows below them: lists of (is below another, name, cells)."""
        groups = []
        for first, *cells in self.rows:
            below = str(first).startswith("  ")
            row = [
                cell if isinstance(cell, Cell) else Cell(cell, "text" if at in self.text else "")
                for at, cell in enumerate(cells, 1)
            ]
            if not below or not groups:
                groups.append([])
            groups[-1].append((below, first, row))
        return groups


class Tiles(NamedTuple):
    """The few numbers that a reader looks for first.

    Attributes
    ----------
    numbers : dict of str to str
        The numbers as text, by name.
    kind : str
        Name of the block in the template.
    """

    numbers: dict
    kind: str = "tiles"


class Details(NamedTuple):
    """Blocks that a click on their summary shows and hides.

    Attributes
    ----------
    summary : str
        The line that is always shown.
    blocks : sequence
        The hidden blocks.
    kind : str
        Name of the block in the template.
    """

    summary: str
    blocks: Any
    kind: str = "details"


class Figure(NamedTuple):
    """A figure with its caption.

    Attributes
    ----------
    name : str
        Name of the file.
    title : str
        Its title.
    alt : str
        Its alternative text.
    sentence : str
        How to read it.
    data : str or None
        The PNG file in base64; None if it is too large for the page.
    width : int
        Width on the page, in pixels of CSS. Text of 8 points then has the same size in all figures.
    kind : str
        Name of the block in the template.
    """

    name: str
    title: str
    alt: str
    sentence: str
    data: str | None
    width: int
    kind: str = "figure"


class Section(NamedTuple):
    """A section of the page; the table of contents lists it.

    Attributes
    ----------
    title : str
        Its heading.
    blocks : sequence
        Its blocks, in order.
    """

    title: str
    blocks: Any


class Header(NamedTuple):
    """The head of a page, above the sections.

    Attributes
    ----------
    title : str
        The title of the page.
    state : str
        The state of the run in a word or two, such as "finished".
    is_open : bool
        Whether the state is shown as a warning.
    about : str
        The line below the title.
    tiles : Tiles or None
        The most important numbers.
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
