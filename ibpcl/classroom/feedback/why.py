"""The path from evidence to points, for one task of one student."""

from ibpcl.classroom.feedback import by_hand
from ibpcl.classroom.judging import marking
from ibpcl.classroom.judging.verdict import in_words
from ibpcl.errors import UserError


def find(records, student, task):
    """Return the result of a student and the verdict on a task.

    Parameters
    ----------
    records : ibpcl.classroom.feedback.records.Records
        The results of the class.
    student : str
        Id of the student, in any spelling.
    task : str
        Id of the task.

    Returns
    -------
    result : ibpcl.classroom.judging.verdict.Result
    verdict : ibpcl.classroom.judging.verdict.Verdict

    Raises
    ------
    UserError
        If the class has no such student or task, or the hand-in is not graded.
    """
    results = {result.student: result for result in records.results}
    name = by_hand.finder(results)(student)
    if not name:
        raise UserError(f"class: {records.folder} has no result of a student {student!r}")
    result = results[name]
    if result.status != "graded":
        raise UserError(f"class: the hand-in of {name} is not graded: {result.reason}")
    verdicts = {verdict.task: verdict for verdict in result.verdicts}
    if task not in verdicts:
        raise UserError(f"class: there is no task {task!r}; the tasks are {', '.join(verdicts)}")
    return result, verdicts[task]


def lines(records, result, verdict):
    """Return the path from evidence to points as lines.

    Parameters
    ----------
    records : ibpcl.classroom.feedback.records.Records
        The results of the class.
    result : ibpcl.classroom.judging.verdict.Result
        The result of the student.
    verdict : ibpcl.classroom.judging.verdict.Verdict
        The verdict on the task.

    Returns
    -------
    list of str
    """
    rows = records.settings.get("marking") or marking.default().rows
    found = [
        f"{result.student}, {verdict.task} {verdict.title}: {verdict.points:g} of {verdict.most:g} "
        f"points ({verdict.state}), variant {result.variant}"
    ]
    for part in verdict.parts:
        share, reason = rows.get(part.evidence, (part.share, ""))
        times = f" x {part.share / share:.3g}" if share and abs(part.share - share) > 1e-9 else ""
        words = part.words or in_words(part.kind)
        found.append(f"  {part.name}: {words}")
        found.append(f"      {part.evidence}: {share:g}{times} = {part.share:.3g} ({reason})")
    if verdict.parts:
        found.append(f"  {_total(verdict)}")
    found += [f"  {line}" for line in (() if verdict.parts else verdict.words)]
    if verdict.judged is not None:
        found.append(f"  replaced by hand: {verdict.judged:g} -> {verdict.points:g}")
    if verdict.comment:
        found.append(f"  comment: {verdict.comment}")
    if result.given is not None:
        found.append(f"  the whole hand-in was given {result.given:g} points by hand")
    if result.deduction:
        found.append(f"  the whole hand-in loses {result.deduction:g} points for lateness")
    return found


def _total(verdict):
    """Return how the points follow from the shares of the parts."""
    shares = " + ".join(f"{part.share:.3g}" for part in verdict.parts)
    if verdict.kind == "referee":
        total = f"({shares})"
    elif len(verdict.parts) == 1:
        total = shares
    else:
        total = f"({shares}) / {len(verdict.parts)}"
    share = sum(part.share for part in verdict.parts)
    share /= 1 if verdict.kind == "referee" else len(verdict.parts)
    judged = verdict.points if verdict.judged is None else verdict.judged
    note = "" if abs(share * verdict.most - judged) < 0.006 else ", changed afterwards"
    return f"{total} x {verdict.most:g} points = {share * verdict.most:.4g}{note}"
