"""A page for grading derivations, with rendered texts, a rubric, points, comments and shortcuts.

The page is one file that works offline.  Entries stay in the browser until they are downloaded as
``by-hand.csv``, which belongs in the folder of the grades.  With a token, the page sends each entry
to the server of :mod:`ibpcl.classroom.feedback.by_hand_server`, which saves it there.
"""

import base64
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from ibpcl.classroom.assignments.assignment import Task
from ibpcl.classroom.feedback import by_hand
from ibpcl.classroom.feedback.pages import POLICY, rendered
from ibpcl.classroom.feedback.plain_text import sections
from ibpcl.classroom.feedback.prose import to_html
from ibpcl.classroom.feedback.tables import points_text
from ibpcl.storage import read_text

SCRIPT = Path(__file__).parent / "web" / "derivations.js"


class Entry(NamedTuple):
    """One derivation.

    Attributes
    ----------
    label : str
        Name of the student on the page.
    task : ibpcl.classroom.assignments.assignment.Task
        The task, with its rubric.
    most : str
        Points of the task.
    text : str
        The derivation as it was written.
    html : markupsafe.Markup
        The derivation; empty if the hand-in contains no text.
    asked : markupsafe.Markup
        The section of the statement.
    steps : list of str
        What the judge says about the steps of the derivation, which it judges by value.
    """

    label: str
    task: Task
    most: str
    text: str
    html: Markup
    asked: Markup
    steps: list


def derivations_page(records, anonymous=False, token=""):
    """Return the page on which a person grades the texts of a class.

    Parameters
    ----------
    records : ibpcl.classroom.feedback.records.Records
        The results of the class.
    anonymous : bool
        Whether students have numbers in place of their ids, in a random order.  ``by-hand.csv``
        then has codes, which the kit reads as well.
    token : str
        Token of the server that saves the entries; empty for a page that works alone.

    Returns
    -------
    str
        HTML; empty if no hand-in has a text that a person grades.
    """
    tasks = {task.id: task for task in records.assignment.tasks if task.kind == "text"}
    entries = []
    for result in records.results:
        for verdict in result.verdicts:
            text = verdict.details[0] if verdict.details else ""
            if verdict.task in tasks and (text.strip() or verdict.state == "given by hand"):
                entries.append((result, verdict, text))
    if not entries:
        return ""
    if anonymous:
        entries.sort(key=lambda entry: by_hand.code(entry[0].student))
    labels = _labels([result.student for result, _, _ in entries], anonymous)
    shown = [
        _entry(label, tasks[verdict.task], text, _asked(records, result, verdict), _steps(result))
        for label, (result, verdict, text) in zip(labels, entries, strict=True)
    ]
    data = {**_data(records, entries, labels, anonymous), "token": token}
    data = json.dumps(data, ensure_ascii=True)
    script = read_text(SCRIPT)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return rendered(
        "derivations.html",
        f"{POLICY}; script-src 'sha256-{digest}'" + ("; connect-src 'self'" if token else ""),
        title=f"{records.assignment.title}: derivations",
        entries=shown,
        saves=bool(token),
        data=Markup(data.replace("<", "\\u003c")),
        script=Markup(script),
    )


def _labels(students, anonymous):
    """Return the names of the students on the page."""
    if not anonymous:
        return students
    numbers = {student: at + 1 for at, student in enumerate(dict.fromkeys(students))}
    return [f"Student {numbers[student]}" for student in students]


def _data(records, entries, labels, anonymous):
    """Return the data for the script: the student of each text, and the rows to preserve."""
    listed = []
    used = {**records.table.used, **records.table.held}
    for label, (result, verdict, _) in zip(labels, entries, strict=True):
        row = used.pop((result.student, verdict.task), None)
        name = by_hand.code(result.student) if anonymous else result.student
        listed.append(
            {
                "student": name,
                "label": label,
                "task": verdict.task,
                "most": verdict.most,
                "points": row.points if row else "",
                "comment": row.comment if row else "",
            }
        )
    others = [[student, task, "", row.comment, row.points] for (student, task), row in used.items()]
    others += [[row.student, row.task, "", row.comment, row.points] for row in records.table.kept]
    if anonymous:
        codes = {result.student: by_hand.code(result.student) for result in records.results}
        others = [[codes.get(row[0], row[0]), *row[1:]] for row in others]
    text = f"{records.folder.resolve()} {records.assignment.name} {anonymous}"
    return {
        "key": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12],
        "entries": listed,
        "others": others,
    }


def _asked(records, result, verdict):
    return (
        sections(records.assignment.statement(result.variant or "base")).get(verdict.task, "")
        if (result.variant or "base") in records.assignment.variants
        else ""
    )


def _steps(result):
    return [
        f"{verdict.task} {verdict.title}: {'; '.join(verdict.words)}"
        for verdict in result.verdicts
        if verdict.kind == "step"
    ]


def _entry(label, task, text, asked, steps):
    """Return one derivation; :func:`to_html` escapes its text."""
    html = Markup(to_html(text, keep_lines=True) if text.strip() else "")
    most = points_text(task.points)
    return Entry(label, task, most, text, html, Markup(to_html(asked) if asked else ""), steps)
