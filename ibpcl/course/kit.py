"""The whole kit of a course in one folder: what ``ibpcl class course`` writes.

A folder that is being written has a file :data:`UNFINISHED`.  The same command continues there: a
deck of slides that is complete is not made again.
"""

from pathlib import Path

import ibpcl
from ibpcl.classroom.assignments import assignment
from ibpcl.course import formula_sheet, moodle, notes, qti, quiz, slides, syllabus
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapters
from ibpcl.storage import write_bytes, write_text

UNFINISHED = "unfinished.txt"
README = """\
# A course on Bayesian structural adaptation

Written by `ibpcl class course`, ibpcl {version}.

## In ten minutes

1. **Choose a syllabus**: {syllabi}.
   They have the weeks, the goals, the work of a student and the dates of the assignments.
   Change them as you like.
2. **Load the quizzes** into your learning platform. Moodle: *Question bank*, *Import*,
   *Moodle XML*, a file of `quizzes/moodle`. Other platforms: a zip of `quizzes/qti` (QTI 2.1).
   `quizzes/answers.md` has all questions with their answers on one page.
{slides}
4. **Prepare an assignment**: `notes` has a page per assignment with three common mistakes, a
   question for discussion and a demonstration of ten minutes, whose code stands beside it.
   `ibpcl class new 1 --students students.txt --out handed-out --key course.key` hands out, and the
   page for teachers of the documentation explains grading.
5. **Print the formula sheet**, `formula-sheet.pdf`: two pages with the gradients, also for an exam.

The quizzes and the notes contain answers. Keep this folder to yourself, and give students the
syllabus, the slides and the formula sheet.
"""
SLIDES = """\
3. **Open the slides** of a week in a browser, `slides/01_why_networks_forget.html`. Key `S` opens
   the speaker's notes with the whole text of the tutorial, and `?` lists the keys. Nothing is
   loaded from the network. Results on slides were computed when the kit was written."""
NO_SLIDES = """\
3. **Slides** were left out. `ibpcl class course` with another folder writes them, too."""


def tutorials_of(folder):
    """Return the texts of the tutorials.

    Parameters
    ----------
    folder : path or None
        Folder of the scripts; by default, ``tutorials`` in the source or in the current folder.

    Returns
    -------
    texts : dict of str to str
        Text by name, without its ending.

    Raises
    ------
    UserError
        If a tutorial is missing.
    """
    places = [Path(folder)] if folder else [Path(ibpcl.__file__).parents[1] / "tutorials"]
    if not folder:
        places.append(Path("tutorials"))
    wanted = [chapter.tutorial for chapter in chapters()]
    for place in places:
        if all((place / f"{name}.py").is_file() for name in wanted):
            return {name: (place / f"{name}.py").read_text(encoding="utf-8") for name in wanted}
    raise UserError(
        f"class course: {' and '.join(map(str, places))} must hold all tutorials, such as "
        f"{wanted[0]}.py; --tutorials names the folder `tutorials` of the source"
    )


def start(out):
    """Make the folder of a kit, or continue in one that is unfinished.

    Parameters
    ----------
    out : path

    Returns
    -------
    folder : pathlib.Path

    Raises
    ------
    UserError
        If it exists and is not an unfinished kit.
    """
    folder = Path(out)
    empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not empty and not (folder / UNFINISHED).is_file():
        raise UserError(f"class course: {out} exists already: name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"class course: {out} cannot be made: {error.strerror}") from error
    write_text(folder / UNFINISHED, "The same command of `ibpcl class course` continues here.\n")
    return folder


def write(out, weeks=(6, 10, 14), with_slides=True, tutorials=None, step=None):
    """Write a kit.

    Parameters
    ----------
    out : path
        New folder, or one that an interrupted command began.
    weeks : sequence of int
        Lengths of the courses that get a syllabus.
    with_slides : bool
        Whether the tutorials are run and their slides are written.
    tutorials : path, optional
        Folder of the tutorials.
    step : callable, optional
        Called with the name of each part that is complete.

    Returns
    -------
    folder : pathlib.Path

    Raises
    ------
    UserError
        If ``out`` exists already, a part is missing, or a tutorial does not run.
    """
    step = step or (lambda name: None)
    for count in weeks:
        syllabus.course_of(count)
    texts = tutorials_of(tutorials)
    asked = quiz.quizzes()  # these find what is missing before anything is written
    pages = {name: notes.page(name) for name in assignment.names()}
    if with_slides:
        slides.reveal_folder()
        for text in texts.values():
            slides.cells_of(text)
    folder = start(out)
    for part in ("quizzes/qti", "quizzes/moodle", "notes"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    names = [f"syllabus-{count:02}-weeks.md" for count in weeks]
    for count, name in zip(weeks, names, strict=True):
        write_text(folder / name, syllabus.page(count, texts))
    step("syllabi")
    _write_quizzes(folder / "quizzes", asked)
    step("quizzes")
    for name, page in pages.items():
        write_text(folder / "notes" / f"{name}.md", page)
        write_text(folder / "notes" / f"{name}_demonstration.py", notes.program(notes.read(name)))
    step("notes")
    formula_sheet.write(folder / "formula-sheet.pdf")
    step("formula sheet")
    if with_slides:
        _write_slides(folder / "slides", texts, step)
    listed = ", ".join(f"`{name}`" for name in names)
    write_text(
        folder / "README.md",
        README.format(
            version=ibpcl.__version__, syllabi=listed, slides=SLIDES if with_slides else NO_SLIDES
        ),
    )
    (folder / UNFINISHED).unlink()
    return folder


def parts(weeks, with_slides):
    """Return how many parts :func:`write` reports.

    Parameters
    ----------
    weeks : sequence of int
    with_slides : bool

    Returns
    -------
    count : int
    """
    return 4 + (len(chapters()) if with_slides else 0)


def _write_quizzes(folder, asked):
    """Write the quizzes in both formats, and a page with the answers."""
    for each in asked:
        write_bytes(folder / "qti" / f"{each.name}.zip", qti.package(each))
        write_text(folder / "moodle" / f"{each.name}.xml", moodle.document(each))
    write_text(folder / "answers.md", answers(asked))


def answers(asked):
    """Return all questions with their answers as a page.

    Parameters
    ----------
    asked : sequence of ibpcl.course.quiz.Quiz

    Returns
    -------
    text : str
        Markdown.
    """
    lines = ["# Quizzes with answers"]
    for each in asked:
        lines.append(f"## {each.title}")
        for question in each.questions:
            lines.append(
                f"**{question.id}** (exercise {question.about})\n\n{question.text.strip()}"
            )
            if question.kind == "number":
                unit = f" {question.unit}" if question.unit else ""
                lines.append(
                    f"**Answer: {question.answer:g}{unit}**, within {question.tolerance:.3g}."
                )
            else:
                lines.append(
                    "\n".join(
                        f"- {'**right**' if choice in question.right else 'wrong'}: {choice}"
                        for choice in question.choices
                    )
                )
            lines.append(question.because.strip())
    return "\n\n".join(lines) + "\n"


def _write_slides(folder, texts, step):
    """Write the slides of all tutorials that have none yet."""
    folder.mkdir(parents=True, exist_ok=True)
    slides.copy_reveal(folder / "reveal.js")
    for name, text in texts.items():
        path = folder / f"{name}.html"
        if not path.exists():
            slides.write(path, text, name)
        step(f"slides of {name}")
