"""Headings of tables in several languages, from the rows of ``headings.toml``."""

import functools
from pathlib import Path

from ibpcl.storage import read_toml


@functools.cache
def headings(meaning, platform="any"):
    """Return the headings of the columns with a meaning.

    Parameters
    ----------
    meaning : str
        What the column holds, such as ``"last name"``.
    platform : str
        The platform, or ``"any"``.

    Returns
    -------
    tuple of str
        As :func:`ibpcl.classroom.intake.spreadsheet.column_key` writes them.

    Examples
    --------
    >>> headings("section", "canvas")[:2]
    ('section', 'abschnitt')
    """
    rows = read_toml(Path(__file__).with_name("headings.toml"))["row"]
    return tuple(
        name
        for row in rows
        if row["meaning"] == meaning and row["platform"] == platform
        for name in row["names"]
    )
