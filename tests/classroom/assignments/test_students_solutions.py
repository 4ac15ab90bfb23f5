"""Solutions that were written from a stub and its statement alone, in another way than the
reference, earn full points.

Each file of ``students/`` is what was handed in first, NUMBER_VARIANT; it is added to the stub.
"""

from pathlib import Path

import pytest
from classroom_common import BOX
from quick import quick

from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.judging import similarity
from ibpcl.classroom.judging.judge import judge
from ibpcl.classroom.judging.running import parallel

SOLUTIONS = sorted(Path(__file__).with_name("students").glob("*.py"))


def judged(job):
    path, key = job
    number, variant = path.stem.split("_", 1)
    assignment = find(number)
    text = stub(assignment, variant).replace(
        'DERIVATION = r"""\n"""', 'DERIVATION = """By the chain rule."""'
    )
    return judge(
        assignment,
        submission_of(assignment, text + "\n\n" + path.read_text()),
        BOX,
        key,
        variant,
        figures=False,
    )


def wrong(results):
    return [
        f"{result.assignment}: {verdict.task}: {verdict.words} {verdict.details}"
        for result in results
        for verdict in result.verdicts
        if verdict.state not in ("right", "by hand")
    ]


@pytest.mark.parametrize(
    "path",
    quick(
        ["04_reversed"],
        SOLUTIONS,
        "the same judge reads every solution",
        name=lambda path: path.stem,
    ),
)
def test_a_solution_written_from_the_statement_earns_full_points(path):
    result = judged((path, b"the key of a course"))
    assert result.score == 90 and not result.flags, wrong([result])


def test_who_works_alone_is_not_taken_for_a_copyist():
    for path in SOLUTIONS:
        number, variant = path.stem.split("_", 1)
        assignment = find(number)
        submissions = {"alone": path.read_text(), "copied": assignment.source(variant)}
        assert [pair.first for pair in similarity.copied(submissions, assignment)] == ["copied"], (
            path.stem
        )
        assert not similarity.pairs(submissions), path.stem


@pytest.mark.slow(reason="judges each solution with twenty keys")
def test_and_it_does_so_with_any_key():
    jobs = [
        (path, f"the key of course {number}".encode()) for path in SOLUTIONS for number in range(20)
    ]
    results = list(parallel.over(judged, jobs))
    assert all(result.score == 90 and not result.flags for result in results), wrong(results)
