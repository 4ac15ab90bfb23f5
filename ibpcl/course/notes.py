"""Notes for instructors: per assignment three common mistakes, a question and a demonstration.

The tables are in the package ``ibpcl-teacher``.  A mistake names one of the assignment's planted
mistakes, so ``ibpcl class selftest`` shows what students read about it.
"""

from ibpcl.classroom.assignments import assignment as assignments
from ibpcl.course.quiz import teacher_folder
from ibpcl.errors import UserError
from ibpcl.storage import read_toml

MISTAKES = 3
MINUTES = 10
HEAD = """\
# Notes for instructors: assignment {title}

About {hours:g} hours, {points:g} points. Statement and stub:
`ibpcl class new {number} --out FOLDER`. Solution: `ibpcl class solution {number}`.
The files of this folder contain answers: keep them.
"""


def read(name):
    """Return the notes for an assignment.

    Parameters
    ----------
    name : str
        Name of the assignment, such as ``01_gaussian_weights``.

    Returns
    -------
    notes : dict
        With ``mistake``, ``discussion`` and ``demonstration``.

    Raises
    ------
    UserError
        If the package ``ibpcl-teacher`` is not installed, or the notes are incomplete.
    """
    path = teacher_folder() / "notes" / f"{name}.toml"
    if not path.is_file():
        raise UserError(f"class course: {path} is missing")
    return checked(read_toml(path), assignments.find(name))


def planted(one):
    """Return the labels of the planted mistakes of an assignment.

    Parameters
    ----------
    one : ibpcl.classroom.assignments.assignment.Assignment

    Returns
    -------
    labels : set of str
        Empty if the assignment has none.
    """
    if "mistakes.toml" not in one.files:
        return set()
    return {row["label"] for row in read_toml(one.path("mistakes.toml"))["mistake"]}


def checked(notes, one):
    """Return notes, if they are complete.

    Parameters
    ----------
    notes : dict
        The table of a file.
    one : ibpcl.classroom.assignments.assignment.Assignment

    Returns
    -------
    notes : dict

    Raises
    ------
    UserError
        If there are not three mistakes, one is not planted, or the demonstration does not take ten
        minutes.
    """
    where = f"notes on {one.name}"
    mistakes = notes.get("mistake", [])
    if len(mistakes) != MISTAKES:
        raise UserError(f"{where}: three mistakes are needed, got {len(mistakes)}")
    known = planted(one)
    for row in mistakes:
        label = row.get("planted" if known else "title", "")
        if not label or (known and label not in known):
            raise UserError(f"{where}: {label!r} is not a planted mistake of the assignment")
        if not row.get("why") or not row.get("ask"):
            raise UserError(f"{where}: the mistake {label!r} needs why and ask")
    discussion = notes.get("discussion", {})
    if "?" not in discussion.get("question", "") or not discussion.get("points"):
        raise UserError(f"{where}: the discussion needs a question and points")
    steps = notes.get("demonstration", {}).get("step", [])
    minutes = sum(step["minutes"] for step in steps)
    if minutes != MINUTES:
        raise UserError(f"{where}: the demonstration must take {MINUTES} minutes, got {minutes}")
    return notes


def program(notes):
    """Return the code of a demonstration as one script.

    Parameters
    ----------
    notes : dict
        From :func:`read`.

    Returns
    -------
    code : str
        Python.
    """
    steps = notes["demonstration"]["step"]
    return "\n\n".join(step["code"].strip() for step in steps if step.get("code")) + "\n"


def page(name):
    """Return the notes for an assignment as a page.

    Parameters
    ----------
    name : str
        Name of the assignment.

    Returns
    -------
    text : str
        Markdown.

    Raises
    ------
    UserError
        If the package ``ibpcl-teacher`` is not installed, or the notes are incomplete.
    """
    notes = read(name)
    one = assignments.find(name)
    number = name.partition("_")[0].lstrip("0")
    parts = [
        HEAD.format(
            title=f"{number}, {one.title}", hours=one.hours, points=one.points, number=number
        ).rstrip(),
        "## Three common mistakes",
    ]
    for row in notes["mistake"]:
        label = row.get("planted") or row["title"]
        parts += [
            f"### {label[0].upper()}{label[1:]}",
            row["why"],
            f"Ask: *{row['ask']}*",
        ]
    discussion = notes["discussion"]
    parts += [
        "## A question for discussion",
        discussion["question"],
        "\n".join(f"- {point}" for point in discussion["points"]),
        f"## A demonstration of ten minutes: {notes['demonstration']['title']}",
        f"The code of all steps is in `{name}_demonstration.py`.",
    ]
    for number, step in enumerate(notes["demonstration"]["step"], 1):
        parts.append(f"{number}. **{step['minutes']} minutes.** {step['text']}")
        if step.get("code"):
            parts.append(f"```python\n{step['code'].strip()}\n```")
    return "\n\n".join(parts) + "\n"
