"""Answers to exercises of the path, judged in the process of the tests.

The functions are the tests' own, so they need no sandbox.
"""

import re
import runpy
import sys
from pathlib import Path

import here

import ibpcl.primitives
from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.classroom.judging.marking import UNNAMED
from ibpcl.learn import checking
from ibpcl.learn.chapters import chapters
from ibpcl.learn.folder import Folder

ANSWERS = Path(__file__).with_name("answers")
PACKAGE = "mine"
# Kinds that say only that something is wrong, or where.
PLAIN = {*UNNAMED, "wrong_values", "unexplained", "few_entries", "raises"}


class Judge:
    """Judges texts as a student's answers to the exercises of a chapter."""

    def __init__(self, monkeypatch, tmp_path):
        # no exercise has passed, so the student's package has the functions of the reference
        monkeypatch.setitem(sys.modules, PACKAGE, ibpcl.primitives)
        self.folder = Folder(tmp_path / PACKAGE)
        self.folder.path.mkdir()

    def __call__(self, chapter, source, exercise=None):
        """Return the verdicts by exercise, {exercise: Checked}."""
        exercises = chapter.exercises
        if exercise is not None:
            exercises = {exercise: exercises[exercise]}
        tasks = [task for group in exercises.values() for task in group]
        path = self.folder.file(chapter.assignment.name)
        with here.judged_here():
            verdicts = checking.judge_text(self.folder, chapter, tasks, source, path)
        return {
            number: checking.joined(number, group, verdicts) for number, group in exercises.items()
        }


def wrong_answers():
    """Yield (chapter, exercise, wrong answers) of every exercise."""
    for chapter in chapters():
        path = ANSWERS / f"{chapter.assignment.name}.py"
        table = runpy.run_path(str(path))["WRONG"] if path.exists() else {}
        for exercise in chapter.exercises:
            yield chapter, exercise, table.get(exercise, [])


def functions_of(tasks):
    """Return the functions that a student writes for some tasks."""
    points = [f"points_{task.forward}" for task in tasks if task.kind == "test"]
    return [*points, *(task.function for task in tasks)]


def with_mistake(chapter, exercise, old, new):
    """Return the reference functions of an exercise with one piece of text replaced."""
    source = chapter.assignment.source()
    functions = functions_of(chapter.exercises[exercise])
    head = "\n".join(dict.fromkeys(imports(source)))
    text = sliced(source, functions)
    assert text.count(old) == 1, (exercise, old, text.count(old), text)
    return f"{head}\n\n\n{text.replace(old, new)}\n"


def names_in(checked):
    """Return the names of mistakes in a verdict: kinds of parts, or the words of a number."""
    kinds = {part.kind for verdict in checked.verdicts for part in verdict.parts} - {"ok"}
    return kinds - PLAIN


def says_only_that_it_is_wrong(words):
    """Return whether the words about an answer without parts give no reason."""
    plain = (
        r"too (large|small)(: .*)?|the sign is wrong|not a number.*|not finite|.*must return.*"
        r"|. is not the answer|it rejects \d+ of \d+ wrong gradients.*"
    )
    return re.fullmatch(plain, words) is not None


def letters(right, choices):
    """Return wrong answers to a question: other letters, and what is not a letter.

    Parameters
    ----------
    right : str
        Letter of the right answer.
    choices : str
        Letters that are answers; empty for a prediction, of which each letter counts.
    """
    others = [each for each in choices if each != right]
    strange = ["", "z", "left", 3, None, ("c",)]
    return [(f'return "{right}"', f"return {each!r}") for each in [*others, *strange]]


def numbers(old, *wrong):
    """Return wrong numbers in the place of a line of the reference; one may have its name."""
    entries = []
    for each in wrong:
        value, *named = each if isinstance(each, tuple) else (each,)
        entries.append((old, f"return {value!r}".replace("inf", "np.inf"), *named))
    return entries
