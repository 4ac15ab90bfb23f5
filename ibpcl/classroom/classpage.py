"""The teacher's page: mistakes by kind, points by task, time, and what to look at by hand."""

import csv
import io
from collections import Counter
from html import escape

from ibpcl.classroom.pages import Raw, page, points, table

MOST_PAIRS = 100


def class_page(results, assignment, similar=()):
    """Return the page of a class.

    Parameters
    ----------
    results : list of Result
    assignment : Assignment
    similar : list of (str, str, float)
        Pairs of hand-ins that look alike.
    """
    graded = [result for result in results if result.status == "graded"]
    scores = sorted(result.score for result in graded)
    body = [f"<h1>{escape(assignment.title)}: {len(results)} hand-ins</h1>",
            f"<p>{len(graded)} graded" + (f", median {points(scores[len(scores) // 2])}, from {points(scores[0])} to "
                                          f"{points(scores[-1])} points" if scores else "") + ".</p>"]
    waiting = sum(result.pending for result in graded)
    if waiting:
        body.append(f"<p>{points(waiting)} points in all are still to be given by hand.</p>")
    ungraded = [(result.student, result.reason) for result in results if result.status != "graded"]
    if ungraded:
        body += ["<h2>Not graded</h2>", table(("student", "reason"), ungraded)]
    body += ["<h2>Points by task</h2>", table(("task", "", "points", "mean", "right", "partly", "wrong", "raises",
                                               "missing", "not judged"), _by_task(graded, assignment)),
             "<h2>Mistakes by kind</h2>", table(("kind", "task", "hand-ins"), _mistakes(graded)),
             "<h2>To look at</h2>"]
    flags = [(result.student, flag) for result in results for flag in result.flags]
    flags += [(f"{a} and {b}", f"{share:.0%} of the code is alike") for a, b, share in similar[:MOST_PAIRS]]
    if len(similar) > MOST_PAIRS:
        flags.append((f"{len(similar) - MOST_PAIRS} more pairs", "see `ibpcl class similar`"))
    body.append(table(("student", "flag"), flags) if flags else "<p>Nothing was flagged.</p>")
    body += ["<p class='quiet'>A flag changes no points: look, ask, and decide.</p>", "<h2>Hand-ins</h2>",
             table(("student", "form", "points", "by hand", "seconds", ""),
                   [(result.student, result.form, points(result.score), result.pending, result.seconds,
                     Raw("".join(f'<a href="{escape(result.student, quote=True)}/{name}">{label}</a> ' for name, label
                                 in (("feedback.html", "feedback"), ("handin.py", "hand-in")))))
                    for result in results])]
    return page(f"{assignment.title}: class", "\n".join(body))


def class_csv(results):
    """Return a table of points by student and task as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    tasks = list(dict.fromkeys(verdict.task for result in results for verdict in result.verdicts))
    writer.writerow(["student", "form", "status", "score", "most", "pending", *tasks, "seconds", "flags", "reason"])
    for result in results:
        earned = {verdict.task: verdict.points for verdict in result.verdicts if not verdict.pending}
        writer.writerow([safe(result.student), result.form, result.status, "" if result.score is None else result.score,
                         result.most, result.pending, *(earned.get(task, "") for task in tasks), result.seconds,
                         len(result.flags), safe(result.reason)])
    return text.getvalue()


def safe(text):
    """Return text that a spreadsheet does not take for a formula.

    >>> safe("=1+1"), safe("ada")
    ("'=1+1", 'ada')
    """
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _by_task(graded, assignment):
    rows = []
    for task in assignment.tasks:
        verdicts = [verdict for result in graded for verdict in result.verdicts if verdict.task == task.id]
        states = Counter(verdict.state for verdict in verdicts)
        mean = sum(verdict.points for verdict in verdicts) / len(verdicts) if verdicts else 0.0
        shown = round(mean, 2) if states["by hand"] < len(verdicts) else "by hand"
        rows.append((task.id, task.title, task.points, shown, states["right"], states["partial"], states["wrong"],
                     states["raises"], states["missing"], states["not judged"]))
    return rows


def _mistakes(graded):
    counts = Counter()
    for result in graded:
        for verdict in result.verdicts:
            counts.update({(part.kind, verdict.task) for part in verdict.parts if part.kind != "ok"})
    return [(kind, task, count) for (kind, task), count in sorted(counts.items(), key=lambda item: -item[1])]
