"""A student's page: what was asked, what is right, what is wrong in words, and hints of the level that is allowed."""

import re
from html import escape

from ibpcl.classroom.pages import page, points
from ibpcl.classroom.verdict import in_words

LEVELS = ("none", "kind", "line", "full")
STATES = {"right": "right", "partial": "partly right", "wrong": "wrong", "raises": "raises an exception",
          "missing": "missing", "not judged": "not judged", "by hand": "graded by hand",
          "given by hand": "graded by hand"}


def shown_hints(verdict, level):
    """Return the hints of a task that a level allows.

    Of ``kind`` the first; of ``line`` also the lines of the mistakes, or the second where none was found; of ``full``
    all of them.
    """
    count = LEVELS.index(level)
    if verdict.state in ("right", "by hand", "given by hand", "not judged") or not count:
        return []
    kinds = list(dict.fromkeys(part.hint for part in verdict.parts if part.kind != "ok" and part.hint))
    shown = {1: 1, 2: 1 if verdict.lines else 2, 3: None}[count]
    return [*kinds, *(verdict.lines if count > 1 else ()), *verdict.hints[:shown]]


def shown_words(verdict, level):
    """Return what is said about a task.

    With hints of level ``none`` only which of its parts are wrong; below ``full`` without expressions, which may stand
    in the solution.
    """
    if level == "none" and verdict.parts:
        wrong = [part.name for part in verdict.parts if part.kind != "ok"]
        return [f"wrong: {', '.join(wrong)}"] if wrong else ["right"]
    told = list(verdict.words)
    for part in verdict.parts if level != "full" and verdict.kind == "vjp" else ():
        plain = without_expressions(part.words) or in_words(part.kind)
        told = [line.replace(part.words, plain) if part.words else line for line in told]
    return told


def without_expressions(words):
    """Return the words before the first expression; nothing if they begin with one.

    >>> without_expressions("an elementwise factor is missing: `1 - t**2` beside `dx`")
    'an elementwise factor is missing'
    """
    head, mark, _ = words.partition("`")
    return head.rpartition(": ")[0] if mark else words


def lines(result, level="kind"):
    """Return the feedback as lines of text, for the terminal and for graders that show text."""
    if result.status != "graded":
        return [f"not graded: {result.reason}"]
    told = []
    for verdict in result.verdicts:
        told.append(f"{verdict.task}  {verdict.title}: {STATES[verdict.state]}"
                    + ("" if verdict.pending else f", {points(verdict.points)} of {points(verdict.most)}"))
        if verdict.state != "right":
            told += [f"    {line}" for line in shown_words(verdict, level)]
            told += [f"    hint: {line}" for line in shown_hints(verdict, level)]
    told += [f"note: {line}" for line in result.notes]
    told.append(f"{points(result.score)} of {points(result.most)} points"
                + (f"; {points(result.pending)} more are graded by hand" if result.pending else ""))
    return told


def feedback(result, assignment, level="kind"):
    """Return the page of one hand-in.

    Parameters
    ----------
    result : Result
    assignment : Assignment
    level : {"none", "kind", "line", "full"}
    """
    body = [f"<h1>{escape(assignment.title)}: {escape(result.student)}</h1>"]
    if result.status != "graded":
        body.append(f"<p class='wrong'><b>Not graded.</b> {escape(result.reason)}</p>"
                    "<p>This is not a grade of 0: talk to your teacher, or mend it and hand in again.</p>")
        return page(f"{assignment.title}: {result.student}", "\n".join(body))
    more = f" {points(result.pending)} more are graded by hand." if result.pending else ""
    body.append(f"<p><b>{points(result.score)} of {points(result.most)} points.</b>{more}</p>"
                f"<p class='quiet'>Your form: {escape(assignment.forms.get(result.form, result.form))}. "
                f"Hand-in {escape(result.sha256[:12])}.</p>")
    body += [f"<p class='hint'>{escape(line)}</p>" for line in result.notes]
    asked = sections(assignment.statement(result.form)) if assignment else {}
    body += [_task(verdict, asked.get(verdict.task, ""), level) for verdict in result.verdicts]
    return page(f"{assignment.title}: {result.student}", "\n".join(body))


def sections(statement):
    """Return the text of each task in a statement: {"1a": "..."}.

    >>> sections("Intro\\n## Task 1a Draw\\nDo it.\\n")
    {'1a': 'Do it.'}
    """
    found = re.findall(r"^## Tasks? ([^\n]*)\n(.*?)(?=^## |\Z)", statement, flags=re.MULTILINE | re.DOTALL)
    return {name: text.strip() for head, text in found for name in re.findall(r"\d+[a-z]\b", head)}


def _task(verdict, asked, level):
    state = verdict.state
    earned = "" if verdict.pending else f": {points(verdict.points)} of {points(verdict.most)} points"
    hidden = " <span class='quiet'>(hidden inputs)</span>" if verdict.visibility == "hidden" else ""
    pieces = [f"<h2>{escape(verdict.task)} {escape(verdict.title)}</h2>",
              f"<p><b class='{state.replace(' ', '-')}'>{STATES[state]}</b>{earned}{hidden}</p>"]
    if state != "right":
        pieces += ["<ul>" + "".join(f"<li>{escape(line)}</li>" for line in shown_words(verdict, level)) + "</ul>"]
        pieces += [f"<p class='hint'>{escape(hint)}</p>" for hint in shown_hints(verdict, level)]
    if asked:
        pieces.append(f"<details><summary>What was asked</summary><pre>{escape(asked)}</pre></details>")
    if verdict.figures and verdict.visibility == "public":
        opened = " open" if state != "right" else ""
        pieces.append(f"<details{opened}><summary>The check in figures</summary>{''.join(verdict.figures)}"
                      "<p class='quiet'>Left: the error of a difference quotient against its step; a right gradient "
                      "falls, then rounding rises. Right: the Taylor remainder; slope 2 if the gradient is right, 1 if "
                      "not.</p></details>")
    return "\n".join(pieces)
