"""A right solution loses nothing, whatever the key: the reference at the inputs of many students,
without a box.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.judging.forwards import judge_extremes
from ibpcl.classroom.judging.judge import Case
from ibpcl.classroom.judging.verdict import Verdict

STUDENTS = 10
VARIANTS = [
    (name, variant)
    for name in names()
    for variant in find(name).variants
    if any(task.kind == "extremes" for task in find(name).tasks)
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


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_reference_is_right_at_the_extremes_of_every_student(name, variant):
    assignment = find(name)
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
