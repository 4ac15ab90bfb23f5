"""Handing out the files of an assignment, and packing a hand-in."""

import ast
import csv
import functools
import io
import json
import re
import textwrap
import zipfile
from pathlib import Path

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import IMPORTS, find, named
from ibpcl.classroom.assignments.ids import shown
from ibpcl.classroom.authoring.stubs import referee_stub, stub
from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.intake.choosing import is_blank
from ibpcl.classroom.intake.reading import texts
from ibpcl.classroom.intake.students import Roster, read_students
from ibpcl.classroom.judging import at_home, referee
from ibpcl.classroom.judging.running import client
from ibpcl.classroom.judging.running.session import Session, described
from ibpcl.errors import UserError
from ibpcl.storage import json_text, write_bytes, write_text, zipped

STUDENT_COLUMNS = ("last_name", "first_name", "email", "identifier", "username")
# A hand-in without DERIVATION would be incomplete.
NO_DERIVATION = "This is the reference solution; it has no written derivation."
CHECKS = '''"""The public checks: `ibpcl class check {file}`, or `pytest {name}`."""

from pathlib import Path

from ibpcl.classroom import check_file


def test_public_tasks():
    result = check_file(Path(__file__).with_name("{file}"))
    assert result.status == "graded", result.reason
    wrong = [f"{{each.task}} {{each.title}}: {{'; '.join(each.words)}}" for each in result.verdicts
             if each.state not in ("right", "by hand")]
    assert not wrong, "\\n".join(wrong)
'''


def new(assignment, out, student="", key=variants.PUBLIC, variant=None):
    """Write statement, stub and public checks to a folder; with jupytext, also a notebook.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    out : path-like
        The folder.
    student : str
        Id of the student; may be empty.
    key : bytes
        The course key, which decides the student's variant.
    variant : str, optional
        Name of the variant; by default the one that follows from key and student.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    UserError
        If a file exists already: a student's work is never overwritten.
    """
    out = Path(out)
    student = shown(student)
    variant = variant or variants.variant_of(assignment, key, student)
    checks = f"test_{assignment.file}"
    contents = {
        "statement.md": f"{assignment.statement(variant).rstrip()}\n\n{marking(assignment)}"
    }
    if referee.tasks_of(assignment):
        contents["exhibits.py"] = referee.exhibits(
            assignment, referee.chosen(assignment, key, student), key, student
        )[0]
    text = blank(assignment, variant, student, key)
    contents |= {assignment.file: text, checks: CHECKS.format(file=assignment.file, name=checks)}
    values = _public_values(assignment.folder, variant)
    if values:
        contents[at_home.FILE] = values
    notebook = as_notebook(text, assignment, variant)
    if notebook is not None:
        contents[assignment.file.replace(".py", ".ipynb")] = notebook
    present = [name for name in contents if (out / name).exists()]
    if present:
        raise UserError(f"class: {out / present[0]} exists: give another folder, or move it away")
    out.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_text(out / name, content)
    return [out / name for name in contents]


@functools.lru_cache(maxsize=64)
def _public_values(folder, variant):
    """Return the text of the values that `check` compares with; empty if it needs none."""
    assignment = find(folder)
    if not at_home.tasks_with_values(assignment) or any(task.module for task in assignment.tasks):
        return ""
    return json_text(at_home.recorded(assignment, variant)) + "\n"


def marking(assignment):
    """Return the last section of a statement: points, checks and commands.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    str
        Markdown.
    """
    where = {
        "public": "by `ibpcl class check` and in grading",
        "hidden": "in grading only",
    }
    rows = "\n".join(
        (
            f"| {task.id} | {task.points:g} | "
            f"{where[task.visibility] if task.kind != 'text' else 'by hand'} |"
        )
        for task in assignment.tasks
    )
    return f"""## How it is graded

| task | points | checked |
| --- | --: | --- |
{rows}

`ibpcl class check {assignment.file}` shows your verdicts on the public tasks, in the same words as
the grade; `ibpcl class submit {assignment.file}` packs the file. Test the other tasks yourself:
`ibpcl check` compares any of your gradients with numerical derivatives. Where a number of digits is
required, an error counts relative to its entry, or to a thousandth of the largest entry if the
entry itself is smaller than that.
"""


