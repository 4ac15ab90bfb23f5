"""The teacher's page: the results of the class, its mistakes, and everything to review by hand."""

from collections import Counter
from html import escape
from statistics import mean, median
from urllib.parse import quote

from ibpcl.classroom.pages import Raw, anchor, page, points, table
from ibpcl.classroom.plain_words import plain, plain_reason
from ibpcl.classroom.students import folder_name
from ibpcl.classroom.tables import cell, csv_bytes

MOST_PAIRS = 100
MOST_LINES = 40
MOST_NAMES = 12  # students of one mistake that are shown at once
BARS = 10
STATES = (
    ("right", "right"),
    ("partial", "partly"),
    ("wrong", "wrong"),
    ("raises", "raises"),
    ("missing", "missing"),
    ("not judged", "not judged"),
)
STYLE = """
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1rem 0; padding: 0;
list-style: none; } .facts b { display: block; font-size: 1.45rem; font-weight: 650; }
.facts li { color: var(--quiet); font-size: .9rem; } .facts b { color: var(--ink); }
.bars { width: 100%; max-width: 34rem; background: none; overflow: visible; }
.bars rect { fill: var(--link); opacity: .75; } .bars text { fill: var(--quiet); font-size: 11px; }
.bars line { stroke: var(--line); }
.share { display: flex; width: 8rem; height: .7rem; border-radius: 4px; overflow: hidden;
background: var(--line); margin-top: .4rem; } .share i { display: block; height: 100%; }
.share .right { background: var(--right); } .share .partial { background: #d9a520; }
.share .wrong { background: var(--wrong); }
.names a { white-space: nowrap; } .names details { display: inline; margin: 0; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .6rem 0; font-size: .9rem; }
"""


def class_page(
    results, assignment, similar=(), policy=None, missing=(), skipped=(), earlier=(), notes=()
):
    """Return the page of a class.

    Parameters
    ----------
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.
    similar : list of (str, str, float)
        Pairs of hand-ins that look alike, with the share they have in common, from 0 to 1.
    policy : ibpcl.classroom.late.Policy, optional
        The rules for late hand-ins.
    missing : sequence of str
        Students who did not hand in.
    skipped : sequence of str
        Files that were passed over, each with a reason.
    earlier : sequence of str
        Students whose results are from an earlier run.
    notes : sequence of str
        Rows of the teacher's table that could not be used, each with a reason.

    Returns
    -------
    str
        HTML.
    """
    graded = [result for result in results if result.status == "graded"]
    body = [f"<h1>{escape(assignment.title)}</h1>", _facts(results, graded, assignment, missing)]
    if graded:
        body += [_distribution([result.score for result in graded], assignment.points)]
    sections = [
        ("notes", "Not used", _listed(notes)),
        ("ungraded", "Not graded", _ungraded(results)),
        ("missing", "Did not hand in", escape(", ".join(missing))),
        ("skipped", "Not looked at", _listed(skipped)),
        (
            "earlier",
            "From an earlier run, not among the last hand-ins",
            ", ".join(map(_link, earlier)),
        ),
        ("tasks", "Points by task", _by_task(graded, assignment)),
        ("mistakes", "Mistakes", _mistakes(graded)),
        ("flags", "To look at", _flags(results)),
        ("hand-ins", "Hand-ins", _hand_ins(results, policy)),
        ("pairs", "Hand-ins that look alike", _pairs(similar, results)),
    ]
    shown = [(name, title, content) for name, title, content in sections if content]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in shown)
    body.append(f"<nav>{links}</nav>")
    body += [f'<h2 id="{name}">{title}</h2>{content}' for name, title, content in shown]
    return page(f"{assignment.title}: class", "\n".join(body), STYLE)


