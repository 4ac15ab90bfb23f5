"""The guide for authors: its example passes its own gate, and the gate finds what authors
forget.
"""

import re
from pathlib import Path

import pytest
from classroom_common import BOX

import ibpcl
from ibpcl.classroom.assignments.assignment import load
from ibpcl.classroom.authoring import selftest, statement_check
from ibpcl.errors import UserError

GUIDE = Path(ibpcl.__file__).parents[1] / "docs" / "classroom-authoring.md"


@pytest.fixture
def folder(tmp_path):
    """The example of the guide, as a reader would copy it."""
    blocks = re.findall(
        r"```\{code-block\} \w+\n:caption: (\S+)\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )
    assert len(blocks) == 6
    for name, text in blocks:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "squash"


def found(folder):
    load.cache_clear()
    return "\n".join(statement_check.problems(load(folder)))


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.slow(reason="judges a solution and its mistakes")
def test_the_example_passes_its_gate(folder):
    outcomes = list(selftest.run(load(folder), BOX, jobs=1))
    assert len(outcomes) == 7
    assert all(each.ok and each.named is not False for each in outcomes), outcomes


def test_every_key_of_a_task_is_in_the_guide():
    from dataclasses import fields

    from ibpcl.classroom.assignments.assignment import Task

    table = GUIDE.read_text().partition("| key of a task |")[2].partition("\n\n")[0]
    assert (
        not {each.name for each in fields(Task)}
        - {"title", "points"}
        - set(re.findall(r"`(\w+)`", table))
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            "assignment.toml",
            'logistic = "the squashing function is the logistic function"\n',
            "",
            "never used",
        ),
        (
            "assignment.toml",
            "[variants]\n",
            '[variants]\nother = "x"\n',
            "no file variants/other.py",
        ),
        (
            "statement.md",
            "<!-- variant: logistic -->",
            "<!-- variant: logistics -->",
            "variant logistic has no passage",
        ),
        (
            "statement.md",
            "<!-- variant: logistic -->",
            "<!-- variant: logistics -->",
            "variant 'logistics'",
        ),
        ("statement.md", "<!-- end -->\n\n##", "\n##", "not closed"),
        ("statement.md", "## Task 9c", "## Task 9d", "no section `## Task 9c`"),
        ("statement.md", "## Task 9c", "## Task 9d", "asks for task 9d"),
        ("statement.md", "`squash_vjp(dy, cache)` returns", "Return", "`squash_vjp` is not named"),
        ("variants/logistic.py", 'r""".. math:: y = 1 / (1 + e^{-g x})"""', '"""Squash."""', ""),
        (
            "variants/logistic.py",
            '    r""".. math:: y = 1 / (1 + e^{-g x})"""\n',
            "",
            "formula of the base",
        ),
        ("assignment.toml", "points = 6, text", "points = 5, text", "adds up to 9"),
    ],
)
def test_the_gate_finds_what_authors_forget(folder, file, old, new, told):
    assert found(folder) == ""
    change(folder / file, old, new)
    if told:
        assert told in found(folder)


def test_docstrings_of_another_form_are_found(folder):
    path = folder / "variants" / "logistic.py"
    text = re.sub(r"WORDS = \{.*?\}\n", "", path.read_text(), flags=re.DOTALL)
    path.write_text(re.sub(r'    r"""\.\. math.*?"""\n', "", text))
    assert "docstrings are those of the base variant" in found(folder)


@pytest.mark.parametrize("item", ['{ points = "6", text = "x" }', '{ text = "x" }', '"six points"'])
def test_a_rubric_that_cannot_be_read_is_refused(folder, item):
    change(
        folder / "assignment.toml",
        '{ points = 6, text = "Both derivatives, from the definition" }',
        item,
    )
    load.cache_clear()
    with pytest.raises(UserError, match="rubric"):
        load(folder)
