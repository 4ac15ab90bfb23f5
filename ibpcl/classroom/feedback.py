"""The student's page: the verdict on each task, the mistake in words, the code, and hints."""

import functools
import re
from html import escape

from ibpcl.classroom import code_view
from ibpcl.classroom.pages import anchor, page, points
from ibpcl.classroom.plain_words import plain, plain_hint, plain_reason, told_once
from ibpcl.classroom.prose import to_html
from ibpcl.classroom.verdict import in_words

LEVELS = ("none", "kind", "line", "full")
STATES = {
    "right": "right",
    "partial": "partly right",
    "wrong": "wrong",
    "raises": "raises an exception",
    "missing": "missing",
    "not judged": "not judged",
    "by hand": "waits for your teacher",
    "given by hand": "graded by your teacher",
}
SIGNS = {
    "right": "✓",
    "partial": "◐",
    "wrong": "✗",
    "raises": "✗",
    "missing": "–",
    "not judged": "–",
    "by hand": "…",
    "given by hand": "✎",
}
STYLE = """
.score { font-size: 2rem; font-weight: 650; margin: .2rem 0 0; }
.score small { font-size: 1rem; font-weight: 400; color: var(--quiet); }
.tasks { display: flex; flex-wrap: wrap; gap: .4rem; padding: 0; margin: 1rem 0; list-style: none; }
.tasks a { display: block; padding: .2rem .6rem; border: 1px solid var(--line); border-radius: 1rem;
text-decoration: none; font-size: .9rem; color: var(--ink); }
section { border-top: 1px solid var(--line); padding-top: .9rem; margin-top: 1.4rem; }
section h2 { display: flex; gap: 1rem; justify-content: space-between; margin: 0; }
section h2 .points { font-weight: 500; white-space: nowrap; font-size: 1rem; }
dl.example { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem;
  margin: .6rem 0;
padding: .6rem .9rem; background: var(--soft); border-radius: 8px; }
dl.example dt { color: var(--quiet); } dl.example dd { margin: 0; overflow-wrap: anywhere; }
pre.listing { padding: .5rem 0; overflow-x: auto; white-space: pre; }
pre.listing span { display: block; padding-right: 1rem; min-width: fit-content; }
pre.listing i { display: inline-block; width: 3.2rem; padding-right: .9rem; text-align: right;
font-style: normal; color: var(--quiet); user-select: none; }
pre.listing .marked { background: var(--mark); box-shadow: inset 3px 0 var(--hint-line); }
.sr, pre.listing .sr { position: absolute; width: 1px; height: 1px; overflow: hidden;
clip-path: inset(50%); }
.first { background: var(--soft); border-radius: 8px; padding: .6rem .9rem; }
"""


def shown_hints(verdict, level):
    """Return the hints of a task that a level allows.

    The level ``kind`` allows the first hint.  The level ``line`` adds the lines of the mistakes, or
    the second hint if no line was found.  The level ``full`` allows all.

    Parameters
    ----------
    verdict : Verdict
        The verdict on the task.
    level : {"none", "kind", "line", "full"}
        Level of hints.

    Returns
    -------
    list of str
        The hints; empty for a task that is right or not judged.
    """
    count = LEVELS.index(level)
    if verdict.state in ("right", "by hand", "given by hand", "not judged") or not count:
        return []
    wrong = [part for part in verdict.parts if part.kind != "ok"]
    if wrong and all(part.follows for part in wrong):
        return []  # the forward must be corrected, not the gradient
    kinds = list(
        dict.fromkeys(plain_hint(part.hint) for part in wrong if part.hint and not part.follows)
    )
    shown = {1: 1, 2: 1 if verdict.lines else 2, 3: None}[count]
    return [*kinds, *(verdict.lines if count > 1 else ()), *verdict.hints[:shown]]