def class_csv(results, assignment):
    """Return the points by student and task as a table for spreadsheets.

    Parameters
    ----------
    results : list of Result
        The results of the class.
    assignment : Assignment
        The assignment.

    Returns
    -------
    bytes
        CSV in UTF-8 with a byte order mark.
    """
    tasks = [task.id for task in assignment.tasks]
    rows = [
        [
            "student",
            "form",
            "status",
            "score",
            "most",
            "pending",
            *tasks,
            "late_days",
            "deduction",
            "attempts",
            "handed_in",
            "seconds",
            "flags",
            "comment",
            "reason",
        ]
    ]
    for result in results:
        earned = {
            verdict.task: verdict.points for verdict in result.verdicts if not verdict.pending
        }
        rows.append(
            [
                cell(result.student),
                result.form,
                result.status,
                "" if result.score is None else result.score,
                assignment.points,
                result.pending,
                *(earned.get(task, "") for task in tasks),
                result.late_days,
                result.deduction,
                result.attempt_count,
                result.handed_in,
                result.seconds,
                len(result.flags),
                cell(result.comment),
                cell(plain_reason(result.reason)),
            ]
        )
    return csv_bytes(rows)


def _facts(results, graded, assignment, missing):
    """Return the numbers of the class in one row."""
    scores = [result.score for result in graded]
    facts = [(len(results), "handed in"), (len(graded), "graded")]
    if missing:
        facts.insert(1, (len(missing), "did not hand in"))
    if scores:
        facts += [
            (f"{median(scores):.4g}", f"median of {points(assignment.points)}"),
            (f"{mean(scores):.1f}", "mean"),
            (f"{min(scores):g} to {max(scores):g}", "range"),
        ]
    waiting = sum(bool(result.pending) for result in graded)
    if waiting:
        facts.append((waiting, "wait for a person"))
    items = "".join(f"<li><b>{value}</b>{label}</li>" for value, label in facts)
    more = (
        ""
        if not waiting
        else (
            '<p>Texts wait for you: grade them in '
            '<a href="derivations.html">derivations.html</a>, or in '
            "by-hand.csv. Until then they count as 0.</p>"
        )
    )
    return f'<ul class="facts">{items}</ul>{more}'


def _distribution(scores, most):
    """Return a histogram of the scores."""
    counts = [0] * BARS
    for score in scores:
        counts[min(BARS - 1, int(BARS * score / most))] += 1
    high = 90
    wide = 44
    pieces = []
    for at, count in enumerate(counts):
        height = high * count / max(counts)
        left = at * wide + 4
        label = f"{most * at / BARS:g} to {most * (at + 1) / BARS:g} points: {count}"
        pieces.append(
            f'<rect x="{left}" y="{16 + high - height:.1f}" width="{wide - 8}" '
            f'height="{height:.1f}" rx="2"><title>{label}</title></rect>'
        )
        if count:
            pieces.append(
                f'<text x="{left + wide / 2 - 4:.0f}" y="{12 + high - height:.1f}" '
                f'text-anchor="middle">{count}</text>'
            )
    ends = "".join(
        f'<text x="{at * wide}" y="{high + 32}" text-anchor="middle">{most * at / BARS:g}</text>'
        for at in range(BARS + 1)
    )
    return (
        f'<svg class="bars" viewBox="-12 0 {BARS * wide + 24} {high + 38}" role="img">'
        f'<title>Distribution of the points</title>{"".join(pieces)}<line x1="0" '
        f'x2="{BARS * wide}" y1="{high + 16}" y2="{high + 16}"/>{ends}</svg>'
    )


def _ungraded(results):
    rows = [
        (_link(result.student), plain_reason(result.reason))
        for result in results
        if result.status != "graded"
    ]
    return table(("student", "reason"), rows) if rows else ""


def _by_task(graded, assignment):
    """Return the outcomes of each task; the mean is a dash while a person has given no points."""
    rows = []
    for task in assignment.tasks:
        verdicts = [
            verdict for result in graded for verdict in result.verdicts if verdict.task == task.id
        ]
        done = [verdict for verdict in verdicts if not verdict.pending]
        states = Counter(verdict.state for verdict in verdicts)
        waits = any(verdict.pending for verdict in verdicts)
        given = any(verdict.state == "given by hand" for verdict in verdicts)
        average = (
            "–"
            if not done or (waits and not given)
            else round(mean(verdict.points for verdict in done), 2)
        )
        rows.append(
            (
                task.id,
                task.title,
                task.points,
                average,
                _shares(done),
                *(states[state] for state, _ in STATES),
            )
        )
    return (
        table(("task", "", "points", "mean", "", *(label for _, label in STATES)), rows)
        if graded
        else ""
    )


