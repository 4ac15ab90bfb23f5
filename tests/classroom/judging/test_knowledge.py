"""Points are for knowledge: guesses earn nothing, and one misconception costs its own task."""

from itertools import product

import guessing
import misconceptions
import pytest
from classroom_common import judged, needs_box

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.judging.running import parallel

MOST_FOR_A_GUESS = 3  # of 90
MOST_LOST = 10  # of 90, on average over misconceptions
FORMS = [(name, form) for name in names() for form in find(name).forms]
SAMPLE = [
    ("smooth", None),
    ("first plus product", "cotangent times first"),
    ("exp of sum", "cotangent, hardly changed"),
]
GUESSES = [
    *product(guessing.FORWARDS, [None]),
    *product(["smooth", "zeros", "mean"], guessing.GRADIENTS),
]


def points(job):
    name, form, forward, gradient = job
    assignment = find(name)
    result = judged(guessing.hand_in_of(assignment, form, forward, gradient), assignment, form=form)
    return result.score, result.flags, result.reason


def refuse_points(jobs):
    found = zip(parallel.over(points, jobs), jobs, strict=True)
    assert [
        (job, earned) for (earned, *_), job in found if earned is None or earned > MOST_FOR_A_GUESS
    ] == []


@needs_box
def test_a_guess_earns_nothing():
    forms = {name: list(find(name).forms) for name in names()}
    refuse_points(
        [
            (name, forms[name][at % len(forms[name])], *SAMPLE[at % len(SAMPLE)])
            for at, name in list(enumerate(forms))[::4]
        ]
    )


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_no_guess_earns_anything_in_any_form(name, form):
    refuse_points([(name, form, *guess) for guess in GUESSES])


def judged_misconception(case):
    assignment = find(case.assignment)
    return judged(f"{assignment.source()}\n{case.text}", assignment)


def verdicts_on(cases):
    """Judge misconceptions: [(case, points lost, kinds in its own task)]."""
    found = []
    for case, result in zip(cases, parallel.over(judged_misconception, cases), strict=True):
        most = sum(each.most for each in result.verdicts if each.kind != "text")
        kinds = {
            part.kind for each in result.verdicts if each.task == case.task for part in each.parts
        }
        found.append((case, most - result.score, kinds - {"ok"}))
    return found


def refuse_unfair(found):
    misnamed = [
        (case.task, case.label, kinds) for case, _, kinds in found if kinds - {*case.kinds, "wrong"}
    ]
    assert misnamed == []
    assert [(case.task, case.label) for case, _, kinds in found if not kinds] == [], (
        "these were not noticed"
    )
    assert sum(lost for _, lost, _ in found) / len(found) <= MOST_LOST


@needs_box
def test_a_misconception_costs_its_own_task_and_is_not_misnamed():
    refuse_unfair(verdicts_on(misconceptions.EVERY[::7]))


@needs_box
@pytest.mark.slow
def test_all_misconceptions():
    refuse_unfair(verdicts_on(misconceptions.EVERY))
