"""A class as `ibpcl class collect` writes it: a folder per student, and what was decided about
each.
"""

from collections import Counter
from pathlib import Path

from ibpcl.classroom.assignment import named
from ibpcl.classroom.students import folder_name
from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_json, write_text

COLLECTED = "collection.json"
SCHEMA = "ibpcl/collection/1"


def most_named(collection):
    """Return the assignment of the package that most hand-ins name, None if they name none."""
    names = Counter(each.said.get("ASSIGNMENT") for each in collection.found)
    names.pop(None, None)
    return named(names.most_common(1)[0][0]) if names else None


def write(collection, out):
    """Write the hand-ins that count to a folder per student, which `ibpcl class grade` takes as it
    is.

    Parameters
    ----------
    collection : Collection
    out : path
        A new or empty folder.

    Raises
    ------
    UserError
        If the folder has something in it already.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"class: {out} exists: give another --out, or move it away")
    for found in collection.found:
        folder = out / folder_name(found.student)
        folder.mkdir(parents=True, exist_ok=True)
        for number, attempt in enumerate(found.attempts, start=1):
            place = folder / f"attempt-{number}" if len(found.attempts) > 1 else folder
            place.mkdir(exist_ok=True)
            # A notebook is written as its text in cells, which is read as the notebook is.
            write_text(place / attempt.handin.file.replace(".ipynb", ".py"), attempt.handin.source)
    write_json(out / COLLECTED, collection.to_dict())


def collected_ids(folder):
    """Return {name of the folder: student} of a folder that :func:`write` made; empty for any
    other.
    """
    path = Path(folder) / COLLECTED
    try:
        table = read_json(path) if path.is_file() else {}
        if table.get("schema") != SCHEMA:
            return {}
        return {folder_name(each["student"]): each["student"] for each in table["students"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
