"""Syllabi for courses of 6, 10 and 14 weeks, from the tables of the chapters.

A course has goals: chapters that it must reach.  Everything that these need comes before them, in
the order of the numbers.  The chapters are divided into weeks of about equal work, and an
assignment is handed out in the week of the last chapter that prepares it.
"""

import functools
import re
from dataclasses import dataclass

from ibpcl.classroom.assignments import assignment
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapters

WEEKS_OF_AN_ASSIGNMENT = 2
HEAD = """\
# A course of {weeks} weeks, up to chapter {last}

Titles, times and prerequisites come from the chapters of ibpcl, and goals from its tutorials.
`ibpcl class course` writes this page. Change it as you like.

- **Work of a student**: {hours:.0f} hours in all, {week:.1f} per week on average:
  {reading:.0f} hours for tutorials with their questions, {exercises:.0f} for the exercises of the
  guided path, and {homework:.0f} for {count} assignments.
- **Prerequisites**: {prerequisites}
- **A week**: students read the tutorials before class. In class, the slides take up what was
  difficult, and the quiz shows what was. The exercises come after it: `ibpcl learn start 2` writes
  those of chapter 2, and `ibpcl learn check 2` checks them.
- **Marks** (a proposal): assignments 70 %, quizzes 20 %, exercises of the guided path 10 %.

"""


@dataclass(frozen=True)
class Course:
    """Contents of a course of a given length.

    Attributes
    ----------
    goals : tuple of int
        Chapters to reach.  What they need is part of the course, too.
    assignments : tuple of int
        Numbers of the assignments to set.
    """

    goals: tuple
    assignments: tuple


COURSES = {
    6: Course(goals=(9,), assignments=(1, 2, 6)),
    10: Course(goals=(9, 10, 11, 14, 15), assignments=(1, 2, 3, 6, 7)),
    14: Course(goals=tuple(range(20)), assignments=(1, 2, 3, 6, 7, 8, 9)),
}


@dataclass(frozen=True)
class Week:
    """One week of a course.

    Attributes
    ----------
    number : int
        From one.
    chapters : tuple of ibpcl.learn.chapters.Chapter
        Chapters of this week.
    handed_out, due : tuple of int
        Numbers of assignments.
    hours : float
        Work of a student: tutorials, exercises, and the week's share of assignments.
    """

    number: int
    chapters: tuple
    handed_out: tuple
    due: tuple
    hours: float


def course_of(weeks):
    """Return the course with a number of weeks.

    Parameters
    ----------
    weeks : int

    Returns
    -------
    course : Course

    Raises
    ------
    UserError
        If there is none.
    """
    if weeks not in COURSES:
        raise UserError(
            f"class course: weeks must be one of {', '.join(map(str, COURSES))}, got {weeks}"
        )
    return COURSES[weeks]


def chapters_of(course):
    """Return the chapters of a course: its goals, and all that they need.

    Parameters
    ----------
    course : Course

    Returns
    -------
    chosen : tuple of ibpcl.learn.chapters.Chapter
        In the order of their numbers.
    """
    known = {chapter.number: chapter for chapter in chapters()}
    numbers = list(course.goals)
    for number in numbers:  # the list grows during the loop
        numbers += [other for other in known[number].needs if other not in numbers]
    return tuple(known[number] for number in sorted(set(numbers)))


def split(minutes, parts):
    """Divide a sequence of times into parts of about equal work.

    Parameters
    ----------
    minutes : tuple of int
        Times, in their order.
    parts : int
        Number of parts, at most that of the times.

    Returns
    -------
    ends : tuple of int
        Index behind the last time of each part.  The sum of the squares of the parts is the least
        possible.

    Examples
    --------
    >>> split((1, 1, 1, 3), 2)
    (3, 4)
    """

    @functools.cache
    def best(start, left):
        if left == 1:
            return sum(minutes[start:]) ** 2, (len(minutes),)
        found = []
        for end in range(start + 1, len(minutes) - left + 2):
            rest, ends = best(end, left - 1)
            found.append((sum(minutes[start:end]) ** 2 + rest, (end, *ends)))
        return min(found)

    return best(0, parts)[1]


def weeks_of(weeks):
    """Return the plan of a course.

    Parameters
    ----------
    weeks : int
        Length of the course: one of :data:`COURSES`.

    Returns
    -------
    plan : tuple of Week

    Raises
    ------
    UserError
        If there is no such course.
    """
    course = course_of(weeks)
    chosen = chapters_of(course)
    ends = split(tuple(_minutes(chapter) for chapter in chosen), weeks)
    starts = (0, *ends[:-1])
    groups = [chosen[start:end] for start, end in zip(starts, ends, strict=True)]
    out = {}
    for number in course.assignments:
        before = [w for w, group in enumerate(groups, 1) if _prepares(group, number)]
        out[number] = max(before)
    plan = []
    for number, group in enumerate(groups, 1):
        open_now = [n for n, begun in out.items() if 0 < number - begun <= WEEKS_OF_AN_ASSIGNMENT]
        share = sum(hours_of(n) for n in open_now) / WEEKS_OF_AN_ASSIGNMENT
        plan.append(
            Week(
                number,
                group,
                tuple(n for n, begun in out.items() if begun == number),
                tuple(n for n, begun in out.items() if begun + WEEKS_OF_AN_ASSIGNMENT == number),
                sum(map(_minutes, group)) / 60 + share,
            )
        )
    return tuple(plan)


def _minutes(chapter):
    return chapter.reading + chapter.minutes


