"""Every exercise: wrong answers are refused with a true name or none, right ones pass in any form.

``answers/`` has a table of wrong answers for each chapter.  An entry is a piece of text of the
reference, the wrong text in its place, and the name of the mistake, if the verdict has one.  Names
are kinds of mistakes, or for a number the sentence about it.  The folders have whole chapters that
are solved in another way than the reference.
"""

import warnings
from collections import Counter

import pytest
from answering import (
    ANSWERS,
    Judge,
    names_in,
    says_only_that_it_is_wrong,
    with_mistake,
    wrong_answers,
)
from quick import quick

from ibpcl.learn.chapters import chapter_of, chapters

FORMS = sorted(ANSWERS.glob("chapter_*/right_*.py"))
FEWEST_WRONG = 5
FEWEST_RIGHT = 3
# Exercises whose mistakes take seconds to name.
SLOW = {"6.1", "6.2", "7.2", "7.4", "8.2", "8.3", "8.5", "16.1", "16.2", "16.4"}
TABLE = list(wrong_answers())


@pytest.fixture
def judge(monkeypatch, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # wrong answers overflow
        yield Judge(monkeypatch, tmp_path)


def chosen():
    """Yield the first wrong answer of each exercise, and one of each further name."""
    names = set()
    for first in (True, False):
        for chapter, exercise, wrong in TABLE:
            for one in wrong[:1] if first else wrong[1:]:
                told = set(one[2].split(", ") if one[2:] else ())
                if exercise not in SLOW and (first or told - names):
                    names |= told
                    yield pytest.param(chapter, exercise, one, id=exercise)


@pytest.mark.parametrize(("chapter", "exercise", "wrong"), list(chosen()))
def test_a_wrong_answer_is_refused_with_a_true_name_or_none(judge, chapter, exercise, wrong):
    assert_refused(judge, chapter, exercise, wrong)


@pytest.mark.slow(reason="a minute; the test command has one for each exercise and for each name")
@pytest.mark.parametrize(
    ("chapter", "exercise", "wrong"), TABLE, ids=[exercise for _, exercise, _ in TABLE]
)
def test_all_wrong_answers_are_refused_with_a_true_name_or_none(judge, chapter, exercise, wrong):
    for one in wrong:
        assert_refused(judge, chapter, exercise, one)


def assert_refused(judge, chapter, exercise, wrong):
    old, new, *named = wrong
    checked = judge(chapter, with_mistake(chapter, exercise, old, new), exercise)[exercise]
    assert not checked.ok, new
    if any(verdict.parts for verdict in checked.verdicts):
        expected = set(named[0].split(", ")) if named else set()
        assert names_in(checked) == expected, (new, checked.lines)
    elif named:
        assert named[0] in checked.lines
    else:
        plain = checked.state in ("missing", "raises") or "must take" in checked.lines[0]
        assert plain or says_only_that_it_is_wrong(checked.lines[0]), (new, checked.lines)


def named(path):
    return f"{path.parent.name}-{path.stem}"


def rarest_of_each_chapter():
    """Return the name of one form of each chapter, so that all but a few kinds of forms occur."""
    stems = Counter(path.stem for path in FORMS)
    common_first = sorted(FORMS, key=lambda path: -stems[path.stem])
    return map(named, {path.parent: path for path in common_first}.values())


@pytest.mark.parametrize(
    "path",
    quick(
        rarest_of_each_chapter(), FORMS, "a chapter each; the test command has one of each", named
    ),
)
def test_right_answers_in_unusual_forms_pass(judge, path):
    chapter = chapter_of(path.parent.name[-2:])
    checked = judge(chapter, path.read_text(encoding="utf-8"))
    assert [(name, each.lines) for name, each in checked.items() if not each.ok] == []


def test_every_exercise_has_wrong_and_right_answers():
    few = [exercise for _, exercise, wrong in TABLE if len(wrong) < FEWEST_WRONG]
    assert few == []
    for chapter in chapters():
        forms = [path for path in FORMS if path.parent.name == chapter.assignment.name]
        assert len(forms) >= FEWEST_RIGHT, chapter.assignment.name


ROWS = "rows = windows.reshape(*windows.shape[:-3], height * width * x.shape[-1])"


WRONG_PATCHES = {
    "other order": (ROWS, "rows = np.moveaxis(windows, -1, -3).reshape(*windows.shape[:-3], -1)"),
    "ones": (ROWS, "rows = np.ones((*windows.shape[:-3], height * width * x.shape[-1]))"),
    "last patch only": (
        "j : j + stride * across : stride, :] += (",
        "j : j + stride * across : stride, :] = (",
    ),
}


@pytest.mark.parametrize(
    ("old", "new"),
    quick(
        ["ones"],
        [pytest.param(*case, id=name) for name, case in WRONG_PATCHES.items()],
        "each takes seconds, and the judge does the same",
    ),
)
def test_a_right_function_is_not_blamed_for_a_wrong_one_of_its_file(judge, old, new):
    chapter = chapter_of(16)
    source = chapter.assignment.source()
    assert source.count(old) == 1
    checked = judge(chapter, source.replace(old, new))
    assert not checked["16.1"].ok
    assert checked["16.2"].ok, checked["16.2"].lines
    assert any("right for your own patches" in line for line in checked["16.2"].lines)


def test_a_right_function_of_wrong_parts_can_still_be_wrong(judge):
    chapter = chapter_of(16)
    source = chapter.assignment.source()
    wrong = source.replace(ROWS, ROWS.replace("rows =", "rows = 1 +"))
    wrong = wrong.replace(
        "return dx, dmatrix.reshape(shape), db", "return dx, dmatrix.reshape(shape), -db"
    )
    assert not judge(chapter, wrong)["16.2"].ok


def test_a_result_that_is_zero_at_one_point_depends_on_its_inputs(judge):
    chapter = chapter_of(14)
    best = "best = R[:-1, :-1].max(axis=0)"
    checked = judge(
        chapter, with_mistake(chapter, "14.3", best, best.replace(":-1, ", ":, ")), "14.3"
    )
    lines = checked["14.3"].lines
    assert any("it is zero, which is wrong" in line for line in lines), lines
    assert not any("does not depend" in line for line in lines)


def test_no_verdict_quotes_a_line_that_is_not_the_students(judge):
    chapter = chapter_of(5)
    slope = "return dweights * (1 - power - UNITS * power / (alpha + 1))"
    wrong = with_mistake(chapter, "5.2", slope, slope.replace("- UNITS", "+ UNITS"))
    lines = judge(chapter, wrong, "5.2")["5.2"].lines
    assert any("one term has the wrong sign" in line for line in lines), lines
    assert not any("`" in line or "of the forward" in line for line in lines)


def test_a_wrong_value_at_extreme_inputs_comes_with_one_of_them(judge):
    chapter = chapter_of(0)
    shift = "e = np.exp(x - x.max())"
    lines = judge(chapter, with_mistake(chapter, "0.1", shift, "e = np.exp(x)"), "0.1")["0.1"].lines
    assert any("for instance nan at [0] (x = " in line for line in lines), lines