def shown_words(verdict, level):
    """Return the sentences about a task that a level allows.

    The level ``none`` allows only the names of the wrong parts.  All levels below ``full`` leave
    out expressions, which may occur in the solution.

    Parameters
    ----------
    verdict : Verdict
        The verdict on the task.
    level : {"none", "kind", "line", "full"}
        Level of hints.

    Returns
    -------
    list of str
    """
    if level == "none" and verdict.parts:
        wrong = [part.name for part in verdict.parts if part.kind != "ok"]
        return [f"wrong: {', '.join(wrong)}"] if wrong else ["right"]
    sentences = list(verdict.words)
    for part in verdict.parts if level != "full" and verdict.kind == "vjp" else ():
        words = without_expressions(part.words) or plain(part.kind)
        sentences = [line.replace(part.words, words) if part.words else line for line in sentences]
    for part in verdict.parts:
        named = f"{part.name}: {in_words(part.kind)}"
        sentences = [
            f"{part.name}: {plain(part.kind)}" if line == named else line for line in sentences
        ]
    return told_once(sentences)


def without_expressions(words):
    """Return a sentence up to its first expression.

    Parameters
    ----------
    words : str
        A sentence with expressions between backticks.

    Returns
    -------
    str
        Empty if the sentence begins with an expression.

    Examples
    --------
    >>> without_expressions("an elementwise factor is missing: `1 - t**2` beside `dx`")
    'an elementwise factor is missing'
    """
    head, mark, _ = words.partition("`")
    return head.rpartition(": ")[0] if mark else words


def mend_first(result, assignment):
    """Return the forwards to correct first: those that wrong gradients are right for.

    Parameters
    ----------
    result : Result
        The result of one hand-in.
    assignment : Assignment
        The assignment.

    Returns
    -------
    dict of str to (str, list of str)
        For the task of each gradient, the task of its forward and the inputs whose gradients fit
        the student's own forward.
    """
    forwards = {task.function: task.id for task in assignment.tasks if task.kind == "forward"}
    tasks = {task.id: task for task in assignment.tasks}
    found = {}
    for verdict in result.verdicts:
        follows = [part.name for part in verdict.parts if part.follows]
        task = tasks.get(verdict.task)
        if follows and task is not None and task.forward in forwards:
            found[verdict.task] = forwards[task.forward], follows
    return found


def lines(result, level="kind"):
    """Return the feedback as lines of text, for the terminal and for systems that show text.

    Parameters
    ----------
    result : Result
        The result of one hand-in.
    level : {"none", "kind", "line", "full"}
        Level of hints.

    Returns
    -------
    list of str
    """
    if result.status != "graded":
        return [f"not graded: {plain_reason(result.reason)}"]
    sentences = []
    for verdict in result.verdicts:
        sentences.append(
            f"{verdict.task}  {verdict.title}: {STATES[verdict.state]}"
            + ("" if verdict.pending else f", {_of(verdict.points, verdict.most)}")
        )
        if verdict.state != "right":
            sentences += [f"    {line}" for line in shown_words(verdict, level)]
            sentences += [f"    {line}" for line in _example_lines(verdict, level)]
            sentences += [f"    hint: {line}" for line in shown_hints(verdict, level)]
        if verdict.comment:
            sentences.append(f"    comment: {verdict.comment}")
    sentences += [f"note: {line}" for line in result.notes]
    if result.deduction:
        sentences.append(f"{points(result.deduction)} points are deducted: {_late(result)}")
    if result.comment:
        sentences.append(f"comment: {result.comment}")
    sentences.append(_sum(result))
    return sentences


def feedback(result, assignment, level="kind", source="", name=""):
    """Return the feedback page of one hand-in.

    Parameters
    ----------
    result : Result
        The result of the hand-in.
    assignment : Assignment
        The assignment.
    level : {"none", "kind", "line", "full"}
        Level of hints.
    source : str
        The text that was judged; without it the page shows no code.
    name : str
        Name of the student in the title; by default the id.

    Returns
    -------
    str
        HTML.
    """
    title = f"{assignment.title}: {name or result.student}"
    body = [
        f"<p class='quiet'>{escape(name or result.student)}</p>",
        f"<h1>{escape(assignment.title)}</h1>",
    ]
    comment = f"<p class='comment'>{escape(result.comment)}</p>" if result.comment else ""
    if result.status != "graded":
        body.append(
            f"<p class='wrong'><b>Not graded.</b> {escape(plain_reason(result.reason))}</p>"
            f"{comment}<p>This is not a grade of 0: talk to your teacher, or correct the "
            "file and hand it in again.</p>"
        )
        return page(title, "\n".join(body), STYLE)
    late = (
        f"<p>{points(result.deduction)} points are deducted: {_late(result)}.</p>"
        if result.deduction
        else ""
    )
    body += [
        f"<p class='score'>{points(result.score)} <small>of {points(result.full)} points"
        f"</small></p>{_waiting(result)}{late}{comment}",
        _overview(result, assignment),
    ]
    body += [f"<p class='hint'>{escape(line)}</p>" for line in result.notes]
    asked = sections(assignment.statement(result.form))
    first = mend_first(result, assignment)
    body += [
        _task(
            verdict, assignment, asked.get(verdict.task, ""), level, source, first.get(verdict.task)
        )
        for verdict in result.verdicts
    ]
    form = assignment.forms.get(result.form, result.form)
    body.append(
        f"<section class='quiet'><p>Your form: {escape(form)}.</p><p>SHA-256 of your text, "
        f"as <code>ibpcl class submit</code> prints it: <code>{escape(result.sha256)}"
        "</code></p></section>"
    )
    return page(title, "\n".join(body), STYLE)


