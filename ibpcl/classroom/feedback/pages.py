"""HTML pages from Jinja2 templates, with automatic escaping, and the blocks of their tables."""

import re
from pathlib import Path
from typing import NamedTuple

import jinja2

from ibpcl.classroom.feedback.plain_words import points

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MOST_NAMES = 12  # students in a cell that are shown at once


def anchor(text):
    """Return a text as an HTML id.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Different for different texts.

    Examples
    --------
    >>> anchor("o'brien 7")
    'o-27brien-207'
    """
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"-{ord(match[0]):x}", text)


ENVIRONMENT = jinja2.Environment(
    autoescape=True,
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
ENVIRONMENT.filters |= {"anchor": anchor, "points": points}


def rendered(template, policy=POLICY, **values):
    """Return a self-contained page.

    Parameters
    ----------
    template : str
        Name of a file in ``templates``.
    policy : str
        The content security policy; by default, no script may run.
    **values
        Values of the template.  Texts are escaped, except :class:`markupsafe.Markup`.

    Returns
    -------
    str
        HTML that can be encoded: control characters and lone surrogates are replaced.
    """
    html = ENVIRONMENT.get_template(template).render(policy=policy, **values)
    return CONTROL.sub("\ufffd", html).encode("utf-8", "replace").decode("utf-8")


class Student(NamedTuple):
    """A cell with a link to the row of a student.

    Attributes
    ----------
    name : str
        Id of the student.
    kind : str
        Selects the layout in the template.
    """

    name: str
    kind: str = "student"


class Students(NamedTuple):
    """A cell with links to several students; all but the first few are folded.

    Attributes
    ----------
    names : list of str
        Ids of the students.
    most : int
        Number of students that are not folded.
    kind : str
        Selects the layout in the template.
    """

    names: list
    most: int = MOST_NAMES
    kind: str = "students"


class Shares(NamedTuple):
    """A cell with a bar of shares.

    Attributes
    ----------
    shares : dict of str to float
        CSS class of each share to its value, from 0 to 1.
    label : str
        The shares in words.
    kind : str
        Selects the layout in the template.
    """

    shares: dict
    label: str
    kind: str = "shares"


class Files(NamedTuple):
    """A cell with links to a student's files.

    Attributes
    ----------
    folder : str
        Address of the folder, quoted for URLs.
    kind : str
        Selects the layout in the template.
    """

    folder: str
    kind: str = "files"


class Table(NamedTuple):
    """A table.

    Attributes
    ----------
    head : sequence of str
        Names of the columns.
    rows : list of sequence
        Cells: numbers, texts, or one of the classes above.
    numeric : list of bool
        Whether each column contains numbers, which are aligned to the right.
    ids : sequence of str or None
        HTML id of each row.
    kind : str
        Selects the layout in the template.
    """

    head: tuple
    rows: list
    numeric: list
    ids: list | None = None
    kind: str = "table"


def table(head, rows, ids=None):
    """Return a table.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence
        Cells: numbers, texts, or :class:`Student`, :class:`Students`, :class:`Shares`,
        :class:`Files`.
    ids : sequence of str, optional
        HTML id of each row.

    Returns
    -------
    Table
    """
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(head)
    return Table(tuple(head), list(rows), [_is_numeric(column) for column in columns], ids)


def _is_numeric(column):
    return any(map(_is_number, column)) and all(
        _is_number(cell) or cell in ("", "–") for cell in column
    )


def _is_number(cell):
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)