def blank(assignment, variant, student="", key=variants.PUBLIC):
    """Return the file that a student fills in.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.
    student : str
        Id of the student; may be empty.
    key : bytes
        The course key, which selects the exhibits of a referee.

    Returns
    -------
    str
        Python text.
    """
    if not referee.tasks_of(assignment):
        return stub(assignment, variant, student)
    mistakes = referee.chosen(assignment, key, student)
    functions = {task: mistake["function"] for task, mistake in mistakes.items()}
    return referee_stub(
        assignment,
        student,
        referee.exhibits(assignment, mistakes, key, student)[0],
        functions,
        variant,
    )


def as_notebook(text, assignment, variant="base"):
    """Return a stub as a notebook, with the statement's sections above the cells of their tasks.

    Parameters
    ----------
    text : str
        The stub.
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.

    Returns
    -------
    str or None
        JSON; None if jupytext is not installed.
    """
    try:
        import jupytext
    except ImportError:
        return None
    notebook = jupytext.reads(percent(text, assignment, variant), fmt="py:percent")
    for at, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{at}"  # the same stub gives the same bytes
    return jupytext.writes(notebook, fmt="ipynb")


def percent(text, assignment, variant="base"):
    """Return a stub in cells (``# %%``), with each section of the statement above its function.

    Parameters
    ----------
    text : str
        The stub.
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.

    Returns
    -------
    str
        Python text with Markdown cells.
    """
    sections = re.split(r"^(?=## )", assignment.statement(variant), flags=re.MULTILINE)
    above = {}
    for section in sections[1:]:
        match = re.match(r"## Task ([\w.]+)", section)
        task = next((each for each in assignment.tasks if match and each.id == match[1]), None)
        above.setdefault(task.function if task else "", []).append(section)
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    first = functions[0].lineno - 1 if functions else len(lines)
    cells = [_markdown(sections[0]), "# %%\n" + "".join(lines[:first]).strip() + "\n"]
    for node in functions:
        cells += [_markdown(section) for section in above.pop(node.name, ())]
        cells.append("# %%\n" + "".join(lines[node.lineno - 1 : node.end_lineno]))
    cells += [_markdown(section) for rest in above.values() for section in rest]
    return "\n".join(cells)


def _markdown(text):
    return "# %% [markdown]\n" + textwrap.indent(
        text.strip() + "\n", "# ", lambda line: True
    ).replace("# \n", "#\n")


def submit(path, out=None, assignment=None):
    """Pack a hand-in as a zip.

    The same file gives the same zip, byte for byte; the hash is the one on the feedback page.  A
    notebook is packed without its outputs.

    Parameters
    ----------
    path : path-like
        The Python file, notebook or zip.
    out : path-like, optional
        Path of the zip; by default beside the file.
    assignment : Assignment, optional
        The assignment; by default the one that the file names.

    Returns
    -------
    out : pathlib.Path
        Path of the zip.
    sha256 : str
        Hash of the text.
    warnings : list of str
        Warnings for the author, such as missing functions.

    Raises
    ------
    UserError
        If the file cannot be read, `ibpcl class grade` would refuse it, or a statement fails; the
        message has the line.
    """
    submission = submissions.read(path, assignment=assignment)
    said = submissions.literals(submission.source)
    assignment = assignment or named(said.get("ASSIGNMENT", ""))
    refusal = submissions.refuse(
        submission.source, IMPORTS if assignment is None else assignment.imports
    )
    if refusal is not None:
        place = submission.place(refusal.line) if refusal.line else submission.file
        raise UserError(f"class: {place} {refusal.words}; it would not be graded")
    warnings = (
        [] if said.get("ASSIGNMENT") else ["the line ASSIGNMENT = ... of the stub is missing"]
    )
    if assignment is not None:
        warnings += _loaded(submission, assignment)
        warnings += submissions.notes(submission, assignment)
        if is_blank({"facts": submissions.facts_of(submission.source)}, assignment):
            warnings.append("nothing is filled in yet")
    manifest = {
        "schema": "ibpcl/hand-in/1",
        "assignment": said.get("ASSIGNMENT", ""),
        "variant": said.get("VARIANT", ""),
        "student": said.get("STUDENT", ""),
        "file": submission.file,
        "sha256": submission.sha256,
    }
    packed = submission.source
    if submission.file.endswith(".ipynb") and Path(path).suffix.lower() == ".ipynb":
        packed = _without_outputs(Path(path))
    elif submission.file.endswith(".ipynb"):
        manifest["file"] = submission.file.replace(".ipynb", ".py")
    data = zipped({manifest["file"]: packed, "manifest.json": json_text(manifest, indent=1) + "\n"})
    out = Path(out) if out else Path(path).with_suffix(".zip")
    if out.exists() and out.read_bytes() != data and not _is_ours(out):
        raise UserError(f"class: {out} exists and is not a hand-in: give another name with `out`")
    write_bytes(out, data)
    return out, submission.sha256, warnings


