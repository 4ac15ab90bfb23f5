"""Hints with the line of a mistake: from a second run in the box that can change no points."""

import functools
import json

import here
import pytest
from classroom_common import BOX, KEY, first, judged, needs_box, verdict

from ibpcl.classroom.authoring import selftest
from ibpcl.classroom.feedback.student_page import feedback, lines
from ibpcl.classroom.judging.running import cleaning, client
from ibpcl.classroom.judging.running import lines as places
from ibpcl.verify import check

SOURCE = first().source()
FACTOR = (
    "return dmu, dscale, -dmu.sum(axis=0), -ddivergence * (excess + shift * shift).sum()",
    (
        "dmu = 0.7310 * dmu\n    return dmu, dscale, -dmu.sum(axis=0), -ddivergence * (excess + "
        "shift * shift).sum()"
    ),
)
INNER = ("    return mu + noise, noise", "    return mu + noise, eps")
SIGN = ("return dv.sum(axis=0), (dv * noise)", "return -dv.sum(axis=0), (dv * noise)")
# Reaches the checker where it is: in the second run only.
CHECKER = check.__module__
BACK_DOOR = f'''
_close = next(c for c in object.__subclasses__() if c.__name__ == "_wrap_close")
_sys = _close.__init__.__globals__["sys"]
try:
    _verify = _sys.modules["importlib"].import_module("{CHECKER}")
except ImportError:
    _verify = None
'''


def line_of(text, piece):
    return text[: text.index(piece)].count("\n") + 1


def located(*changes, more="", public_only=True):
    text = SOURCE
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text + more, judged(text + more, locate=True, public_only=public_only)


@functools.cache
def score(change):
    with here.judged_here():
        return judged(SOURCE.replace(*change), public_only=True).score


def test_a_public_task_shows_the_line_and_the_sentence_where_the_level_allows_it():
    text, result = located(INNER)
    told = verdict(result, "1b").lines
    assert told == [
        "scale: an elementwise factor is missing: `np.exp(scale)` beside `dv`; look at line "
        f"{line_of(text, 'return dv.sum')} of gaussian_weights.py: "
        + text.splitlines()[line_of(text, "return dv.sum") - 1].strip()
    ]
    for level in ("none", "kind", "line", "full"):
        shown = "\n".join(lines(result, level))
        assert (told[0] in shown) == (level in ("line", "full"))
    assert result.score == score(INNER)


@pytest.mark.slow(reason="judges a whole hand-in twice")
def test_a_hidden_task_shows_the_line_only():
    text, result = located(FACTOR, public_only=False)
    place = f"mu: line {line_of(text, 'dmu = 0.7310')} of gaussian_weights.py"
    assert verdict(result, "1f").lines[0].startswith(place)
    text, result = located(
        ("dscale = dlog_p * (standard * standard - 1)", "dscale = dlog_p * standard * standard"),
        public_only=False,
    )
    assert verdict(result, "1d").lines == [
        f"scale: look at line {line_of(text, 'dscale = dlog_p')} of gaussian_weights.py"
    ]


@pytest.mark.slow(reason="judges a whole hand-in twice")
def test_the_line_of_a_sign_is_that_which_makes_the_gradient():
    text, result = located(SIGN)
    (sentence,) = verdict(result, "1b").lines
    place = f"line {line_of(text, 'return -dv')} of gaussian_weights.py"
    assert sentence.startswith("mu: ") and place in sentence


@pytest.mark.slow(reason="judges a whole hand-in twice")
def test_where_no_line_is_found_the_second_hint_is_shown():
    scrambled = (
        "return np.sort(dv, axis=0).cumsum(axis=0)[-1] ** 2 + np.cos(noise[0]), (dv * noise)"
    )
    _, result = located((SIGN[0], scrambled))
    found = verdict(result, "1b")
    assert found.lines == [] and f"    hint: {first().task('1b').hints[1]}" in lines(result, "line")