@functools.lru_cache(maxsize=128)
def _asked(text):
    """Return a section of the statement as HTML; a class shares them."""
    return to_html(text)


def sections(statement):
    """Return the text of each task in a statement.

    Parameters
    ----------
    statement : str
        Markdown, with a heading ``## Task`` and the id for each task.

    Returns
    -------
    dict of str to str
        Task id to Markdown.

    Examples
    --------
    >>> sections("Intro\\n## Task 1a Draw\\nDo it.\\n")
    {'1a': 'Do it.'}
    """
    found = re.findall(
        r"^## Tasks? ([^\n]*)\n(.*?)(?=^## |\Z)", statement, flags=re.MULTILINE | re.DOTALL
    )
    return {name: text.strip() for head, text in found for name in re.findall(r"\d+[a-z]\b", head)}


def _overview(result, assignment):
    """Return the tasks in a row, and what to begin with."""
    chips = "".join(
        f'<li><a href="#task-{anchor(verdict.task)}"><b class="{_css(verdict)}">'
        f"{SIGNS[verdict.state]}</b> {escape(verdict.task)}</a></li>"
        for verdict in result.verdicts
    )
    advice = [
        f"<p class='first'><b>Correct {escape(before)} first.</b> {_fits(task, before)}</p>"
        for task, (before, _) in mend_first(result, assignment).items()
        if all(
            part.follows or part.kind == "ok"
            for verdict in result.verdicts
            if verdict.task == task
            for part in verdict.parts
        )
    ]
    return f'<ul class="tasks">{chips}</ul>' + "".join(advice)


def _task(verdict, assignment, asked, level, source, first):
    """Return the section of one task."""
    earned = "" if verdict.pending else _of(verdict.points, verdict.most)
    hidden = (
        " <span class='quiet'>judged at hidden inputs</span>"
        if verdict.visibility == "hidden"
        else ""
    )
    pieces = [
        f'<section id="task-{anchor(verdict.task)}"><h2><span>{escape(verdict.task)} '
        f"{escape(verdict.title)}</span><span class='points'>{earned}</span></h2>",
        f"<p><b class='{_css(verdict)}'>{STATES[verdict.state]}</b>{hidden}</p>",
    ]
    if verdict.comment:
        pieces.append(f"<p class='comment'>{escape(verdict.comment)}</p>")
    sentences = [] if verdict.state == "right" else shown_words(verdict, level)
    hints = shown_hints(verdict, level)
    if first and level != "none":
        before, inputs = first
        sentences = [line for line in sentences if line.split(":")[0] not in inputs]
        pieces.append(
            f"<p class='first'><b>Correct {escape(before)} first.</b> "
            f"{_fits(verdict.task, before, inputs, verdict)}</p>"
        )
    if sentences and verdict.state not in ("by hand", "given by hand"):
        pieces.append("<ul>" + "".join(f"<li>{_ticks(line)}</li>" for line in sentences) + "</ul>")
    pieces += _examples(verdict, level)
    if hints:
        listed = "".join(f"<li>{_ticks(_sentence(hint))}</li>" for hint in hints)
        pieces.append(f"<div class='hint'><b>Hints</b><ul>{listed}</ul></div>")
    pieces += _code(verdict, assignment, source, [*sentences, *hints])
    if asked:
        pieces.append(f"<details><summary>What was asked</summary>{_asked(asked)}</details>")
    pieces += _figures(verdict)
    return "\n".join([*pieces, "</section>"])


