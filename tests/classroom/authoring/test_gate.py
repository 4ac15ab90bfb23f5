"""The gate of the kit: stubs earn nothing, references everything, planted mistakes are seen and
named.
"""

import re

import pytest
from classroom_common import BOX

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring import selftest
from ibpcl.classroom.authoring.handout import blank
from ibpcl.classroom.intake.submission import refuse
from ibpcl.classroom.judging.referee import tasks_of
from ibpcl.classroom.judging.running import parallel

EVERY = [(name, variant) for name in names() for variant in find(name).variants]
MISTAKES = 2  # of each assignment in the sample
# Its tasks are tests, which reject planted mistakes: tests/classroom/judging has weak ones.
OF_TESTS = "10_write_the_test"


def sample(name):
    """Return a few hand-ins of a gate: a stub, the reference in the last variant, and mistakes from
    middle and end.
    """
    every = selftest.cases(find(name))
    planted = [case for case in every if case[0] == "mistake"]
    step = max(1, len(planted) // MISTAKES)
    return [
        every[0],
        [case for case in every if case[0] == "reference"][-1],
        *planted[step - 1 :: step][:MISTAKES],
    ]


@pytest.fixture(scope="module")
def sampled(request):
    """Judge the samples of the assignments that are asked for, several at the same time: {name:
    outcomes}.
    """
    asked = [
        item.callspec.params["name"]
        for item in request.session.items
        if item.function is test_a_sample_of_the_gate
    ]
    jobs = [(name, case) for name in asked for case in sample(name)]
    found = {name: [] for name in asked}
    for (name, _), each in zip(jobs, parallel.over(outcome, jobs), strict=True):
        found[name].append(each)
    return found


def outcome(job):
    return selftest.outcome(job[1], job[0], BOX)


def refuse_failures(name, outcomes, named_at_least):
    failed = [f"{each.label}: {each.words}" for each in outcomes if not each.ok]
    assert not failed, "\n".join(failed)
    named = [each for each in outcomes if each.named is not None]
    unnamed = [f"{each.label}: {each.words}" for each in named if not each.named]
    assert named or name == OF_TESTS, "no mistakes are planted"
    assert len(unnamed) <= (1 - named_at_least) * len(named), "\n".join(unnamed)


@pytest.mark.slow(reason="a minute of judging")
@pytest.mark.parametrize("name", names())
def test_a_sample_of_the_gate(name, sampled):
    refuse_failures(name, sampled[name], 1.0)


@pytest.mark.slow(reason="judges every planted mistake of every assignment")
@pytest.mark.parametrize("name", names())
def test_gate(name):
    refuse_failures(name, list(selftest.run(find(name), BOX)), selftest.NAMED_AT_LEAST)


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_stubs_are_python_and_give_nothing_away(name, variant):
    text = blank(find(name), variant)
    compile(text, "stub.py", "exec")
    assert blank(find(name), variant) == text
    assert refuse(text, find(name).imports) is None
    if tasks_of(find(name)):
        return  # the exhibits are there to be read
    assert "#" not in text and not re.search(r"^def _", text, re.MULTILINE)
    for function in re.findall(
        r"^def \w+_vjp.*?raise NotImplementedError", text, re.MULTILINE | re.DOTALL
    ):
        assert "math::" not in function and "partial" not in function
    tested = {task.forward for task in find(name).tasks if task.kind == "test"}
    given = sum(f"\ndef {forward}(" in text for forward in tested)
    assert text.count("raise NotImplementedError") == text.count("\ndef ") - given


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_statements_have_a_section_per_task_and_no_gradient(name, variant):
    text = find(name).statement(variant)
    assert "<!--" not in text
    for task in find(name).tasks:
        assert re.search(rf"^## Tasks? [^\n]*\b{task.id}\b", text, re.MULTILINE), (
            f"no section for {task.id}"
        )
