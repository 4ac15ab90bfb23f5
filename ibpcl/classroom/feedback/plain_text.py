"""The feedback on a hand-in as text: verdicts, hints and examples that a level allows."""

import re

from ibpcl.classroom.feedback.plain_words import plain, plain_hint, plain_reason, points, told_once
from ibpcl.classroom.judging.verdict import in_words

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
    first = {}
    for verdict in result.verdicts:
        follows = [part.name for part in verdict.parts if part.follows]
        task = tasks.get(verdict.task)
        if follows and task is not None and task.forward in forwards:
            first[verdict.task] = forwards[task.forward], follows
    return first


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
            + ("" if verdict.pending else f", {points_of(verdict.points, verdict.most)}")
        )
        if verdict.state != "right":
            sentences += [f"    {line}" for line in shown_words(verdict, level)]
            sentences += [f"    {line}" for line in _example_lines(verdict, level)]
            sentences += [f"    hint: {line}" for line in shown_hints(verdict, level)]
        if verdict.comment:
            sentences.append(f"    comment: {verdict.comment}")
    sentences += [f"note: {line}" for line in result.notes]
    if result.deduction:
        sentences.append(f"{points(result.deduction)} points are deducted: {lateness(result)}")
    if result.comment:
        sentences.append(f"comment: {result.comment}")
    sentences.append(_sum(result))
    return sentences


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
    headed = re.findall(
        r"^## Tasks? ([^\n]*)\n(.*?)(?=^## |\Z)", statement, flags=re.MULTILINE | re.DOTALL
    )
    return {
        name: text.strip()
        for head, text in headed
        for name in re.findall(r"\d+\.\d+|\d+[a-z]\b", head)
    }


def _example_lines(verdict, level):
    """Return the examples of a task as lines of text."""
    if level == "none" or verdict.visibility != "public":
        return []
    return [
        f"for example {each['place']}: yours {each['got']}, right {each['expected']} "
        f"({each['inputs']})"
        for each in (part.example for part in verdict.parts)
        if each
    ]


def points_of(earned, most):
    """Return points as text.

    Parameters
    ----------
    earned, most : float
        Points earned, and the maximum.

    Returns
    -------
    str
        For example ``"7.5 of 10 points"``.
    """
    return f"{points(earned)} of {points(most)} points"


def lateness(result):
    """Return the lateness of a hand-in as text.

    Parameters
    ----------
    result : Result
        The result of the hand-in.

    Returns
    -------
    str
        For example ``"handed in 2 days late"``.
    """
    return f"handed in {points(result.late_days)} day{'s' if result.late_days != 1 else ''} late"


def _sum(result):
    more = f"; {points(result.pending)} of them will be given by hand" if result.pending else ""
    return f"{points_of(result.score, result.full)}{more}"