def _prepares(group, number):
    return any(number in chapter.assignments for chapter in group)


@functools.cache
def _assignments():
    found = [assignment.find(name) for name in assignment.names()]
    return {int(each.name.partition("_")[0]): each for each in found}


def title_of(number):
    """Return the title of an assignment.

    Parameters
    ----------
    number : int

    Returns
    -------
    title : str
    """
    return _assignments()[number].title


def hours_of(number):
    """Return the hours of an assignment.

    Parameters
    ----------
    number : int

    Returns
    -------
    hours : float
    """
    return _assignments()[number].hours


def header(text):
    """Return what the first cell of a tutorial says about it.

    Parameters
    ----------
    text : str
        A script in the percent format.

    Returns
    -------
    prerequisites : str
        One line.
    goals : list of str
        The list under "You will be able to".

    Examples
    --------
    >>> header("# # 1. T\\n#\\n# **Prerequisites:** sums. **Time:** x\\n#\\n"
    ...     "# **You will be able to**\\n#\\n# - add\\n#   numbers;\\n# - stop.\\n#\\n# Names: x")
    ('sums.', ['add numbers', 'stop'])
    """
    first = re.split(r"^# %%$", text, maxsplit=1, flags=re.MULTILINE)[0]
    plain = re.sub(r"^# ?", "", first, flags=re.MULTILINE)
    found = re.search(r"\*\*Prerequisites:\*\*(.*?)\*\*Time:\*\*", plain, re.DOTALL)
    prerequisites = " ".join(found[1].split()) if found else ""
    pattern = r"\*\*You will be able to\*\*\n\n((?:[-*] .*\n(?:  .*\n)*)+)"
    listed = re.search(pattern, plain + "\n")
    items = re.findall(r"[-*] (.*(?:\n  .*)*)", listed[1]) if listed else []
    # a remark after the end of the last goal's sentence is not part of the goal
    goals = [re.split(r"(?<=\w)\. ", " ".join(item.split()))[0].rstrip(".;") for item in items]
    return prerequisites, goals


def page(weeks, texts):
    """Return the syllabus of a course.

    Parameters
    ----------
    weeks : int
        Length of the course.
    texts : dict of str to str
        Text of each tutorial by its name.

    Returns
    -------
    text : str
        Markdown.

    Raises
    ------
    UserError
        If there is no such course.
    """
    plan = weeks_of(weeks)
    course = course_of(weeks)
    chosen = [chapter for week in plan for chapter in week.chapters]
    reading = sum(chapter.reading for chapter in chosen) / 60
    exercises = sum(chapter.minutes for chapter in chosen) / 60
    homework = sum(map(hours_of, course.assignments))
    hours = reading + exercises + homework
    last = f"{chosen[-1].number}, {chosen[-1].title}"
    text = HEAD.format(
        weeks=weeks,
        last=last,
        hours=hours,
        week=hours / weeks,
        reading=reading,
        exercises=exercises,
        homework=homework,
        count=len(course.assignments),
        prerequisites=header(texts[chosen[0].tutorial])[0],
    )
    rows = [
        "| week | chapters | handed out | due | hours |",
        "| --: | :-- | :-- | :-- | --: |",
    ]
    for week in plan:
        rows.append(
            f"| {week.number} | {'<br>'.join(f'{c.number}. {c.title}' for c in week.chapters)} | "
            f"{_named(week.handed_out)} | {_named(week.due)} | {week.hours:.1f} |"
        )
    late = tuple(
        number
        for week in plan
        for number in week.handed_out
        if week.number + WEEKS_OF_AN_ASSIGNMENT > weeks
    )
    parts = [text + "\n".join(rows)]
    if late:
        parts.append(f"Due after the last week: {_named(late).replace('<br>', ', ')}.")
    parts.append(
        "An assignment is due two weeks after it is handed out, and its hours are divided among "
        "these two weeks."
    )
    parts += [_week(week, texts) for week in plan]
    return "\n\n".join(parts) + "\n"


def _named(numbers):
    return "<br>".join(f"{number}. {title_of(number)}" for number in numbers)


def _week(week, texts):
    """Return the section of one week."""
    lines = [f"## Week {week.number}"]
    for chapter in week.chapters:
        prerequisites, goals = header(texts[chapter.tutorial])
        needs = ", ".join(map(str, chapter.needs)) or "none"
        lines += [
            f"### {chapter.number}. {chapter.title}",
            f"Before class: `tutorials/{chapter.tutorial}.py`, {chapter.reading} minutes with its "
            f"questions. Needs chapters: {needs}. Prerequisites: {prerequisites}",
            f"In class: `slides/{chapter.tutorial}.html` and the quiz "
            f"`chapter_{chapter.number:02}`. Students will be able to",
            "\n".join(f"- {goal}" for goal in goals),
            f"After class: `ibpcl learn start {chapter.number}`, {len(chapter.exercises)} "
            f"exercises, {chapter.minutes} minutes. They lead to: {chapter.unlocks}.",
        ]
    if week.handed_out:
        lines.append(
            "Hand out: "
            + "; ".join(
                f"assignment {n}, {title_of(n)}, {hours_of(n):g} hours "
                f"(`ibpcl class new {n} --out FOLDER`)"
                for n in week.handed_out
            )
            + "."
        )
    if week.due:
        lines.append("Due: " + "; ".join(f"assignment {n}, {title_of(n)}" for n in week.due) + ".")
    return "\n\n".join(lines)
