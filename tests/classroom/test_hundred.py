"""A class of a hundred is graded within five minutes on two processors."""

import time

import pytest
from classroom_common import BOX, KEY, needs_box

from ibpcl.classroom import grading
from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring import selftest
from ibpcl.classroom.authoring.handout import blank

HANG = "\n\ndef {name}(*inputs):\n    while True:\n        pass\n"


def hand_ins(assignment):
    """Yield student and text: right ones, planted mistakes, blank ones, and four whose first
    function never ends.
    """
    planted = {}
    for mistake in selftest.mistakes(assignment):
        planted.setdefault(mistake.get("variant", "base"), []).append(mistake)
    for number in range(100):
        student = f"student{number:03}"
        variant = variants.variant_of(assignment, KEY, student)
        text = selftest.solution(assignment, variant, KEY, student)
        if number % 10 == 9:
            text = blank(assignment, variant, student, KEY)
        elif number % 25 == 7:
            text += HANG.format(name=assignment.tasks[0].function or "proof_8a")
        elif number % 10 > 1 and variant in planted and "task" in planted[variant][0]:
            text = selftest.planted(assignment, planted[variant][number % len(planted[variant])])
        yield student, text


@needs_box
@pytest.mark.slow(reason="judges a hundred hand-ins per assignment")
@pytest.mark.parametrize("name", names())
def test_a_hundred_hand_ins(name, tmp_path):
    assignment = find(name)
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    for student, text in hand_ins(assignment):
        (folder / f"{student}.py").write_text(text)
    start = time.monotonic()
    results = grading.grade(assignment, folder, tmp_path / "out", BOX, KEY, jobs=2)
    seconds = time.monotonic() - start
    print(f"{name}: 100 hand-ins in {seconds:.0f} s ({BOX})")
    assert all(result.status == "graded" for result in results)
    assert seconds < 300
