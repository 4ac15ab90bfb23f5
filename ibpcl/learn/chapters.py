"""Chapters of the guided path: assignments of the classroom with a place in the path."""

import ast
import functools
import math
import re
import textwrap
from dataclasses import dataclass

from ibpcl.classroom.assignments.assignment import ANSWERS, CHAPTERS, Assignment, load
from ibpcl.classroom.authoring.stubs import blank
from ibpcl.errors import UserError
from ibpcl.storage import read_toml


@dataclass(frozen=True)
class Chapter:
    """A chapter of the path.

    Attributes
    ----------
    number : int
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        Exercises, references, inputs and hints.
    tutorial : str
        Name of the tutorial, without its ending.
    reading, minutes : int
        Time for the tutorial with its questions, and for the exercises.
    needs : tuple of int
        Chapters to do before.
    assignments : tuple of int
        Numbers of the classroom's assignments that follow.
    unlocks : str
        Part of the method that the chapter makes possible.
    milestone : str
        Name of a function of :mod:`ibpcl.learn.milestones`; "" if there is none.
    """

    number: int
    assignment: Assignment
    tutorial: str
    reading: int
    minutes: int
    needs: tuple = ()
    assignments: tuple = ()
    unlocks: str = ""
    milestone: str = ""

    @property
    def title(self):
        """Title of the chapter."""
        return self.assignment.title

    @property
    def exercises(self):
        """Exercises in their order, as tasks by id.  A pair is one exercise of two tasks.

        Returns
        -------
        exercises : dict of str to list of ibpcl.classroom.assignments.assignment.Task
            The id of a second task ends in a letter: ``2.1`` and ``2.1b`` are one exercise.
        """
        found = {}
        for task in self.assignment.tasks:
            found.setdefault(re.sub(r"[a-z]+$", "", task.id), []).append(task)
        return found

    def file_of(self, task):
        """Return the stem of the student's file for a task.

        Parameters
        ----------
        task : ibpcl.classroom.assignments.assignment.Task

        Returns
        -------
        stem : str
            Such as ``gaussian``, or ``chapter_02`` for functions that are not primitives.
        """
        return task.module or self.assignment.name

    @property
    def files(self):
        """Stems of the student's files of this chapter, in the order of the exercises."""
        return list(dict.fromkeys(self.file_of(task) for task in self.assignment.tasks))

    def statement_of(self, exercise):
        """Return the statement of an exercise.

        Parameters
        ----------
        exercise : str
            Such as ``2.1``.

        Returns
        -------
        text : str
            Markdown, without its heading.  The statement of a number ends with its tolerance.
            That of a prediction ends with the rule that any prediction counts.
        """
        pieces = re.split(r"^## Task ([\w.]+)[^\n]*\n", self.assignment.statement(), flags=re.M)
        texts = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        text = texts.get(exercise, "").strip()
        tasks = self.exercises.get(exercise, [])
        if tasks and tasks[0].kind == "number":
            text += f"\n\n{_tolerance(tasks[0].rtol)}"
        if tasks and tasks[0].kind == "prediction":
            text += "\n\nAny prediction counts. After it, the check shows the answer."
        return text

    def stubs_of(self, stem):
        """Return the blank functions of one of the student's files.

        Parameters
        ----------
        stem : str
            One of :attr:`files`.

        Returns
        -------
        stubs : dict of str to str
            Text of each function by its name, in the order of the exercises, with the statement
            as a comment above the first function of an exercise.
        """
        nodes = {
            node.name: node
            for node in ast.parse(self.assignment.source()).body
            if isinstance(node, ast.FunctionDef)
        }
        stubs = {}
        for number, tasks in self.exercises.items():
            head = self._heading(number, tasks[0])
            for task in tasks:
                if self.file_of(task) != stem or task.function in stubs:
                    continue
                given = self._exhibits(task, nodes) + self._given_of_a_test(task, nodes)
                stubs[task.function] = head + given + blank(nodes[task.function], task)
                head = ""
        return stubs

    def _heading(self, number, task):
        """Return the comment above an exercise."""
        lines = [f"# Exercise {number}: {task.title}"]
        for paragraph in self.statement_of(number).split("\n\n"):
            # the stub itself names its functions
            if paragraph.strip() and not paragraph.startswith(("Function: ", "Functions: ")):
                lines.append("#")
                for item in re.split(r"\n(?=- )", paragraph):
                    lines += textwrap.wrap(
                        " ".join(item.split()),
                        86,
                        initial_indent="# ",
                        subsequent_indent="#   " if item.startswith("- ") else "# ",
                        break_long_words=False,
                    )
        return "\n".join(lines) + "\n"

    def _exhibits(self, task, nodes):
        """Return the wrong gradient that a counterexample is about, with its forward."""
        if not task.exhibit:
            return ""
        texts = [self._text_of(nodes[name]) for name in (task.forward, task.exhibit)]
        return "\n" + "\n\n\n".join(texts) + "\n\n\n"

    def _given_of_a_test(self, task, nodes):
        """Return the forward that a test is about, and the blank function with its points."""
        if task.kind != "test":
            return ""
        points = blank(nodes[f"points_{task.forward}"], task)
        return f"\n{self._text_of(nodes[task.forward])}\n\n\n{points}\n\n\n"

    def _text_of(self, node):
        lines = self.assignment.source().splitlines()
        return "\n".join(lines[node.lineno - 1 : node.end_lineno])


