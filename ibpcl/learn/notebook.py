"""The path in a notebook: a chapter as cells, and verdicts as HTML."""

import textwrap
from html import escape

from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.learn.checking import check_chapter
from ibpcl.learn.folder import FOLDER, Folder
from ibpcl.storage import write_text

MARKS = {"right": "✓", "missing": "○"}
COLOURS = {"right": "#1a7f37", "missing": "#6e7781"}


class Verdicts:
    """The verdicts on the exercises of a chapter, as text and as HTML.

    Attributes
    ----------
    chapter : ibpcl.learn.chapters.Chapter
    checked : list of ibpcl.learn.checking.Checked
    """

    def __init__(self, chapter, checked):
        self.chapter = chapter
        self.checked = checked

    @property
    def ok(self):
        """True if all exercises are done."""
        return all(each.ok for each in self.checked)

    def __repr__(self):
        """Return the verdicts as the command prints them."""
        return as_text(self.checked)

    def _repr_html_(self):
        """Return the verdicts as Jupyter shows them."""
        rows = []
        for each in self.checked:
            mark = MARKS.get(each.state, "✗")
            colour = COLOURS.get(each.state, "#cf222e")
            words = "<br>".join(escape(line) for line in each.lines)
            rows.append(
                f'<tr><td style="color:{colour}">{mark}</td><td>{each.exercise}</td>'
                f'<td style="text-align:left">{escape(each.title)}</td>'
                f'<td style="text-align:left">{words}</td></tr>'
            )
        return f"<table>{''.join(rows)}</table>"


def as_text(checked):
    """Return the verdicts on exercises as lines of text.

    Parameters
    ----------
    checked : list of ibpcl.learn.checking.Checked

    Returns
    -------
    text : str
    """
    lines = []
    for each in checked:
        mark = {"right": "done", "missing": "open"}.get(each.state, each.state)
        lines.append(f"{each.exercise:>5}  {mark:<10} {each.title}")
        # the reason of an answer is shown once
        if each.state != "missing" and not (each.ok and each.was_done):
            for line in each.lines:
                lines += textwrap.wrap(
                    line, 92, initial_indent=" " * 18, subsequent_indent=" " * 20
                )
    return "\n".join(lines)


def check(chapter=None, folder=FOLDER):
    """Check the exercises of a chapter, in a notebook or at a Python prompt.

    The files on disk are checked: save the notebook first.

    Parameters
    ----------
    chapter : int, optional
        Number of the chapter; by default the last one that has been started.
    folder : path-like
        The student's folder.

    Returns
    -------
    verdicts : Verdicts
        Jupyter shows them as a table.

    Raises
    ------
    UserError
        If nothing has been started, or a file cannot be read.
    """
    student = Folder(folder)
    student.require()
    chosen = chapter_of(chapter) if chapter is not None else last_started(student)
    return Verdicts(chosen, check_chapter(student, chosen))


def last_started(student):
    """Return the last chapter that has been started in a folder.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder

    Returns
    -------
    chapter : ibpcl.learn.chapters.Chapter

    Raises
    ------
    UserError
        If none has.
    """
    started = [chapter for chapter in chapters() if is_started(student, chapter)]
    if not started:
        raise UserError("learn: no chapter has been started: `ibpcl learn start` writes the first")
    return started[-1]


def is_started(student, chapter):
    """Return whether the exercises of a chapter have been written to a folder.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    chapter : ibpcl.learn.chapters.Chapter

    Returns
    -------
    is_started : bool
    """
    return chapter.number in student.started


def write_notebook(student, chapter):
    """Write the exercises of a chapter as a notebook.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    chapter : ibpcl.learn.chapters.Chapter

    Returns
    -------
    path : pathlib.Path

    Raises
    ------
    UserError
        If the notebook exists, or jupytext is not installed.
    """
    path = student.path / f"{chapter.assignment.name}.ipynb"
    if path.exists():
        raise UserError(f"learn: {path} exists; a student's work is never overwritten")
    try:
        import jupytext
    except ImportError:
        raise UserError(
            "learn: notebooks need jupytext, which comes with ibpcl[classroom]"
        ) from None
    parts = sorted({part for stem in chapter.files for part in student.parts(stem)})
    setup = ["# %%", "import numpy as np"]
    if parts:
        setup.append(f"from {student.package} import {', '.join(parts)}")
    opening = chapter.assignment.statement().split("\n## Task")[0]
    cells = [_markdown(opening), "\n".join(setup)]
    for number, tasks in chapter.exercises.items():
        cells.append(_markdown(f"## {number} {tasks[0].title}\n\n{chapter.statement_of(number)}"))
        for task in tasks:
            stub = chapter.stubs_of(chapter.file_of(task))[task.function]
            code = "\n".join(line for line in stub.splitlines() if not line.startswith("#"))
            cells.append(f"# %%\n{code.strip()}")
    cells.append(
        "# %%\nif __name__ == '__main__':\n    import ibpcl.learn\n\n"
        f"    display(ibpcl.learn.check({chapter.number}, {str(student.path.resolve())!r}))"
    )
    student.begin(chapter)
    notebook = jupytext.reads("\n\n".join(cells) + "\n", fmt="py:percent")
    for at, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{at}"  # the same chapter gives the same bytes
    write_text(path, jupytext.writes(notebook, fmt="ipynb"))
    return path


def _markdown(text):
    """Return a text as a Markdown cell."""
    lines = textwrap.indent(text.strip(), "# ", lambda line: True)
    return "# %% [markdown]\n" + lines.replace("# \n", "#\n")
