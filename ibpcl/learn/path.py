"""The path as a whole: what is done, what comes next, hints and solutions."""

import textwrap
from typing import NamedTuple

from ibpcl.classroom.assignments.slices import sliced
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapters, exercise_of
from ibpcl.learn.checking import DONE
from ibpcl.learn.folder import FOLDER


class Row(NamedTuple):
    """A chapter as the overview shows it.

    Attributes
    ----------
    chapter : ibpcl.learn.chapters.Chapter
    done, exercises : int
        Number of exercises that are done, and of all.
    open : bool
        Whether the chapters that it needs are done.
    """

    chapter: object
    done: int
    exercises: int
    open: bool


def overview(student):
    """Return the chapters with their state.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder

    Returns
    -------
    rows : list of Row
    """
    complete = set()
    rows = []
    for chapter in chapters():
        numbers = list(chapter.exercises)
        done = sum(student.progress.get(n, {}).get("state") == DONE for n in numbers)
        if done == len(numbers):
            complete.add(chapter.number)
        rows.append(Row(chapter, done, len(numbers), set(chapter.needs) <= complete))
    return rows


def next_step(student, current=None):
    """Return the next step in one line.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    current : int, optional
        Number of the chapter that the student works on; its open exercises come first.

    Returns
    -------
    line : str
    """
    rows = overview(student)
    rows.sort(key=lambda row: row.chapter.number != current)
    for row in rows:
        if row.done == row.exercises:
            continue
        number = row.chapter.number
        if number not in student.started:
            return (
                f"read tutorial {number}, {row.chapter.title} "
                f"(tutorials/{row.chapter.tutorial}.py); then `ibpcl learn start "
                f"{number}{where(student)}` writes its exercises"
            )
        at, tasks = next(
            (at, tasks)
            for at, tasks in row.chapter.exercises.items()
            if student.progress.get(at, {}).get("state") != DONE
        )
        path = student.file(row.chapter.file_of(tasks[0]))
        if (student.path / f"{row.chapter.assignment.name}.ipynb").exists():
            path = student.path / f"{row.chapter.assignment.name}.ipynb"
        return (
            f"exercise {at}, {tasks[0].title}, in {path}; then `ibpcl learn check "
            f"{number}{where(student)}`"
        )
    return (
        f"all chapters are done: `ibpcl run --primitives {student.path}` runs experiments on your "
        "functions"
    )


def where(student):
    """Return the option that names a student's folder, "" for the usual one.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder

    Returns
    -------
    option : str
    """
    return "" if str(student.path) == FOLDER else f" --folder {student.path}"


def hint(student, name):
    """Return the next hint of an exercise, and count it.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    name : str
        Exercise, such as ``2.1``.

    Returns
    -------
    line : str

    Raises
    ------
    UserError
        If there is no such exercise.
    """
    student.require()
    chapter, tasks = exercise_of(name)
    number = f"{chapter.number}.{int(name.partition('.')[2])}"
    hints = [text for task in tasks for text in task.hints]
    entry = student.entry(number)
    if not hints:
        return f"exercise {number} has no hints"
    at = entry["hints"]
    if at >= len(hints):
        return (
            f"all {len(hints)} hints of exercise {number} have been shown; the last one: "
            f"{hints[-1]} `ibpcl learn solution {number}` shows the solution after a try"
        )
    entry["hints"] = at + 1
    student.save()
    return f"hint {at + 1} of {len(hints)}: {hints[at]}"


def solution(student, name):
    """Return the solution of an exercise that has been tried.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    name : str
        Exercise, such as ``2.1``.

    Returns
    -------
    text : str
        Reference functions, or the answer with its reason.

    Raises
    ------
    UserError
        If there is no such exercise, or it has not been tried.
    """
    student.require()
    chapter, tasks = exercise_of(name)
    number = f"{chapter.number}.{int(name.partition('.')[2])}"
    entry = student.entry(number)
    if not entry["tries"]:
        raise UserError(
            f"learn: try exercise {number} first: the solution is shown after a check of your "
            f"version; `ibpcl learn hint {number}` helps"
        )
    entry["solution"] = True
    student.save()
    text = sliced(chapter.assignment.source(), [task.function for task in tasks])
    reasons = [task.because for task in tasks if task.because]
    return "\n\n".join(
        [text, *(textwrap.fill(f"# {words}", 96, subsequent_indent="# ") for words in reasons)]
    )
