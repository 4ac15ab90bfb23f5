"""Each chapter: the references pass, the blank file is blank, and planted mistakes are named."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from answering import functions_of
from quick import quick

import ibpcl
from ibpcl.classroom.assignments.assignment import CHAPTERS
from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.learn.chapters import chapters
from ibpcl.learn.checking import check_chapter
from ibpcl.learn.folder import Folder, written_in
from ibpcl.storage import read_text, read_toml

pytestmark = pytest.mark.usefixtures("judged_here")

TUTORIALS = Path(ibpcl.__file__).parents[1] / "tutorials"
UNNAMED = ("wrong", "wrong_values", "unexplained")


def solve(folder, chapter, change=None):
    """Write the reference of every function of a chapter in place of its stub."""
    source = chapter.assignment.source()
    if change is not None:
        old, new = change
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
        source = source.replace(old, new)
    for stem in chapter.files:
        names = functions_of([t for t in chapter.assignment.tasks if chapter.file_of(t) == stem])
        head = list(dict.fromkeys(imports(source)))
        parts = [line for line in head if "ibpcl.primitives" in line]
        head = [line for line in head if line not in parts]
        own = [line.replace("ibpcl.primitives", folder.package) for line in parts]
        text = "\n".join([*head, *own]) + "\n\n\n" + sliced(source, names) + "\n"
        folder.file(stem).write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def reference(monkeypatch):
    """No exercise has passed, so the student's package has the functions of the reference."""
    monkeypatch.setitem(sys.modules, "mine", ibpcl.primitives)


@pytest.fixture(scope="module", params=chapters(), ids=lambda chapter: chapter.assignment.name)
def chapter(request):
    return request.param


def some(*kept):
    """Return all chapters, of which the test command runs some."""
    return quick(
        kept,
        chapters(),
        "one judge reads all chapters",
        name=lambda chapter: chapter.assignment.name,
    )


@pytest.fixture
def folder(tmp_path, chapter):
    student = Folder(tmp_path / "mine")
    student.start(chapter)
    return student


@pytest.mark.parametrize("chapter", some("chapter_00"), indirect=True)
def test_references_pass(folder, chapter):
    solve(folder, chapter)
    wrong = [(c.exercise, c.state, c.lines) for c in check_chapter(folder, chapter) if not c.ok]
    assert wrong == []
    assert all(folder.progress[number]["state"] == "right" for number in chapter.exercises)


@pytest.mark.parametrize("chapter", some("chapter_04"), indirect=True)
def test_a_blank_chapter_is_open(folder, chapter):
    checked = check_chapter(folder, chapter)
    assert {each.state for each in checked} == {"missing"}
    assert all(entry["tries"] == 0 for entry in folder.progress.values())


def test_stubs_are_python_and_do_not_show_the_solution(folder, chapter):
    source = chapter.assignment.source()
    for stem in chapter.files:
        text = folder.source(stem)
        names = written_in(text)
        asked = {t.function for t in chapter.assignment.tasks if chapter.file_of(t) == stem}
        assert asked <= names
        for task in chapter.assignment.tasks:
            exhibited = {each.forward for each in chapter.assignment.tasks if each.exhibit}
            if task.function in asked - exhibited and not task.choices:
                last = sliced(source, [task.function]).splitlines()[-1].strip()
                assert len(last) < 12 or last not in text, (task.id, last)


def mistakes():
    for path in sorted(CHAPTERS.glob("chapter_*/mistakes.toml")):
        for mistake in read_toml(path)["mistake"]:
            yield pytest.param(
                path.parent.name, mistake, id=f"{mistake['task']}-{mistake['label']}"
            )


# Exercises that call the functions of another one.
CALLERS = {"16.2", "19.5", "19.6"}


