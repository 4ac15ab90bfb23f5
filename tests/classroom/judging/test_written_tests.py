"""A written test earns points for the wrong gradients that it rejects, and none for tricks."""

import re

import pytest

from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.authoring import selftest
from ibpcl.classroom.judging.judge import judge

ASSIGNMENT = find("10_write_the_test")
CHECK = "    return _close(gradient, np.reshape(slope, value.shape))\n"


def judged(source, key=selftest.KEY):
    result = judge(
        ASSIGNMENT, selftest.submission_of(ASSIGNMENT, source), "none", key, "base", figures=False
    )
    assert result.status == "graded", result.reason
    return {verdict.task: verdict for verdict in result.verdicts}


def changed(*changes):
    """Return the solution with some texts replaced, each of which occurs once."""
    source = ASSIGNMENT.source()
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def test_the_solution_rejects_every_wrong_gradient_for_every_student():
    for key in (selftest.KEY, b"another course"):
        verdicts = judged(ASSIGNMENT.source(), key)
        assert sum(verdict.points for verdict in verdicts.values()) == 88
        assert all(
            int(re.search(r"of (\d+)", v.words[0])[1]) > 15
            for v in verdicts.values()
            if v.kind == "test"
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CHECK, "    return False\n"),
        # it recognizes the last digits of one formula
        (
            "    return _agrees(standardize, x, dout, dx)\n",
            "    mine = standardize_vjp(dout, standardize(x)[1])[0]\n"
            "    return bool(np.array_equal(np.asarray(dx), mine))\n",
        ),
    ],
    ids=["rejects everything", "recognizes the reference"],
)
def test_a_test_that_rejects_a_right_gradient_earns_nothing(old, new):
    verdict = judged(changed((old, new)))["10b"]
    assert verdict.points == 0 and verdict.state == "wrong"


def test_a_test_that_accepts_everything_earns_nothing():
    verdict = judged(changed((CHECK, "    return True\n")))["10b"]
    assert verdict.points == 0 and verdict.state == "wrong"


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        (
            "10a",
            "rng.normal(size=(4, 3)), rng.normal(size=(3, 2)), rng.normal(size=(4, 2))",
            "np.ones((3, 3)), np.ones((3, 3)), np.ones((3, 3))",
        ),
        ("10b", "rng.normal(size=(5, 3)))]", "np.ones((5, 3)))]"),
        (
            "10b",
            "2 * rng.normal(size=(5, 3)), rng.normal(size=(5, 3))",
            "np.eye(2), np.ones((2, 2))",
        ),
        ("10c", "np.array([0, 2, 2, 1]), 0.7)]", "np.array([0, 2, 2, 1]), 1.0)]"),
    ],
    ids=["ones", "ones in a column", "two examples", "one for a loss"],
)
def test_a_weak_point_costs_points(task, old, new):
    verdict = judged(changed((old, new)))[task]
    assert 0 < verdict.points < ASSIGNMENT.task(task).points and verdict.state == "partial"


def test_a_large_tolerance_costs_points_and_is_named():
    verdict = judged(changed(("<= 1e-5 * (1e-3", "<= 1e-2 * (1e-3")))["10b"]
    assert 0 < verdict.points < ASSIGNMENT.task("10b").points
    rejected, total = map(int, re.search(r"(\d+) of (\d+)", verdict.words[0]).groups())
    assert total - rejected == 1 and "tolerance" in verdict.words[0]


@pytest.mark.parametrize(
    "points",
    ["None", "[]", "[(1, 2)]", "[('a', 'b')]", "[(np.ones((9, 9)), np.ones(3))]",
     "[(np.ones((5, 3)), np.ones((5, 3)))] * 99", "[(np.full((4, 2), np.nan), np.ones((4, 2)))]",
     "[(np.zeros((500, 500)), np.zeros((500, 500)))]"],
)  # fmt: skip
def test_bad_points_are_named_and_earn_nothing(points):
    old = "    return [(2 * rng.normal(size=(5, 3)), rng.normal(size=(5, 3)))]\n"
    verdict = judged(changed((old, f"    return {points}\n")))["10b"]
    assert verdict.points == 0 and verdict.state in ("wrong", "raises")
    assert verdict.words[0]
