"""The gate of the kit: stubs earn nothing, references everything, planted mistakes are seen and named."""

import re

import pytest
from classroom_common import BOX, needs_box

from ibpcl.classroom import selftest
from ibpcl.classroom.assignment import find, names
from ibpcl.classroom.handin import refuse
from ibpcl.classroom.handout import blank
from ibpcl.classroom.referee import tasks_of

QUICK = ("01_gaussian_weights", "08_the_referee")        # the others take two more minutes: run with -m slow
GATES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names()]
EVERY = [(name, form) for name in names() for form in find(name).forms]


@needs_box
@pytest.mark.parametrize("name", GATES)
def test_gate(name):
    outcomes = list(selftest.run(find(name), BOX))
    failed = [f"{each.label}: {each.words}" for each in outcomes if not each.ok]
    assert not failed, "\n".join(failed)
    named = [each for each in outcomes if each.named is not None]
    unnamed = [f"{each.label}: {each.words}" for each in named if not each.named]
    assert named, f"{name} plants no mistakes"
    assert len(unnamed) <= (1 - selftest.NAMED_AT_LEAST) * len(named), "\n".join(unnamed)


@pytest.mark.parametrize(("name", "form"), EVERY)
def test_stubs_are_python_and_give_nothing_away(name, form):
    text = blank(find(name), form)
    compile(text, "stub.py", "exec")
    assert blank(find(name), form) == text
    assert refuse(text, find(name).imports) is None
    if tasks_of(find(name)):
        return                                            # the exhibits are there to be read
    assert "#" not in text and not re.search(r"^def _", text, re.MULTILINE)
    for function in re.findall(r"^def \w+_vjp.*?raise NotImplementedError", text, re.MULTILINE | re.DOTALL):
        assert "math::" not in function and "partial" not in function
    assert text.count("raise NotImplementedError") == text.count("\ndef ")


@pytest.mark.parametrize(("name", "form"), EVERY)
def test_statements_have_a_section_per_task_and_no_gradient(name, form):
    text = find(name).statement(form)
    assert "<!--" not in text
    for task in find(name).tasks:
        assert re.search(rf"^## Tasks? [^\n]*\b{task.id}\b", text, re.MULTILINE), f"no section for {task.id}"
