"""The teacher's page: the results of the class, its mistakes, and everything to review by hand."""

from collections import Counter, defaultdict
from statistics import mean, median
from typing import NamedTuple
from urllib.parse import quote

from ibpcl.classroom.feedback.pages import Files, Shares, Student, Students, anchor, rendered, table
from ibpcl.classroom.feedback.plain_words import plain, plain_reason, points, reason_group
from ibpcl.classroom.feedback.tables import cell, csv_bytes
from ibpcl.classroom.intake.students import folder_name

MOST_CLUSTERS = 100
MOST_LINES = 40
BARS = 10
STATES = (
    ("right", "right"),
    ("partial", "partly"),
    ("wrong", "wrong"),
    ("raises", "raises"),
    ("missing", "missing"),
    ("not judged", "not judged"),
)
HIGH = 90  # height of the largest bar
WIDE = 44  # width of a bar and its gap


class Section(NamedTuple):
    """A section of the page.

    Attributes
    ----------
    name : str
        HTML id.
    title : str
        Heading.
    blocks : list
        Tables and the blocks below.
    """

    name: str
    title: str
    blocks: list


class Paragraph(NamedTuple):
    """A paragraph.

    Attributes
    ----------
    text : str
        The paragraph.
    style : str
        CSS class; may be empty.
    kind : str
        Selects the layout in the template.
    """

    text: str
    style: str = ""
    kind: str = "paragraph"


class Lines(NamedTuple):
    """A list.

    Attributes
    ----------
    lines : list of str
        The items.
    kind : str
        Selects the layout in the template.
    """

    lines: list
    kind: str = "list"


class Names(NamedTuple):
    """Names without links.

    Attributes
    ----------
    names : sequence of str
        The names.
    kind : str
        Selects the layout in the template.
    """

    names: list
    kind: str = "names"


class Bar(NamedTuple):
    """A bar of the histogram.

    Attributes
    ----------
    left, middle, width, height : float
        Place and size.
    count : int
        Number of hand-ins.
    label : str
        The bar in words.
    """

    left: int
    middle: str
    width: int
    height: float
    count: int
    label: str


class Histogram(NamedTuple):
    """The distribution of the points.

    Attributes
    ----------
    bars : list of Bar
        The bars.
    ticks : list of (int, str)
        Place and label of each tick.
    width, base : int
        Length and height of the axis.
    """

    bars: list
    ticks: list
    width: int
    base: int


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
    similar : list of ibpcl.classroom.judging.similarity.Cluster
        Hand-ins that look alike.
    policy : ibpcl.classroom.intake.late.Policy, optional
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
    sections = [
        Section("notes", "Not used", _listed(notes)),
        Section("ungraded", "Not graded", _ungraded(results)),
        Section("missing", "Did not hand in", [Names(missing)] if missing else []),
        Section("skipped", "Passed over", _listed(skipped)),
        Section(
            "earlier",
            "From an earlier run, not among the last hand-ins",
            [Students(earlier)] if earlier else [],
        ),
        Section("tasks", "Points by task", _by_task(graded, assignment)),
        Section("mistakes", "Mistakes", _mistakes(graded)),
        Section("flags", "To review", _flags(results)),
        Section("hand-ins", "Hand-ins", _hand_ins(results, policy)),
        Section("pairs", "Hand-ins that look alike", _clusters(similar, results)),
    ]
    waiting = sum(bool(result.pending) for result in graded)
    return rendered(
        "class.html",
        title=f"{assignment.title}: class",
        assignment=assignment,
        facts=_facts(results, graded, assignment, missing, waiting),
        waiting=waiting,
        drawn=_histogram([result.score for result in graded], assignment.points),
        sections=[section for section in sections if section.blocks],
    )


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
            "variant",
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
                result.variant,
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


def _facts(results, graded, assignment, missing, waiting):
    """Return the key figures of the class as pairs of a label and a value."""
    scores = [result.score for result in graded]
    facts = [("handed in", len(results)), ("graded", len(graded))]
    if missing:
        facts.insert(1, ("did not hand in", len(missing)))
    if scores:
        facts += [
            (f"median of {points(assignment.points)}", f"{median(scores):.4g}"),
            ("mean", f"{mean(scores):.1f}"),
            ("range", f"{min(scores):g} to {max(scores):g}"),
        ]
    if waiting:
        facts.append(("wait for a person", waiting))
    return facts