@pytest.mark.parametrize(
    ("name", "mistake"),
    quick(
        [
            "0.1b-the softmax is treated as if it were elementwise",
            "15.4-the total in the place of the rest",
        ],
        # those with words are judged, exercise by exercise, in test_answers.py
        [each for each in mistakes() if "words" not in each.values[1]],
        "seconds each; the checker's own tests have all kinds of mistakes",
    ),
)
def test_a_planted_mistake_is_caught_and_named(tmp_path, name, mistake):
    (chapter,) = [each for each in chapters() if each.assignment.name == name]
    folder = Folder(tmp_path / "mine")
    folder.start(chapter)
    solve(folder, chapter, (mistake["replace"], mistake["by"]))
    checked = {each.exercise: each for each in check_chapter(folder, chapter)}
    exercise = re.sub(r"[a-z]+$", "", mistake["task"])
    assert not checked[exercise].ok
    (verdict,) = [v for v in checked[exercise].verdicts if v.task == mistake["task"]]
    kinds = {part.kind for part in verdict.parts} - {"ok"}
    if mistake.get("named", True):
        assert kinds == set(mistake.get("kinds", ()))
        assert mistake.get("says", "") in " ".join(checked[exercise].lines)
    else:
        assert kinds & set(UNNAMED)
    refused = {each.exercise for each in checked.values() if not each.ok}
    assert {exercise} <= refused <= {exercise} | CALLERS


def test_every_chapter_is_complete(chapter):
    table = read_toml(chapter.assignment.folder / "assignment.toml")
    assert table["points"] == len(chapter.assignment.tasks)
    for number, tasks in chapter.exercises.items():
        assert re.fullmatch(rf"{chapter.number}\.\d+", number)
        assert chapter.statement_of(number), number
        hints = [text for task in tasks for text in task.hints]
        assert len(hints) == 3, number
        for task in tasks:
            if task.kind in ("choice", "prediction"):
                assert task.because and len(task.choices) >= 2
    statement = read_text(chapter.assignment.folder / "statement.md")
    headings = re.findall(r"^## Task ([\d.]+): (.+)$", statement, re.M)
    assert headings == [(n, tasks[0].title) for n, tasks in chapter.exercises.items()]


def exercises_of_tutorial(path):
    """Return the titles in the section "Exercises" of a tutorial, by their form.

    A title may go on in the next line.
    """
    section = read_text(path).partition("\n# ## Exercises\n")[2]
    text = re.sub(r"\n# +(?!\d+\. )", " ", section)
    return [title.rstrip(".") for title in re.findall(r"^# \d+\. \*\*(.+?)\*\*", text, re.M)]


def test_every_exercise_of_a_tutorial_is_in_its_chapter():
    if not TUTORIALS.is_dir():
        pytest.skip("the folder tutorials/ is not beside the package")
    paths = sorted(TUTORIALS.glob("[0-9][0-9]_*.py"))
    assert [each.tutorial for each in chapters()] == [path.stem for path in paths]
    missing = []
    for path, each in zip(paths, chapters(), strict=True):
        asked = exercises_of_tutorial(path)
        assert len(asked) >= 3, path.name
        titles = [tasks[0].title for tasks in each.exercises.values()]
        missing += [(each.number, title) for title in asked if title not in titles]
    assert missing == []


PREDICTIONS = [
    (chapter, exercise)
    for chapter in chapters()
    for exercise, tasks in chapter.exercises.items()
    if tasks[0].kind == "prediction"
]


@pytest.mark.parametrize(
    ("chapter", "exercise"), PREDICTIONS, ids=[exercise for _, exercise in PREDICTIONS]
)
def test_a_prediction_names_the_run_that_gives_its_answer(chapter, exercise):
    if not TUTORIALS.is_dir():
        pytest.skip("the folder tutorials/ is not beside the package")
    statement = " ".join(chapter.statement_of(exercise).split())
    script, line = re.search(r"`python (\S+)` .* that begins? with (\d)", statement).groups()
    path = TUTORIALS.parent / script
    assert path.stem == chapter.tutorial
    assert re.search(rf'f?"{line}\. ', read_text(path)), line


def test_chapters_form_a_path():
    numbers = [chapter.number for chapter in chapters()]
    assert numbers == sorted(set(numbers))
    for chapter in chapters():
        assert all(need in numbers and need < chapter.number for need in chapter.needs)


def test_deleted_files_are_reported(folder, chapter):
    for stem in chapter.files:
        folder.file(stem).unlink()
    with pytest.raises(Exception, match="start"):
        check_chapter(folder, chapter)
    written, _ = folder.start(chapter)
    assert len(written) == len(chapter.files)
    shutil.rmtree(folder.path)


def test_most_planted_mistakes_are_named():
    every = [parameter.values[1] for parameter in mistakes()]
    assert len(every) >= 40
    assert sum(each.get("named", True) for each in every) >= 0.9 * len(every)
