"""A page for grading derivations, with rendered texts, a rubric, points, comments and shortcuts.

The page is one file that works offline.  Entries stay in the browser until they are downloaded as
``by-hand.csv``, which belongs in the folder of the grades.
"""

import base64
import hashlib
import json
from html import escape
from pathlib import Path

from ibpcl.classroom import by_hand
from ibpcl.classroom.feedback import sections
from ibpcl.classroom.pages import page, points
from ibpcl.classroom.prose import to_html
from ibpcl.classroom.tables import points_text
from ibpcl.storage import read_text

SCRIPT = Path(__file__).parent / "web" / "derivations.js"
STYLE = """
body { max-width: 78rem; } header { display: flex; flex-wrap: wrap; gap: .5rem 1rem;
align-items: center; position: sticky; top: 0; background: var(--back); padding: .6rem 0;
border-bottom: 1px solid var(--line); z-index: 1; }
header h1 { font-size: 1.1rem; margin: 0 auto 0 0; }
button, input, textarea { font: inherit; color: inherit; background: var(--back);
border: 1px solid var(--line); border-radius: 6px; padding: .25rem .7rem; }
button { cursor: pointer; } button:hover, button:focus-visible { border-color: var(--link); }
button.main { background: var(--link); color: var(--back); border-color: var(--link); }
progress { width: 7rem; height: .6rem; accent-color: var(--right); }
#list { display: flex; gap: .3rem; overflow-x: auto; padding: .6rem 0; }
#list button { white-space: nowrap; font-size: .85rem; padding: .1rem .6rem; border-radius: 1rem; }
#list .done { border-color: var(--right); color: var(--right); }
#list [aria-current=true] { background: var(--soft); font-weight: 650; }
article.entry { display: grid; grid-template-columns: minmax(0, 1fr) 19rem; gap: 2rem;
padding: 1rem 0 2rem; } article.entry[hidden] { display: none; }
body.all article.entry { border-bottom: 1px solid var(--line); }
article h2 { margin: 0 0 .4rem; } article .text { font-size: 1.02rem; overflow-wrap: anywhere; }
form { position: sticky; top: 4.5rem; align-self: start; display: grid; gap: .7rem; }
form label { display: grid; gap: .2rem; } form fieldset { border: 0; margin: 0; padding: 0;
display: grid; gap: .35rem; } form legend { padding: 0; color: var(--quiet); font-size: .9rem; }
form fieldset label { grid-template-columns: auto 1fr auto; gap: .6rem; align-items: baseline; }
form .points { grid-template-columns: auto 5rem auto; align-items: baseline; gap: .6rem; }
form textarea { min-height: 7rem; resize: vertical; width: 100%; }
input[aria-invalid=true] { border-color: var(--wrong); outline-color: var(--wrong); }
kbd { font: .8rem ui-monospace, monospace; border: 1px solid var(--line); border-radius: 4px;
padding: 0 .3rem; color: inherit; opacity: .75; }
@media (max-width: 52rem) { article.entry { grid-template-columns: 1fr; gap: 1rem; }
form { position: static; } header { position: static; } }
"""


def derivations_page(records, anonymous=False):
    """Return the page on which a person grades the texts of a class.

    Parameters
    ----------
    records : ibpcl.classroom.records.Records
        The results of the class.
    anonymous : bool
        Whether students have numbers in place of their ids, in a random order.  ``by-hand.csv``
        then has codes, which the kit reads as well.

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
        _entry(at, label, tasks[verdict.task], text, _asked(records, result, verdict))
        for at, (label, (result, verdict, text)) in enumerate(zip(labels, entries, strict=True))
    ]
    title = f"{records.assignment.title}: derivations"
    body = _head(title) + "\n".join(shown) + _foot()
    data = json.dumps(_data(records, entries, labels, anonymous), ensure_ascii=True)
    return _with_script(title, body, data)


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
        sections(records.assignment.statement(result.form or "base")).get(verdict.task, "")
        if (result.form or "base") in records.assignment.forms
        else ""
    )


def _entry(at, label, task, text, asked):
    """Return one derivation with its form."""
    items = "".join(
        f'<label><input type="checkbox" value="{item["points"]:g}"><span>{escape(item["text"])}'
        f'</span><span class="quiet nowrap">{points(item["points"])} <kbd>{number}</kbd></span>'
        "</label>"
        for number, item in enumerate(task.rubric, start=1)
    )
    rubric = f"<fieldset><legend>Rubric</legend>{items}</fieldset>" if items else ""
    shown = (
        to_html(text, keep_lines=True)
        if text.strip()
        else "<p class='quiet'>The hand-in contains no text.</p>"
    )
    question = (
        f"<details><summary>What was asked</summary>{to_html(asked)}</details>" if asked else ""
    )
    source = (
        f"<details><summary>As it was written</summary><pre>{escape(text)}</pre></details>"
        if text.strip()
        else ""
    )
    return f"""<article class="entry"><div><h2>{escape(label)} <span class="quiet">{escape(task.id)}
{escape(task.title)}</span></h2><div class="text">{shown}</div>{question}{source}</div>
<form data-at="{at}">{rubric}
<label class="points"><span>Points <kbd>p</kbd></span><input name="points" inputmode="decimal"
autocomplete="off"><span class="quiet">of {points_text(task.points)}</span></label>
<label><span>Comment for the student <kbd>c</kbd></span><textarea name="comment"></textarea></label>
<button class="main" type="submit">Next without points <kbd>n</kbd></button></form></article>"""


def _head(title):
    return f"""<header><h1>{escape(title)}</h1><span id="progress" class="quiet"></span>
<progress id="bar" value="0" max="1"></progress>
<button type="button" id="previous">Previous <kbd>k</kbd></button>
<button type="button" id="next">Next <kbd>j</kbd></button>
<label><input type="checkbox" id="all"> all at once</label>
<button type="button" class="main" id="download">Download by-hand.csv</button></header>
<p id="storage" class="wrong" hidden>This browser does not store your entries: download the table
before you close the page.</p>
<div id="list" aria-label="Students"></div>
"""


def _foot():
    return """<p class="quiet">Put the downloaded <code>by-hand.csv</code> into the folder of the
grades and run <code>ibpcl class report</code>. Keys: <kbd>j</kbd> and <kbd>k</kbd> next and
previous, <kbd>n</kbd> next without points, <kbd>1</kbd> to <kbd>9</kbd> rubric,
<kbd>p</kbd> points,
<kbd>c</kbd> comment, <kbd>Esc</kbd> leaves a field.</p>"""


def _with_script(title, body, data):
    """Return the page with its script; the policy allows no other script."""
    script = read_text(SCRIPT)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    inside = data.replace("<", "\\u003c")
    tags = f'<script type="application/json" id="data">{inside}</script><script>{script}</script>\n'
    return page(title, body, STYLE, tags, policy)
