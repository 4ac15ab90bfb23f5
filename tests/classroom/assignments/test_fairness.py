"""A right solution loses nothing, whatever the key: the reference at the inputs of many students,
without a box.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from quick import quick

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.judging.forwards import judge_extremes
from ibpcl.classroom.judging.judge import Case
from ibpcl.classroom.judging.verdict import Verdict

STUDENTS = 10
ASSIGNMENTS = [
    assignment
    for assignment in map(find, names())
    if any(task.kind == "extremes" for task in assignment.tasks)
]
VARIANTS = [
    pytest.param(assignment, variant, id=f"{assignment.name}-{variant}")
    for assignment in ASSIGNMENTS
    for variant in assignment.variants
]


class Direct:
    """A session whose hand-in is a module of this process."""

    overwritten = frozenset()
    accepted = SimpleNamespace(untyped=False)

    def __init__(self, module):
        self.module = module

    def forward(self, function, inputs):
        with np.errstate(all="ignore"):
            return *getattr(self.module, function)(*inputs), 0.0

    def pull(self, function, forward, inputs, dout, cache):
        with np.errstate(all="ignore"):
            return getattr(self.module, function)(dout, cache), 0.0


@pytest.mark.parametrize(
    ("assignment", "variant"),
    quick(
        [f"{assignment.name}-{next(iter(assignment.variants))}" for assignment in ASSIGNMENTS],
        VARIANTS,
        "variants differ by a formula each, which the gate judges",
    ),
)
def test_the_reference_is_right_at_the_extremes_of_every_student(assignment, variant):
    session = Direct(assignment.reference(variant))
    for task in assignment.tasks:
        for number in range(STUDENTS if task.kind == "extremes" else 0):
            submission = submission_of(assignment, "", f"student {number}")
            verdict = Verdict.of(task)
            judge_extremes(
                task, verdict, Case(assignment, submission, b"a key", variant, session, False)
            )
            assert verdict.state == "right", (task.id, number, verdict.details)
            # and nothing is passed over at all points
            assert len(verdict.parts) == 1 + len(task.wrt)