def _loaded(submission, assignment):
    """Run a file once as `ibpcl class grade` would, and return warnings.

    In a notebook, cells for trying things out may fail; in a program, no statement may.
    """
    session = Session(submission, assignment, client.at_home())
    try:
        session.start()
    except client.SubmissionError as error:
        words = described(error, False, submission.file)
        raise UserError(f"class: {submission.file} cannot be loaded: it {words}") from None
    except client.Waiting as error:
        raise UserError(f"class: {submission.file} cannot be loaded: {error}") from None
    finally:
        session.close()
    for failure in session.skipped:
        if " raises " in failure and not submission.file.endswith(".ipynb"):
            raise UserError(
                f"class: {failure.removeprefix('skipped: ')} in grading: remove it, or put it "
                'below `if __name__ == "__main__":`'
            )
    return list(session.skipped)


def _without_outputs(path):
    """Return the text of a notebook without outputs; the file has been read before, so it is safe
    to parse.
    """
    text, _ = texts.decoded(path.read_bytes())
    notebook = json.loads(text)
    for cell in notebook.get("cells", ()):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
    return json.dumps(notebook, indent=1) + "\n"


def solution(assignment, variant="base"):
    """Return the reference solution as a file that can be handed in.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.

    Returns
    -------
    str
        Python text: the reference, with ASSIGNMENT and VARIANT below its docstring and, if the
        assignment has a written task, DERIVATION.

    Raises
    ------
    UserError
        If the assignment has no such variant.
    """
    source = assignment.source(variant)
    constants = {"ASSIGNMENT": assignment.name, "VARIANT": variant}
    if any(task.kind == "text" for task in assignment.tasks):
        constants["DERIVATION"] = NO_DERIVATION
    lines = source.splitlines(keepends=True)
    end = ast.parse(source).body[0].end_lineno  # of the docstring
    added = "".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in constants.items()
    )
    return "".join([*lines[:end], "\n", added, *lines[end:]])


def add_students(path, roster):
    """Add students to the list of a course; existing entries stay unchanged.

    Parameters
    ----------
    path : path-like
        CSV file beside the course key; created if it does not exist.
    roster : Roster
        The students to add.

    Returns
    -------
    Roster
        All students of the course.
    """
    path = Path(path)
    before = read_students(path)[0].students if path.exists() else []
    together = Roster([*before, *roster.students])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student_id", *STUDENT_COLUMNS])
    for student in together.students:
        row = [student.id, *(getattr(student, column) for column in STUDENT_COLUMNS)]
        writer.writerow([f"'{cell}" if cell[:1] in ("=", "+", "-", "@") else cell for cell in row])
    write_text(path, text.getvalue())
    return together


def _is_ours(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read("manifest.json")).get("schema") == "ibpcl/hand-in/1"
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):
        return False
