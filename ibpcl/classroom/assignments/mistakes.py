"""The planted mistakes of an assignment: its list ``mistakes.toml``.

The self-test plants each of them.  One with ``words`` also names the same mistake of a hand-in.
"""

from ibpcl.errors import UserError
from ibpcl.storage import read_toml


def mistakes(assignment):
    """Return the planted mistakes of an assignment.

    Parameters
    ----------
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        The assignment.

    Returns
    -------
    list of dict
        Entries of ``mistakes.toml``.
    """
    path = assignment.files.get("mistakes.toml", assignment.folder / "mistakes.toml")
    return read_toml(path).get("mistake", []) if path.exists() else []


def planted(assignment, mistake):
    """Return the reference with one planted mistake.

    Parameters
    ----------
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        The assignment.
    mistake : dict
        Entry of ``mistakes.toml``.

    Returns
    -------
    str
        Python text.

    Raises
    ------
    UserError
        If the text to replace does not occur exactly once.
    """
    source = assignment.source(mistake.get("variant", "base"))
    if (count := source.count(mistake["replace"])) != 1:
        raise UserError(
            f"class: {assignment.name}: mistake {mistake['label']!r}: its text occurs {count} "
            "times, not once"
        )
    return source.replace(mistake["replace"], mistake["by"])
