"""Filling in the tables of learning platforms, leaving all other cells unchanged.

==========  ======================================================  ==========================
platform    the table                                               rules of its import
==========  ======================================================  ==========================
Moodle      "Download grading worksheet", in any language           mod/assign/feedback/offline
Canvas      the gradebook's "Export"                                lib/gradebook_importer.rb
Blackboard  the Grade Center's "Work offline", tabs or commas       its documentation
Brightspace the grades' "Export", with End-of-Line Indicator        its documentation
==========  ======================================================  ==========================
"""

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom.feedback.layouts import LAYOUTS
from ibpcl.classroom.feedback.matching import Matcher, assigned
from ibpcl.classroom.feedback.tables import cell, points_text
from ibpcl.classroom.intake.spreadsheet import decoded, delimiter_of
from ibpcl.errors import UserError
from ibpcl.storage import write_bytes

MOST_BYTES = 16 << 20


class Sheet(NamedTuple):
    """A table of a platform, cell by cell as it came.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    rows : list of list of str
        The cells.
    delimiter, encoding : str
        Format of the file.
    """

    path: Path
    rows: list
    delimiter: str
    encoding: str


class Filled(NamedTuple):
    """A table with the points filled in.

    Attributes
    ----------
    sheet : Sheet
        The table.
    matches : dict of str to int
        Student to row, for all matched students.
    layout : ibpcl.classroom.feedback.layouts.Layout
        Layout of the table.
    notes : list of str
        Notes on unmatched students and conversions, one line each.
    problems : bool
        Whether the points of any student are in no row.
    """

    sheet: Sheet
    matches: dict
    layout: object
    notes: list
    problems: bool


def read(path):
    """Return the table in a file.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Sheet

    Raises
    ------
    UserError
        If the file cannot be read, or is not a table.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"class: {path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UserError(f"class: {path} has more than {MOST_BYTES >> 20} MB")
    encoding = "utf-8"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif data.startswith(b"\xef\xbb\xbf"):
        encoding = "utf-8-sig"
    try:
        text = decoded(data)
        if encoding == "utf-8" and text.encode() != data:
            encoding = "utf-8-sig"  # a code page would lose names
        delimiter = delimiter_of(text)
        rows = list(
            csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter)
        )
    except (ValueError, csv.Error) as error:
        raise UserError(f"class: {path} is not a readable table: {error}; save it as CSV") from None
    if not rows or len(rows[0]) < 2:
        raise UserError(f"class: {path} has no header with several columns")
    width = len(rows[0])
    rows = [row + [""] * (width - len(row)) if any(row) else row for row in rows]
    return Sheet(path, rows, delimiter, encoding)


def fill(path, system, results, assignment, roster=None, column=None):
    """Return a platform's table with the points of a class filled in.

    Students are matched by the platform's identifier, id number, login and address, then by name.
    Rows about other people stay unchanged, and so do the cells of hand-ins that are not graded.

    Parameters
    ----------
    path : path-like
        The table downloaded from the platform.
    system : {"moodle", "canvas", "blackboard", "brightspace"}
        The platform.
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.
    roster : ibpcl.classroom.intake.students.Roster, optional
        List of the class.
    column : str, optional
        The column for the points, or a part of its name; needed if several are possible.

    Returns
    -------
    Filled

    Raises
    ------
    UserError
        If the table is not that platform's.
    """
    sheet = read(path)
    layout = LAYOUTS[system](sheet.rows, column, assignment, path)
    rows = {
        at: layout.about(sheet.rows[at])
        for at in range(layout.first, len(sheet.rows))
        if any(sheet.rows[at])
    }
    matches, notes = assigned(rows, Matcher([result.student for result in results], roster))
    factor = _factor(layout, assignment, notes)
    for result in results:
        at = matches.get(result.student)
        if at is None or result.score is None:
            continue
        row = sheet.rows[at]
        if row[layout.points].strip().upper() in ("N/A", "EX"):
            notes.append(
                f"{result.student}: the platform has {row[layout.points]!r} there; it stays"
            )
            continue
        row[layout.points] = points_text(factor * result.score, layout.decimal_comma)
        if layout.comment is not None and not row[layout.comment].strip():
            row[layout.comment] = cell(_comments(result))
    missing = [result.student for result in results if result.student not in matches]
    if missing:
        notes.append(
            f"{len(missing)} of {len(results)} students are in no row: {_some(missing)}; "
            "a roster with their ids, addresses or names helps"
        )
    ungraded = [result.student for result in results if result.score is None]
    if ungraded:
        notes.append(f"{len(ungraded)} are not graded, and their cells stay: {_some(ungraded)}")
    return Filled(sheet, matches, layout, notes, bool(missing))


def write(filled, out):
    """Write a filled table in the encoding and with the delimiter that its platform reads.

    Parameters
    ----------
    filled : Filled
        The table.
    out : path-like
        The file.

    Returns
    -------
    path-like
        The file.
    """
    sheet = filled.sheet
    layout = filled.layout
    text = io.StringIO()
    writer = csv.writer(text, delimiter=layout.delimiter or sheet.delimiter, lineterminator="\r\n")
    writer.writerows(sheet.rows)
    encoding = "utf-8-sig" if layout.utf8 and sheet.encoding == "utf-16" else sheet.encoding
    write_bytes(out, text.getvalue().encode(encoding, "replace"))
    return out


def _factor(layout, assignment, notes):
    """Return the factor for points, if the platform's maximum differs from the assignment's."""
    most = layout.most
    if not most or most == assignment.points:
        return 1.0
    notes.append(
        f"the platform's maximum is {most:g}, that of the assignment {assignment.points:g}: "
        f"points are multiplied by {most / assignment.points:g}"
    )
    return most / assignment.points


def _comments(result):
    """Return the comments of the teacher as one text."""
    comments = [
        result.comment,
        *(f"{verdict.task}: {verdict.comment}" for verdict in result.verdicts if verdict.comment),
    ]
    return re.sub(r"\s*\n\s*", " / ", "; ".join(filter(None, comments)))


def _some(names):
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