def _histogram(scores, most):
    """Return the distribution of the scores, or None if there are none."""
    if not scores:
        return None
    counts = [0] * BARS
    for score in scores:
        counts[min(BARS - 1, int(BARS * score / most))] += 1
    bars = []
    for at, count in enumerate(counts):
        left = at * WIDE + 4
        label = f"{most * at / BARS:g} to {most * (at + 1) / BARS:g} points: {count}"
        height = HIGH * count / max(counts)
        bars.append(Bar(left, f"{left + WIDE / 2 - 4:.0f}", WIDE - 8, height, count, label))
    ticks = [(at * WIDE, f"{most * at / BARS:g}") for at in range(BARS + 1)]
    return Histogram(bars, ticks, BARS * WIDE, HIGH + 16)


def _ungraded(results):
    """Return the hand-ins that are not graded, grouped by the reason, with an example of it."""
    groups = defaultdict(list)
    for result in results:
        if result.status != "graded":
            groups[reason_group(result)].append(result)
    rows = [
        (len(group), Students([result.student for result in group]), plain_reason(group[0].reason))
        for group in sorted(groups.values(), key=len, reverse=True)
    ]
    return [table(("number", "students", "reason"), rows)] if rows else []


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
                _shares(verdicts),
                *(states[state] for state, _ in STATES),
            )
        )
    head = ("task", "", "points", "mean", "", *(label for _, label in STATES))
    return [table(head, rows)] if graded else []


def _shares(verdicts):
    """Return the shares that are right, partly right and not; the rest waits for a person."""
    total = len(verdicts) or 1
    done = [verdict for verdict in verdicts if not verdict.pending]
    shares = {
        "right": sum(verdict.points >= verdict.most for verdict in done) / total,
        "partial": sum(0 < verdict.points < verdict.most for verdict in done) / total,
        "wrong": sum(verdict.points <= 0 for verdict in done) / total,
    }
    label = (
        f"{shares['right']:.0%} right, {shares['partial']:.0%} partly, "
        f"{shares['wrong']:.0%} without points"
    )
    if len(done) < len(verdicts):
        label += f", {1 - len(done) / total:.0%} to be graded"
    return Shares(shares, label)


def _mistakes(graded):
    """Return the mistakes, the most frequent first, each with its students."""
    mistakes = {}
    for result in graded:
        for verdict in result.verdicts:
            for kind in {part.kind for part in verdict.parts if part.kind != "ok"}:
                mistakes.setdefault((plain(kind), verdict.task), []).append(result.student)
    rows = [
        (words, task, len(students), Students(students))
        for (words, task), students in sorted(mistakes.items(), key=lambda item: -len(item[1]))
    ]
    if rows:
        return [table(("mistake", "task", "hand-ins", "students"), rows)]
    return [Paragraph("No mistake has a name.")] if graded else []


def _flags(results):
    """Return the flags of all hand-ins."""
    rows = [(Student(result.student), flag) for result in results for flag in result.flags]
    if not rows:
        return [Paragraph("Nothing was flagged.")]
    advice = Paragraph("A flag changes no points: look, ask, and decide.", "quiet")
    return [advice, table(("student", "flag"), rows)]


def _hand_ins(results, policy):
    """Return the list of hand-ins; empty columns are left out."""
    late = policy is not None and bool(policy.due)
    attempts = any(result.attempt_count > 1 for result in results)
    waiting = any(result.pending for result in results)
    head = [
        "student",
        "variant",
        "points",
        *(["by hand"] if waiting else []),
        *(["days late", "deducted"] if late else []),
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
                result.variant,
                score,
                *([result.pending] if waiting else []),
                *([result.late_days, result.deduction] if late else []),
                *([result.attempt_count] if attempts else []),
                result.seconds,
                Files(quote(folder_name(result.student))),
            ]
        )
    ids = [f"student-{anchor(result.student)}" for result in results]
    return [table(head, rows, ids)]


def _clusters(similar, results):
    """Return the groups of hand-ins that look alike; published code has no link."""
    known = {result.student for result in results}
    rows = [
        (
            Students([name for name in cluster.names if name in known]),
            ", ".join(name for name in cluster.names if name not in known),
            f"{cluster.share:.0%}",
            ", ".join(cluster.functions),
        )
        for cluster in similar[:MOST_CLUSTERS]
    ]
    if not rows:
        return []
    more = len(similar) - MOST_CLUSTERS
    note = [Lines([f"and {more} more groups: see `ibpcl class similar`"])] if more > 0 else []
    return [table(("hand-ins", "and", "in common", "the same functions"), rows), *note]


def _listed(lines):
    """Return lines as a list, cut after :data:`MOST_LINES`."""
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return [Lines([*lines[:MOST_LINES], *more])] if lines else []
