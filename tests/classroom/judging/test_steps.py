"""A step of a derivation is an intermediate quantity: the right one earns points, no other does."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from classroom_common import KEY

from ibpcl.classroom.assignments.assignment import find, module, names
from ibpcl.classroom.authoring.selftest import mistakes, planted, submission_of
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.feedback.derivations_page import derivations_page
from ibpcl.classroom.judging.forwards import judge_step
from ibpcl.classroom.judging.judge import Case
from ibpcl.classroom.judging.underived import flags
from ibpcl.classroom.judging.verdict import Result, Verdict


def step_of(assignment):
    """Return the task of an assignment that asks for a step."""
    return next(task for task in assignment.tasks if task.kind == "step")


WITH_STEPS = [name for name in names() if any(task.kind == "vjp" for task in find(name).tasks)]
VARIANTS = [(name, variant) for name in WITH_STEPS for variant in find(name).variants]


class Direct:
    """A session whose hand-in is one function of this process."""

    def __init__(self, function):
        self.function = function

    def expect(self, out):
        """Do as the session does with the expected output: nothing here."""

    def plain(self, function, inputs, without=()):
        with np.errstate(all="ignore"):
            return self.function(*inputs)


@functools.cache
def case_of(name, variant, key):
    """Return a case, whose reference is made once."""
    assignment = find(name)
    return Case(assignment, submission_of(assignment, ""), key, variant, None, False)


def judged_step(name, variant, function, key=KEY):
    """Return the verdict on a function that is handed in as the step of an assignment."""
    task = step_of(find(name))
    verdict = Verdict.of(task)
    case = case_of(name, variant, key)
    case.session = Direct(function)
    judge_step(task, verdict, case)
    return verdict


@pytest.mark.parametrize("name", names())
def test_a_derivation_weighs_more_than_ten_of_a_hundred(name):
    assignment = find(name)
    kinds = {task.kind for task in assignment.tasks}
    weight = sum(task.points for task in assignment.tasks if task.kind in ("text", "step"))
    assert weight > 0.1 * assignment.points
    # the lines of exhibits are judged by value, too; a written test has no formula of its own
    assert kinds & {"step", "referee", "test"}


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_step_is_right_for_its_variant_and_no_other(name, variant):
    assignment = find(name)
    function = step_of(assignment).function
    for other in assignment.variants:
        for key in (KEY, b"the key of another course"):
            verdict = judged_step(
                name, variant, getattr(case_of(name, other, KEY).reference, function), key
            )
            assert verdict.points == (verdict.most if other == variant else 0), other


SPOILED = {
    "zero": lambda right: 0 * right,
    "a constant": lambda right: 0 * right + 1,
    "the sign": lambda right: -right,
    "a factor": lambda right: 2 * right,
    "a difference quotient": lambda right: right * (1 + 1e-7),
    "a sum": lambda right: right.sum(axis=0),
    "a number": lambda right: float(right.sum()),
}


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_spoiled_step_earns_nothing(name, variant):
    right = getattr(case_of(name, variant, KEY).reference, step_of(find(name)).function)
    for how, spoiled in SPOILED.items():
        verdict = judged_step(
            name, variant, lambda *inputs, spoiled=spoiled: spoiled(right(*inputs))
        )
        assert verdict.points == 0, how


@pytest.mark.parametrize("name", WITH_STEPS)
def test_the_final_answer_is_not_the_step(name):
    assignment = find(name)
    task = step_of(assignment)
    finals = [each for each in mistakes(assignment) if each["task"] == task.id]
    assert finals
    for mistake in finals:
        source = planted(assignment, mistake)
        function = getattr(module(source, f"final_{name}"), task.function)
        assert judged_step(name, "base", function).points == 0


@pytest.mark.parametrize("name", WITH_STEPS)
def test_the_inputs_of_a_step_follow_from_the_key(name):
    assignment = find(name)
    task = step_of(assignment)
    assert task.visibility == "hidden"
    reference = getattr(assignment.reference(), task.function)
    learned = []
    judged_step(name, "base", lambda *inputs: learned.append(reference(*inputs)) or learned[-1])
    answers = iter(learned)
    assert judged_step(name, "base", lambda *inputs: next(answers)).state == "right"
    answers = iter(learned)
    assert judged_step(name, "base", lambda *inputs: next(answers), b"another key").points == 0


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_stub_does_not_give_the_step_away(name, variant):
    assert "math::" not in stub(find(name), variant).split(step_of(find(name)).function)[1]


def test_a_step_by_complex_numbers_is_flagged():
    assignment = find("01_gaussian_weights")
    source = (
        "def slope_in_sigma(x, mu, scale):\n"
        "    return np.imag(log_density(x, mu, scale + 1e-30j)[0]) / 1e-30\n"
    )
    assert [line for line, _ in flags(source, assignment)] == [2]
    assert flags(assignment.source(), assignment) == []


def test_the_page_of_derivations_shows_the_verdict_on_the_step():
    assignment = find("01_gaussian_weights")
    step = Verdict.of(step_of(assignment))
    step.words = ["the words of the judge"]
    text = Verdict.of(assignment.task("1j"))
    text.details = ["By the chain rule."]
    result = Result(assignment.name, "ada", "base", "0" * 64, verdicts=[text, step])
    table = SimpleNamespace(used={}, held={}, kept=[])
    records = SimpleNamespace(
        assignment=assignment, results=[result], table=table, folder=assignment.folder
    )
    assert "the words of the judge" in derivations_page(records)
