"""Tables for spreadsheets: UTF-8 with a byte order mark, and no cell that is a formula."""

import csv
import io
import unicodedata

from ibpcl.storage import write_bytes

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value):
    """Return a cell that a spreadsheet does not read as a formula.

    Full-width signs are protected as well, because some spreadsheets read them as plain ones.

    Parameters
    ----------
    value : str or number
        Content of the cell.

    Returns
    -------
    str or number
        A text that begins with a sign gets an apostrophe; everything else is unchanged.

    Examples
    --------
    >>> cell("=1+1"), cell("＝1+1"), cell("ada"), cell(-2.5)
    ("'=1+1", "'＝1+1", 'ada', -2.5)
    """
    if not isinstance(value, str):
        return value
    plain = unicodedata.normalize("NFKC", value.lstrip(" \u00a0\u3000\ufeff"))
    return f"'{value}" if plain.startswith(FORMULA) or value.startswith(FORMULA) else value


def points_text(value, decimal_comma=False):
    """Return points as text, with at most two decimals.

    Parameters
    ----------
    value : float or None
        The points.
    decimal_comma : bool
        Whether to write a decimal comma.

    Returns
    -------
    str
        Empty for None.

    Examples
    --------
    >>> points_text(7.5), points_text(7.5, True), points_text(None)
    ('7.5', '7,5', '')
    """
    if value is None:
        return ""
    text = f"{round(value, 2):.2f}".rstrip("0").rstrip(".")
    return text.replace(".", ",") if decimal_comma else text


def csv_bytes(rows, delimiter=",", mark=True):
    """Return rows as the bytes of a CSV file.

    Parameters
    ----------
    rows : iterable of sequence
        The cells.
    delimiter : str
        Delimiter between cells.
    mark : bool
        Whether to begin with a byte order mark; without it, Excel guesses another encoding.

    Returns
    -------
    bytes
    """
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    encoded = text.getvalue().encode("utf-8", "replace")
    return (b"\xef\xbb\xbf" if mark else b"") + encoded


def write_csv(path, rows, delimiter=",", mark=True):
    """Write rows as a CSV file, atomically.

    Parameters
    ----------
    path : path-like
        The file.
    rows : iterable of sequence
        The cells.
    delimiter : str
        Delimiter between cells.
    mark : bool
        Whether to begin with a byte order mark.
    """
    write_bytes(path, csv_bytes(rows, delimiter, mark))