@pytest.mark.processes(reason="what it forges would be forged for all tests")
@needs_box
def test_what_a_hand_in_forges_in_the_second_run_is_escaped_and_changes_no_points():
    forged = (
        BACK_DOOR
        + '''
if _verify is not None:
    class _Item:
        name, ok, where = "mu", False, "line 3: LEAK"
        words = "<script>" + "\\x1b[31m" + "x" * 5000
    class _Report:
        inputs = [_Item]
    _verify.check = lambda *_, **__: _Report
'''
    )
    _, result = located(SIGN, more=forged)
    found = verdict(result, "1b").lines[0]
    assert found.startswith("mu: <script> [31mxxx") and len(found) < 2 * cleaning.MOST
    page = feedback(result, first(), "full")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "LEAK" not in page + json.dumps(result.to_dict()) and "\x1b" not in "\n".join(
        lines(result, "full")
    )
    assert result.score == score(SIGN)


@pytest.mark.parametrize(
    "found",
    [
        None,
        5,
        "text",
        [1],
        [("mu", "words")],
        [("mu", "words", "line 999999: x")],
        [("mu", "words", "line 0")],
        [("tau", "words", "line 3")],
        [("mu", 1, "line 3")],
    ],
)
def test_what_is_no_answer_is_passed_over(found):
    assert places.places(found, first().task("1b"), selftest.submission_of(first(), SOURCE)) == {}


@pytest.mark.slow(reason="it computes until a limit ends it")
@needs_box
def test_a_hand_in_that_hangs_in_the_second_run_is_graded_all_the_same(monkeypatch):
    hangs = BACK_DOOR + "\nwhile _verify is not None:\n    pass\n"

    def second(*arguments, **options):
        with monkeypatch.context() as patched:
            patched.setattr(client, "STARTING", 2.0)
            return client.Worker(*arguments, **options)

    monkeypatch.setattr(places, "Worker", second)
    _, result = located(SIGN, more=hangs)
    assert result.status == "graded" and result.score == score(SIGN)
    assert "of gaussian_weights.py" in verdict(result, "1b").lines[0]


@pytest.mark.slow(reason="judges a whole hand-in twice")
@needs_box
def test_the_second_run_has_the_checker_and_no_derivation():
    from ibpcl.classroom.judging.running.client import SubmissionError, Worker

    names = [
        CHECKER,
        "ibpcl.primitives",
        "ibpcl.primitives.gaussian",
        "ibpcl.classroom.assignments.assignment",
        "numba",
    ]
    text = (
        BACK_DOOR
        + "\ndef found(at):\n    _sys.modules['importlib'].import_module("
        + repr(names)
        + "[at])\n"
    )
    with Worker(text, "spy.py", BOX, library=places.library()) as worker:
        assert worker.plain("found", (0,)) is None
        for at in range(1, len(names)):
            with pytest.raises(SubmissionError, match="ModuleNotFoundError"):
                worker.plain("found", (at,))


@pytest.mark.parametrize(
    ("level", "asked"), [("none", False), ("kind", False), ("line", True), ("full", True)]
)
def test_grading_asks_for_lines_only_where_the_level_does(level, asked, tmp_path, monkeypatch):
    from ibpcl.classroom import grading
    from ibpcl.classroom.judging.verdict import Result

    seen = []
    monkeypatch.setattr(
        grading,
        "judge",
        lambda assignment, submission, box, key, locate, scheme: (
            seen.append(locate)
            or Result(assignment.name, submission.student, "base", submission.sha256, "not graded")
        ),
    )
    (tmp_path / "hand-ins").mkdir()
    (tmp_path / "hand-ins" / "ada.py").write_text(SOURCE)
    grading.grade(first(), tmp_path / "hand-ins", tmp_path / "out", BOX, KEY, level, jobs=1)
    assert seen == [asked]