def _code(verdict, assignment, source, sentences):
    """Return the functions of a task, or the derivation, opened where something is wrong."""
    opened = "" if verdict.state in ("right", "missing", "not judged") else " open"
    if verdict.kind == "text":
        text = verdict.details[0] if verdict.details else ""
        return (
            [f"<details><summary>Your derivation</summary>{to_html(text, True)}</details>"]
            if text.strip()
            else []
        )
    task = next((task for task in assignment.tasks if task.id == verdict.task), None)
    names = [task.function] if task is not None else []
    names += [f"{name}_vjp" for name in names if task.kind == "extremes" and task.wrt]
    names += [f"proof_{verdict.task}"] if verdict.kind == "referee" else []
    listing = code_view.shown(source, names, code_view.marked_lines(sentences))
    if not listing:
        return []
    return [f"<details{opened}><summary>Your code</summary>{listing}</details>"]


def _examples(verdict, level):
    """Return one wrong entry of each part, obtained and expected."""
    found = []
    for part in verdict.parts:
        if part.example and level != "none" and verdict.visibility == "public":
            example = {key: escape(str(value)) for key, value in part.example.items()}
            found.append(
                f"<dl class='example'><dt>For example</dt><dd><code>{example['place']}"
                f"</code> <span class='quiet'>({example['inputs']})</span></dd>"
                f"<dt>yours</dt><dd class='code'>{example['got']}</dd>"
                f"<dt>right</dt><dd class='code'>{example['expected']}</dd></dl>"
            )
    return found


def _example_lines(verdict, level):
    """Return the same as text."""
    if level == "none" or verdict.visibility != "public":
        return []
    return [
        f"for example {each['place']}: yours {each['got']}, right {each['expected']} "
        f"({each['inputs']})"
        for each in (part.example for part in verdict.parts)
        if each
    ]


def _figures(verdict):
    """Return the figures of a public gradient, those of each input below its name."""
    if not verdict.figures or verdict.visibility != "public":
        return []
    opened = " open" if verdict.state in ("wrong", "partial") else ""
    shown = ""
    for figure in verdict.figures:
        if figure.startswith("<h3>"):
            shown += (
                f"</div><h3>The gradient with respect to <code>{figure[4:-5]}</code></h3>"
                "<div class='figures'>"
            )
        else:
            shown += figure
    return [
        f"<details{opened}><summary>The check in figures</summary><div class='figures'>{shown}"
        "</div><p class='quiet'>Left: the error of a difference quotient against its step. For "
        "a right gradient it falls, until rounding makes it rise. Right: the Taylor remainder "
        "with its slopes; a right gradient has those in brackets.</p></details>"
    ]


def _fits(task, before, inputs=None, verdict=None):
    """Return the sentence about a gradient that is right for the student's own forward."""
    some = verdict is not None and len(inputs) < sum(part.kind != "ok" for part in verdict.parts)
    about = f"The gradient of {', '.join(map(escape, inputs))}" if some else f"Task {escape(task)}"
    return f"{about} is right for your own {escape(before)}, so it needs no other work."


def _sentence(hint):
    """Return a hint that begins with a capital letter and ends with a full stop.

    >>> _sentence("look for a minus"), _sentence("d(-x) = -dx")
    ('Look for a minus.', 'd(-x) = -dx.')
    """
    first = hint.split(" ", 1)[0]
    hint = hint[0].upper() + hint[1:] if first.isalpha() else hint
    return (
        hint
        if hint.endswith((".", "?", "!", ":")) or re.search(r"line \d+ of ", hint)
        else hint + "."
    )


def _ticks(text):
    """Return escaped text with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _css(verdict):
    return verdict.state.replace(" ", "-")


def _of(earned, most):
    return f"{points(earned)} of {points(most)} points"


def _late(result):
    return f"handed in {points(result.late_days)} day{'s' if result.late_days != 1 else ''} late"


def _waiting(result):
    return (
        f"<p>{points(result.pending)} of them will be given by your teacher.</p>"
        if result.pending
        else ""
    )


def _sum(result):
    more = f"; {points(result.pending)} of them will be given by hand" if result.pending else ""
    return f"{_of(result.score, result.full)}{more}"
