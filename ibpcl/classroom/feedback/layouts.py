"""Layouts of the tables of learning platforms: the columns of ids, names, points and maximum."""

import re
from typing import NamedTuple

from ibpcl.classroom.feedback.matching import number_at_end
from ibpcl.classroom.intake.headings import headings
from ibpcl.classroom.intake.spreadsheet import column_key, number
from ibpcl.errors import UserError

# A column of Blackboard: a title, the maximum in brackets in some language, and its number.
BLACKBOARD = re.compile(r"\[[^\]]*?([\d.,]+)[^\]]*\]\s*\|\s*\d+\s*$")
# A column of Brightspace: the kind of grade and the maximum in angle brackets.
BRIGHTSPACE = re.compile(r"<[^>]*?:\s*([\d.,]+)[^>]*>")


class Layout(NamedTuple):
    """The layout of one table.

    Attributes
    ----------
    first : int
        Index of the first row that may be about a student.
    points : int
        Index of the column that is filled in.
    comment : int or None
        Index of a column for the teacher's comments.
    most : float
        The platform's maximum; 0 if the table does not state it.
    ids, names : tuple of int
        Columns with ids and addresses, and with names; the names of parts are joined.
    decimal_comma : bool
        Whether numbers have decimal commas.
    delimiter : str
        Delimiter that the platform requires; empty to keep that of the file.
    utf8 : bool
        Whether the platform reads UTF-8 only.
    numbered : bool
        Whether the first cell is a participant with a number, in some language.
    """

    first: int
    points: int
    comment: int | None
    most: float
    ids: tuple
    names: tuple
    decimal_comma: bool = False
    delimiter: str = ""
    utf8: bool = False
    numbered: bool = False

    def about(self, row):
        """Return the ids and addresses of a row, and its names.

        Parameters
        ----------
        row : list of str
            Cells of the row.

        Returns
        -------
        ids : list of str
        names : list of str
        """
        ids = [row[at].removeprefix("#") for at in self.ids]
        if self.numbered:
            ids.append(f"Participant {number_at_end(row[0])}")
        names = [row[at] for at in self.names]
        return ids, [" ".join(names), *names] if len(names) > 1 else names


def moodle(rows, column, assignment, path):
    """Return the layout of Moodle's grading worksheet, in any language.

    Parameters
    ----------
    rows : list of list of str
        Cells of the table, with its header.
    column : str or None
        The column for the points, or a part of its name; None to detect it.
    assignment : Assignment
        The assignment, whose title may identify the column.
    path : path-like
        Name of the table in messages.

    Returns
    -------
    Layout

    Raises
    ------
    UserError
        If the table is not that platform's, or several columns could hold the points.
    """
    head = rows[0]
    body = [row for row in rows[1:] if any(row)]
    same = [at for at in range(2, len(head)) if body and _same_number([row[at] for row in body])]
    points = (
        _named(head, lambda name: column_key(name) in headings("grade", "moodle"))
        if not column
        else _chosen(head, column, range(1, len(head)), path)
    )
    if points is None and same:
        points = same[-1] - 1
    highest = points + 1 if points is not None and points + 1 in same else None
    participants = not body or all(number_at_end(row[0]) for row in body)
    if points is None or not participants:
        raise UserError(
            f"class: {path} is not Moodle's grading worksheet: its first column must "
            "hold identifiers such as 'Participant 7', and there must be a column "
            "Grade; name it with `column`"
        )
    most = number(body[0][highest]) if highest is not None else 0.0
    last_modified = _named(
        head,
        lambda name: re.search(
            r"\((grade|bewertung|note|calificación|valutazione|nota|cijfer)\)\s*$", name.casefold()
        ),
    )
    comment = None
    if last_modified is not None and last_modified + 1 < len(head):
        comment = last_modified + 1
    names = _columns(head, headings("full name"))[:1] or (1,)
    used = {points, comment, highest, *names}
    ids = tuple(at for at in range(min(points, len(head))) if at not in used)
    comma = highest is not None and "," in body[0][highest]
    return Layout(1, points, comment, most, ids, names, comma, ",", True, numbered=True)


