"""Collected classes: one folder per student, as ``ibpcl class collect`` writes them."""

from collections import Counter
from pathlib import Path

from ibpcl.classroom.assignments.assignment import named
from ibpcl.classroom.intake.students import folder_name
from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_json, write_text

COLLECTED = "collection.json"
SCHEMA = "ibpcl/collection/1"


def most_named(collection):
    """Return the package's assignment that most hand-ins name.

    Parameters
    ----------
    collection : Collection
        The hand-ins of a class.

    Returns
    -------
    Assignment or None
        None if the hand-ins name no assignment of the package.
    """
    names = Counter(each.said.get("ASSIGNMENT") for each in collection.found)
    names.pop(None, None)
    return named(names.most_common(1)[0][0]) if names else None


def write(collection, out):
    """Write the hand-ins that count to a folder per student, as input of ``ibpcl class grade``.

    Parameters
    ----------
    collection : Collection
        The hand-ins of a class.
    out : path-like
        A new or empty folder.

    Raises
    ------
    UserError
        If the folder is not empty.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"class: {out} exists and is not empty: give another folder, or move it")
    for collected in collection.found:
        folder = out / folder_name(collected.student)
        folder.mkdir(parents=True, exist_ok=True)
        for number, attempt in enumerate(collected.attempts, start=1):
            place = folder / f"attempt-{number}" if len(collected.attempts) > 1 else folder
            place.mkdir(exist_ok=True)
            # A notebook is written as its text in cells, which is read as the notebook is.
            write_text(
                place / attempt.submission.file.replace(".ipynb", ".py"), attempt.submission.source
            )
    write_json(out / COLLECTED, collection.to_dict())


def collected_ids(folder):
    """Return the student of each subfolder in a folder that :func:`write` made.

    Parameters
    ----------
    folder : path-like
        Any folder.

    Returns
    -------
    dict of str to str
        Name of the subfolder to student; empty if :func:`write` did not make the folder.
    """
    path = Path(folder) / COLLECTED
    try:
        table = read_json(path) if path.is_file() else {}
        if table.get("schema") != SCHEMA:
            return {}
        return {folder_name(each["student"]): each["student"] for each in table["students"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
