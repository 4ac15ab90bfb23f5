"""Quizzes: a few questions per chapter, read from tables and checked before they are exported.

The tables are in the package ``ibpcl-teacher``, since they contain the answers.  Each question is
of one of three kinds: ``one`` right choice, ``several`` right choices, or a ``number``.
"""

import hashlib
import math
from dataclasses import dataclass, field

from ibpcl.classroom.assignments import assignment
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.storage import read_toml

KINDS = ("one", "several", "number")
MOST_RIGHT = 4  # Moodle accepts the shares 1, 1/2, 1/3 and 1/4 of a mark
KEYS = {
    "id",
    "about",
    "kind",
    "text",
    "right",
    "wrong",
    "because",
    "answer",
    "rtol",
    "unit",
}


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    id : str
        Number of the chapter and a letter, such as ``2a``.
    about : str
        The exercise of the guided path that it belongs to, such as ``2.3``.
    kind : {"one", "several", "number"}
    text : str
        Markdown with formulas.
    because : str
        Explanation, shown after the answer.
    right, wrong : tuple of str
        Choices.
    answer : float
        Right number.
    rtol : float
        Largest relative error that counts as right.
    unit : str
        Unit of the number; "" if it has none.
    """

    id: str
    about: str
    kind: str
    text: str
    because: str
    right: tuple = ()
    wrong: tuple = ()
    answer: float = math.nan
    rtol: float = 0.01
    unit: str = ""
    choices: tuple = field(init=False, default=())

    def __post_init__(self):
        """Put the choices into an order that does not depend on which are right."""
        both = (*self.right, *self.wrong)
        order = sorted(both, key=lambda text: hashlib.sha256((self.id + text).encode()).digest())
        object.__setattr__(self, "choices", tuple(order))

    @property
    def tolerance(self):
        """Largest absolute error of a number that counts as right."""
        return abs(self.answer) * self.rtol


@dataclass(frozen=True)
class Quiz:
    """The questions of one chapter.

    Attributes
    ----------
    chapter : ibpcl.learn.chapters.Chapter
    questions : tuple of Question
    """

    chapter: object
    questions: tuple

    @property
    def name(self):
        """Name of its files, such as ``chapter_02``."""
        return f"chapter_{self.chapter.number:02}"

    @property
    def title(self):
        """Title of the quiz."""
        return f"{self.chapter.number}. {self.chapter.title}"


def quizzes():
    """Return the quizzes of all chapters.

    Returns
    -------
    found : tuple of Quiz

    Raises
    ------
    UserError
        If the package ``ibpcl-teacher`` is not installed, or a question is not usable.
    """
    return tuple(read(chapter.number) for chapter in chapters())


def read(number):
    """Return the quiz of a chapter.

    Parameters
    ----------
    number : int
        Number of the chapter.

    Returns
    -------
    quiz : Quiz

    Raises
    ------
    UserError
        If the package ``ibpcl-teacher`` is not installed, or a question is not usable.
    """
    chapter = chapter_of(number)
    path = teacher_folder() / "quizzes" / f"chapter_{chapter.number:02}.toml"
    if not path.is_file():
        raise UserError(f"class course: {path} is missing")
    return parse(chapter, read_toml(path), path.name)


def teacher_folder():
    """Return the folder of the course in the package ``ibpcl-teacher``.

    Returns
    -------
    folder : pathlib.Path

    Raises
    ------
    UserError
        If the package is not installed.
    """
    if assignment.TEACHER is None:
        raise UserError(
            "class course: quizzes and notes contain answers, so only teachers have them: install "
            "the package ibpcl-teacher, which is the folder `teacher` of the source"
        )
    return assignment.TEACHER / "course"


def parse(chapter, table, name):
    """Return a quiz from its table.

    Parameters
    ----------
    chapter : ibpcl.learn.chapters.Chapter
    table : dict
        With a list of tables under ``question``.
    name : str
        Name of the file, for messages.

    Returns
    -------
    quiz : Quiz

    Raises
    ------
    UserError
        If a question has no right answer, or is not usable in another way.
    """
    rows = table.get("question", [])
    if not rows:
        raise UserError(f"quiz: {name} has no [[question]]")
    questions = []
    for place, row in enumerate(rows, 1):
        where = f"quiz: {name}, question {row.get('id', place)}"
        questions.append(_question(chapter, row, where))
    ids = [question.id for question in questions]
    for each in ids:
        if ids.count(each) > 1:
            raise UserError(f"quiz: {name} has two questions with the id {each}")
    return Quiz(chapter, tuple(questions))


def _question(chapter, row, where):
    """Return one question, checked."""
    unknown = sorted(set(row) - KEYS)
    if unknown:
        raise UserError(f"{where}: unknown key {unknown[0]}")
    for key in ("id", "about", "kind", "text", "because"):
        if not str(row.get(key, "")).strip():
            raise UserError(f"{where}: {key} is missing")
    if row["kind"] not in KINDS:
        raise UserError(f"{where}: kind must be one of {', '.join(KINDS)}, got {row['kind']}")
    if row["about"] not in chapter.exercises:
        raise UserError(f"{where}: chapter {chapter.number} has no exercise {row['about']}")
    question = Question(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    )
    if question.kind == "number":
        _check_number(question, where)
    else:
        _check_choices(question, where)
    return question


def _check_number(question, where):
    if question.right or question.wrong:
        raise UserError(f"{where}: a number has no choices")
    if not math.isfinite(question.answer):
        raise UserError(f"{where}: it has no right answer")
    if question.answer == 0:
        raise UserError(f"{where}: the answer 0 has no relative error; ask for another number")
    if not 0 < question.rtol < 0.5:
        raise UserError(f"{where}: rtol must lie between 0 and 0.5, got {question.rtol}")


def _check_choices(question, where):
    if not question.right:
        raise UserError(f"{where}: it has no right answer")
    if question.kind == "one" and len(question.right) > 1:
        raise UserError(f"{where}: kind one has one right answer, got {len(question.right)}")
    if question.kind == "several" and not 2 <= len(question.right) <= MOST_RIGHT:
        raise UserError(
            f"{where}: kind several has 2 to {MOST_RIGHT} right answers, got {len(question.right)}"
        )
    if not question.wrong:
        raise UserError(f"{where}: it has no wrong answer")
    if len(question.choices) < 3:
        raise UserError(f"{where}: it needs at least three choices, got {len(question.choices)}")
    plain = [" ".join(choice.split()) for choice in question.choices]
    if len(set(plain)) < len(plain):
        raise UserError(f"{where}: two choices are the same")
    if not math.isnan(question.answer):
        raise UserError(f"{where}: only a number has an answer")