def _shares(verdicts):
    """Return a bar of the shares that are right, partly right and not."""
    total = len(verdicts) or 1
    right = sum(verdict.points >= verdict.most for verdict in verdicts) / total
    partial = sum(0 < verdict.points < verdict.most for verdict in verdicts) / total
    wrong = sum(verdict.points <= 0 for verdict in verdicts) / total
    bars = "".join(
        f'<i class="{name}" style="width:{share:.1%}"></i>'
        for name, share in (("right", right), ("partial", partial), ("wrong", wrong))
    )
    label = f"{right:.0%} right, {partial:.0%} partly, {wrong:.0%} without points"
    return Raw(f'<span class="share" title="{label}">{bars}</span>')


def _mistakes(graded):
    """Return the mistakes, the most frequent first, each with its students."""
    found = {}
    for result in graded:
        for verdict in result.verdicts:
            for kind in {part.kind for part in verdict.parts if part.kind != "ok"}:
                found.setdefault((plain(kind), verdict.task), []).append(result.student)
    rows = [
        (words, task, len(students), _names(students))
        for (words, task), students in sorted(found.items(), key=lambda item: -len(item[1]))
    ]
    return (
        table(("mistake", "task", "hand-ins", "students"), rows)
        if rows
        else "<p>No mistake has a name.</p>"
        if graded
        else ""
    )


def _flags(results):
    rows = [(_link(result.student), flag) for result in results for flag in result.flags]
    if not rows:
        return "<p>Nothing was flagged.</p>"
    return "<p class='quiet'>A flag changes no points: look, ask, and decide.</p>" + table(
        ("student", "flag"), rows
    )


def _hand_ins(results, policy):
    """Return the list of hand-ins; columns that say nothing are left out."""
    late = policy is not None and bool(policy.due)
    attempts = any(result.attempt_count > 1 for result in results)
    waiting = any(result.pending for result in results)
    head = [
        "student",
        "form",
        "points",
        *(["by hand"] if waiting else []),
        *(["days late", "taken off"] if late else []),
        *(["attempts"] if attempts else []),
        "seconds",
        "",
    ]
    rows = []
    for result in results:
        score = "–" if result.score is None else result.score
        rows.append(
            [
                result.student,
                result.form,
                score,
                *([result.pending] if waiting else []),
                *([result.late_days, result.deduction] if late else []),
                *([result.attempt_count] if attempts else []),
                result.seconds,
                _files(result),
            ]
        )
    return table(head, rows, [_place(result.student) for result in results])


def _pairs(similar, results):
    """Return pairs of hand-ins that look alike."""
    students = {result.student for result in results}
    rows = [
        (*(_link(name) if name in students else name for name in (first, second)), f"{share:.0%}")
        for first, second, share in similar[:MOST_PAIRS]
    ]
    more = (
        f"<p>{len(similar) - MOST_PAIRS} more pairs: see <code>ibpcl class similar</code>.</p>"
        if len(similar) > MOST_PAIRS
        else ""
    )
    return table(("student", "and", "in common"), rows) + more if rows else ""


def _names(students):
    """Return links to students; those beyond the first few are folded away."""
    links = [_link(student) for student in students]
    shown = ", ".join(links[:MOST_NAMES])
    rest = (
        f" <details><summary>{len(links) - MOST_NAMES} more</summary>"
        f"{', '.join(links[MOST_NAMES:])}</details>"
        if len(links) > MOST_NAMES
        else ""
    )
    return Raw(f'<span class="names">{shown}{rest}</span>')


def _link(student):
    return Raw(f'<a href="#{_place(student)}">{escape(student)}</a>')


def _place(student):
    return f"student-{anchor(student)}"


def _files(result):
    folder = quote(folder_name(result.student))
    links = (("feedback.html", "feedback"), ("handin.py", "hand-in"))
    return Raw(
        '<span class="nowrap">'
        + " ".join(f'<a href="{folder}/{name}">{label}</a>' for name, label in links)
        + "</span>"
    )


def _listed(lines):
    """Return lines as a list; of very many only the first."""
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    items = "".join(f"<li>{escape(line)}</li>" for line in [*lines[:MOST_LINES], *more])
    return f"<ul>{items}</ul>" if items else ""