def _tolerance(rtol):
    """Return the tolerance of a number as a sentence.

    >>> _tolerance(0.02), _tolerance(1e-6)
    ('An answer within 2 % counts.', 'An answer counts if six digits are right.')
    """
    if rtol >= 0.01:
        return f"An answer within {100 * rtol:g} % counts."
    digits = {3: "three", 4: "four", 6: "six", 9: "nine"}
    count = round(-math.log10(rtol))
    return f"An answer counts if {digits.get(count, count)} digits are right."


def is_answer(task):
    """Return whether a task asks for an answer, not for a function.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task

    Returns
    -------
    is_answer : bool
    """
    return task.kind in ANSWERS


@functools.cache
def chapters():
    """Return all chapters in their order.

    Returns
    -------
    chapters : tuple of Chapter
    """
    found = []
    for folder in sorted(CHAPTERS.glob("chapter_*")):
        table = read_toml(folder / "assignment.toml")["chapter"]
        found.append(
            Chapter(
                table["number"],
                load(folder),
                table["tutorial"],
                table["reading"],
                table["exercises"],
                tuple(table.get("needs", ())),
                tuple(table.get("assignments", ())),
                table.get("unlocks", ""),
                table.get("milestone", ""),
            )
        )
    return tuple(sorted(found, key=lambda chapter: chapter.number))


def chapter_of(number):
    """Return the chapter with a number.

    Parameters
    ----------
    number : int or str

    Returns
    -------
    chapter : Chapter

    Raises
    ------
    UserError
        If there is none.
    """
    for chapter in chapters():
        if str(number).lstrip("0") == str(chapter.number).lstrip("0"):
            return chapter
    numbers = ", ".join(str(chapter.number) for chapter in chapters())
    raise UserError(f"learn: chapter must be one of {numbers}, got {number!r}")


def exercise_of(name):
    """Return the chapter and the tasks of an exercise.

    Parameters
    ----------
    name : str
        Such as ``2.1``.

    Returns
    -------
    chapter : Chapter
    tasks : list of ibpcl.classroom.assignments.assignment.Task

    Raises
    ------
    UserError
        If there is none.
    """
    if not re.fullmatch(r"\d+\.\d+", name):
        raise UserError(f"learn: exercise must be given as N.K, such as 2.1, got {name!r}")
    chapter = chapter_of(name.partition(".")[0])
    exercises = chapter.exercises
    number = f"{chapter.number}.{int(name.partition('.')[2])}"
    if number not in exercises:
        raise UserError(f"learn: exercise must be one of {', '.join(exercises)}, got {name!r}")
    return chapter, exercises[number]
