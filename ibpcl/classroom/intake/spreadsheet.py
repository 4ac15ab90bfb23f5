"""Tables and lists as spreadsheets and learning platforms write them.

Excel alone writes CSV in five ways: UTF-8 with a byte order mark, the code page of the machine, or
UTF-16 with tabs; and the first two with ``;`` as the delimiter if the decimal sign is a comma.
:func:`read_rows` detects the format.
"""

import codecs
import csv
import io
import re
from collections import Counter
from pathlib import Path

from ibpcl.errors import UserError

MOST_BYTES = 16 << 20
DELIMITERS = (",", ";", "\t", "|")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NO_TEXT = (
    (b"PK\x03\x04", "a workbook or zip"),
    (b"\xd0\xcf\x11\xe0", "an old workbook"),
    (b"%PDF", "a PDF"),
)
SAMPLE = 50  # rows used to detect the delimiter


def read_rows(path):
    """Return the rows of a table, whatever its encoding, delimiter and quotes.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    list of list of str
        Rows that are not empty.  Cells are stripped; the apostrophe that protects ``=``, ``+``,
        ``-`` and ``@`` from a spreadsheet is removed.

    Raises
    ------
    UserError
        If the file is missing, too long, or not a text.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"class: {path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UserError(f"class: {path} has more than {MOST_BYTES >> 20} MB")
    try:
        return rows_of(decoded(data))
    except (ValueError, csv.Error) as error:
        raise UserError(f"class: {path} is not a readable table: {error}; save it as CSV") from None


def read_table(path, required=()):
    """Return the rows of a table with a header as dictionaries.

    Parameters
    ----------
    path : path-like
        The file.
    required : sequence of str
        Columns that must exist; letter case, spaces and ``_`` are ignored.

    Returns
    -------
    list of dict of str to str
        Keys are the names in ``required`` where they match, and the header's cells otherwise.  Each
        row has all keys.

    Raises
    ------
    UserError
        If the file cannot be read or lacks a required column.
    """
    rows = read_rows(path)
    head = rows[0] if rows else []
    wanted = {column_key(name): name for name in required}
    names = [wanted.get(column_key(cell), cell) for cell in head]
    missing = [name for name in required if name not in names]
    if missing:
        raise UserError(
            f"class: {path} must have the column {missing[0]}; it has {', '.join(head) or 'none'}"
        )
    return [dict(zip(names, [*row, *[""] * len(names)], strict=False)) for row in rows[1:]]


def decoded(data):
    """Decode the bytes of a table.

    A byte order mark decides; otherwise UTF-8, UTF-16 without a mark, and Windows-1252 are tried.

    Parameters
    ----------
    data : bytes
        Content of the file.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the bytes are a workbook or another binary file.

    Examples
    --------
    >>> in_utf16 = "a;ü".encode("utf-16")
    >>> decoded(in_utf16), decoded("a;ü".encode("cp1252")), decoded(b"\\xef\\xbb\\xbfa")
    ('a;ü', 'a;ü', 'a')
    """
    for magic, kind in NO_TEXT:
        if data.startswith(magic):
            raise ValueError(f"it is {kind}")
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data.decode(encoding)
    start = data[:4096]
    if b"\0" in start:
        first = start[0::2].count(0)
        second = start[1::2].count(0)
        if min(first, second) or max(first, second) < len(start) / 8:
            raise ValueError("it has null bytes")
        return data.decode("utf-16-le" if second else "utf-16-be")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def rows_of(text):
    """Return the rows in the text of a table.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    list of list of str

    Raises
    ------
    ValueError
        If the text contains control characters.

    Examples
    --------
    >>> rows_of("student;points\\nada;7,5\\n")
    [['student', 'points'], ['ada', '7,5']]
    """
    if re.search(r"[\x00-\x08\x0e-\x19\x1b-\x1f]", text):
        raise ValueError("it has control characters")
    text = text.removeprefix("\ufeff")
    # a first line "sep=;" is an instruction to Excel
    hint = re.match(r"sep=(.)\r?\n", text)
    text = text[hint.end() :] if hint else text
    delimiter = hint[1] if hint else delimiter_of(text)
    rows = [[_cell(cell) for cell in row] for row in _parsed(text, delimiter)]
    return [row for row in rows if any(row)]


def delimiter_of(text):
    """Return the delimiter of a table: the one that gives most rows the same number of cells.

    Parameters
    ----------
    text : str
        The text of the table.

    Returns
    -------
    str
        A comma if no delimiter gives two cells or more.
    """
    best = (0.0, 0)
    choice = ","
    for delimiter in DELIMITERS:
        widths = Counter()
        try:
            for row in _parsed(text[: 1 << 16], delimiter):
                if any(row) and widths.total() < SAMPLE:
                    widths[len(row)] += 1
        except csv.Error:
            continue
        several = Counter({width: count for width, count in widths.items() if width > 1})
        if several:
            width, count = several.most_common(1)[0]
            quality = (count / widths.total(), width)
            if quality > best:
                best = quality
                choice = delimiter
    return choice


def number(text):
    """Return the number in a cell, with a decimal point or comma.

    Parameters
    ----------
    text : str
        The cell.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the cell is not a number.

    Examples
    --------
    >>> number("7,5"), number(" 7.5 ")
    (7.5, 7.5)
    """
    return float(
        text.strip().replace(",", ".") if text.count(",") == 1 and "." not in text else text
    )


def column_key(name):
    """Return the name of a column without letter case, spaces and punctuation.

    Parameters
    ----------
    name : str
        Cell of the header.

    Returns
    -------
    str

    Examples
    --------
    >>> column_key("Student ID"), column_key("student_id")
    ('studentid', 'studentid')
    """
    return re.sub(r"[\W_]", "", name.casefold())


def _parsed(text, delimiter):
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def _cell(text):
    text = text.replace("\xa0", " ").strip()
    return text[1:] if re.match(r"'[=+\-@]", text) else text