def canvas(rows, column, assignment, path):
    """Return the layout of Canvas's gradebook.

    Parameters
    ----------
    rows : list of list of str
        Cells of the table, with its header.
    column : str or None
        The column for the points, or a part of its name; None to detect it.
    assignment : Assignment
        The assignment, whose title may identify the column.
    path : path-like
        Name of the table in messages.

    Returns
    -------
    Layout

    Raises
    ------
    UserError
        If the table is not that platform's, or several columns could hold the points.
    """
    head = [name.removeprefix("\ufeff") for name in rows[0]]
    separate = column_key(head[0]) in headings("last name")
    section = _columns(head, headings("section", "canvas"))
    first = (*headings("student", "canvas"), *headings("last name"))
    if column_key(head[0]) not in first or not _columns(head, ("id",)) or not section:
        raise UserError(
            f"class: {path} is not Canvas's gradebook: its columns must begin with "
            "Student, ID, and have Section"
        )
    possible = next(
        (
            at
            for at, row in enumerate(rows[:5])
            if row and column_key(row[0]) in headings("maximum", "canvas")
        ),
        None,
    )
    marks = rows[possible] if possible is not None else [""] * len(head)
    start = section[0] + 1
    open_columns = [
        at
        for at in range(start, len(head))
        if not any(word in column_key(marks[at]) for word in headings("read only", "canvas"))
        and re.search(r"\(\d+\)\s*$", head[at])
    ]
    points = _chosen(head, column, open_columns, path, assignment)
    ids = _columns(head, ("id", "sisuserid", "sisloginid", "integrationid"))
    most = _number(marks[points]) or 0.0
    names = (1, 0) if separate else (0,)
    return Layout((possible or 0) + 1, points, None, most, ids, names, "," in marks[points])


def blackboard(rows, column, assignment, path):
    """Return the layout of the table that Blackboard's Grade Center writes for work offline.

    Parameters
    ----------
    rows : list of list of str
        Cells of the table, with its header.
    column : str or None
        The column for the points, or a part of its name; None to detect it.
    assignment : Assignment
        The assignment, whose title may identify the column.
    path : path-like
        Name of the table in messages.

    Returns
    -------
    Layout

    Raises
    ------
    UserError
        If the table is not that platform's, or several columns could hold the points.
    """
    head = rows[0]
    names = _parts(head)
    ids = _columns(head, (*headings("login"), *headings("id"), *headings("address")))
    places = [at for at, name in enumerate(head) if BLACKBOARD.search(name)]
    if not ids or not places:
        raise UserError(
            f"class: {path} is not Blackboard's table: it must have the column "
            "Username, and columns such as 'Homework [Total Pts: 100 Score] |123'"
        )
    points = _chosen(head, column, places, path, assignment)
    maximum = BLACKBOARD.search(head[points])
    return Layout(1, points, None, _number(maximum[1]) or 0.0, ids, names)


def brightspace(rows, column, assignment, path):
    """Return the layout of Brightspace's export of grades.

    Parameters
    ----------
    rows : list of list of str
        Cells of the table, with its header.
    column : str or None
        The column for the points, or a part of its name; None to detect it.
    assignment : Assignment
        The assignment, whose title may identify the column.
    path : path-like
        Name of the table in messages.

    Returns
    -------
    Layout

    Raises
    ------
    UserError
        If the table is not that platform's, or several columns could hold the points.
    """
    head = rows[0]
    ids = _columns(head, ("orgdefinedid", *headings("login"), *headings("address")))
    places = [at for at, name in enumerate(head) if BRIGHTSPACE.search(name)]
    if not ids or not places:
        raise UserError(
            f"class: {path} is not Brightspace's table: it must have the column "
            "OrgDefinedId or Username, and one such as 'Homework Points Grade'"
        )
    points = _chosen(head, column, places, path, assignment)
    maximum = BRIGHTSPACE.search(head[points])
    return Layout(1, points, None, _number(maximum[1]) or 0.0, ids, _parts(head))


LAYOUTS = {"moodle": moodle, "canvas": canvas, "blackboard": blackboard, "brightspace": brightspace}


def _columns(head, keys):
    """Return the columns with these names, in the order of the names."""
    places = {column_key(name): at for at, name in reversed(list(enumerate(head)))}
    return tuple(places[key] for key in keys if key in places)


def _parts(head):
    """Return the columns of the first and the last name."""
    return tuple(
        place
        for meaning in ("first name", "last name")
        for place in _columns(head, headings(meaning))[:1]
    )


def _chosen(head, column, places, path, assignment=None):
    """Return the column for the points: the named one, the matching one, or the only one."""
    places = list(places)
    if column:
        exact = [at for at in places if head[at].strip() == column.strip()]
        matches = exact or [at for at in places if column_key(column) in column_key(head[at])]
    else:
        wanted = [column_key(assignment.title), column_key(assignment.name)]
        matches = [at for at in places if any(key in column_key(head[at]) for key in wanted)]
        matches = matches if len(matches) == 1 else places
    if len(matches) != 1:
        shown = "; ".join(head[at] for at in matches or places) or "none"
        raise UserError(
            f"class: {path}: several columns could hold the points; name one with `column`: {shown}"
        )
    return matches[0]


def _named(head, fits):
    return next((at for at, name in enumerate(head) if fits(name)), None)


def _same_number(cells):
    """Return whether all cells hold the same positive number."""
    return len(set(cells)) == 1 and (_number(cells[0]) or 0) > 0


def _number(text):
    try:
        return number(text)
    except ValueError:
        return None
