"""The learning path: its table names scripts, modules, assignments and equations that exist."""

import doctest
import importlib
import re
import sys

import pytest
from site_files import ROOT, SITE, built, read

sys.path.insert(0, str(ROOT / "docs" / "_ext"))
paths = pytest.importorskip("paths")
TUTORIALS = sorted(path.stem for path in (ROOT / "tutorials").glob("[0-9]*.py"))
by_name = {row.name: row for row in paths.TUTORIALS}


def test_every_tutorial_has_a_row():
    assert set(TUTORIALS) <= set(by_name)


def test_numbers_are_unique_and_needs_come_before():
    numbers = [row.number for row in paths.TUTORIALS]
    assert numbers == sorted(set(numbers))
    for row in paths.TUTORIALS:
        assert all(n in numbers and n != row.number for n in row.needs), row.name
        assert all(n < row.number for n in row.needs), row.name


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_states_its_title_and_its_time(name):
    row = by_name[name]
    assert row.title
    assert 10 <= row.minutes <= 150


@pytest.mark.parametrize("row", paths.TUTORIALS, ids=lambda row: row.name)
def test_modules_and_assignments_of_a_row_exist(row):
    for name in row.modules:
        importlib.import_module(name)
    assert set(row.assignments) <= set(paths.assignments())


def test_every_assignment_follows_a_tutorial():
    assert {n for row in paths.TUTORIALS for n in row.assignments} == set(paths.assignments())


def test_every_primitive_has_a_place_and_a_derivation():
    names = {path.stem for path in (ROOT / "ibpcl" / "primitives").glob("[!_]*.py")}
    assert {name for group in paths.DERIVATIONS.values() for name in group} == names
    derived = {name.rpartition(".")[2] for row in paths.TUTORIALS for name in row.modules}
    assert names <= derived | set(paths.SHORT)
    text = (ROOT / "docs" / "short-derivations.md").read_text(encoding="utf-8")
    labels = re.findall(r"^\(derivation-([\w-]+)\)=$", text, re.MULTILINE)
    assert labels == [name.replace("_", "-") for name in paths.SHORT]


@pytest.mark.parametrize("name", ["paths", "picture"])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_drawing_code_is_folded_and_computation_is_not():
    lessons = pytest.importorskip("lessons")
    assert doctest.testmod(lessons).failed == 0
    text = (
        "# %% [markdown]\n# # 1. A\n\n# %%\nplt.rcParams.update({'a': plt.cycler(b)})\nx = 1\n\n"
        "# a line\nplt.plot(x)\nplt.show()\n"
    )
    cells = lessons.notebook(text).cells
    assert [cell.source.splitlines()[0] for cell in cells] == [
        "# 1. A",
        text.splitlines()[4],
        "# a line",
    ]
    assert [cell.metadata.get("tags") for cell in cells] == [None, None, ["hide-input"]]


def test_a_cell_that_its_author_folds_stays_whole():
    lessons = pytest.importorskip("lessons")
    (cell,) = lessons.notebook('# %% tags=["hide-input"]\nx = 1\nplt.plot(x)\n').cells
    assert (cell.source, cell.metadata["tags"]) == ("x = 1\nplt.plot(x)", ["hide-input"])


def test_a_solution_is_split_by_exercise():
    lessons = pytest.importorskip("lessons")
    text = (
        '"""Solutions.\n\nRun me.\n"""\n\nimport numpy\n\n'
        "# Exercise 1: a width.  Why.\n\n\ndef f():\n    pass\n"
    )
    page = lessons.solution_page(paths.TUTORIALS[2], text)
    assert "## Exercise 1: a width\n\nWhy.\n\n```python\ndef f():" in page
    assert "Run me." in page and "Solutions.\n" not in page
    asked = lessons.solution_page(
        paths.TUTORIALS[2], "# Exercise 2: Who forgets? All. Or none.\nx = 1\n"
    )
    assert "## Exercise 2: Who forgets?\n\nAll. Or none.\n\n```python\nx = 1" in asked


@built
def test_the_site_has_statements_solutions_and_a_sample_of_feedback():
    pages = read(SITE)
    for assignment in paths.assignments().values():
        text = pages[f"assignments/{assignment.name}.html"].text
        assert all(f"Task {task.id}" in text or task.id in text for task in assignment.tasks)
        assert "<!-- form" not in text
    for path in (ROOT / "tutorials" / "solutions").glob("*.py"):
        assert f"solutions/{path.stem}.html" in pages
    sample = (SITE / "_static" / "feedback-sample.html").read_text(encoding="utf-8")
    assert "the sign is wrong" in sample
