"""Every exercise: wrong answers are refused with a true name or none, right ones pass in any form.

``answers/`` has a table of wrong answers for each chapter.  An entry is a piece of text of the
reference, the wrong text in its place, and the name of the mistake, if the verdict has one.  Names
are kinds of mistakes, or for a number the sentence about it.  A fourth text is the sentence of the
chapter's own list of mistakes, if the wrong text is another form of one of these.  The folders have
whole chapters that are solved in another way than the reference.
"""

import re
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

from ibpcl.classroom.assignments.mistakes import mistakes
from ibpcl.classroom.judging.naming.mutants import listed
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.verify import check_value

FORMS = sorted(ANSWERS.glob("chapter_*/right_*.py"))
FEWEST_WRONG = 5
FEWEST_RIGHT = 3
# Exercises whose mistakes take seconds to name.
SLOW = {"6.1", "6.2", "7.2", "7.4", "8.2", "8.3", "8.5", "16.1", "16.2", "16.4"}
TABLE = list(wrong_answers())
# Exercises whose usual mistakes have names in the list of their chapter, with the number of names.
LISTED = Counter(
    re.sub("[a-z]$", "", mistake["task"])
    for chapter in chapters()
    for mistake in mistakes(chapter.assignment)
    if "words" in mistake
)


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


@pytest.mark.parametrize(
    "exercise",
    quick(
        ["10.3", "14.1", "14.2", "14.3", "14.6", "15.2", "15.3", "18.1"],
        LISTED,
        "a second; all of them in half a minute",
    ),
)
def test_the_chapters_own_names_are_given_to_their_mistakes_alone(judge, exercise):
    chapter = chapter_of(exercise.partition(".")[0])
    names = {
        with_mistake(chapter, exercise, each["replace"], each["by"]): (each["words"], each["kinds"])
        for each in mistakes(chapter.assignment)
        if "words" in each and re.fullmatch(f"{exercise}[a-z]?", each["task"])
    }
    (others,) = [wrong for _, number, wrong in TABLE if number == exercise]
    texts = {with_mistake(chapter, exercise, *each[:2]): "".join(each[3:]) for each in others}
    assert len({words for words, _ in names.values()}) == LISTED[exercise]
    assert len([text for text in texts if not texts[text] and text not in names]) >= 3  # controls
    for text, expected in (texts | {text: words for text, (words, _) in names.items()}).items():
        checked = judge(chapter, text, exercise)[exercise]
        told = [words for words, _ in names.values() if words in " ".join(checked.lines)]
        assert told == [expected] * bool(expected), text
        assert text not in names or names_in(checked) == set(names[text][1]), checked.lines


def test_a_name_of_the_list_holds_for_its_task_and_its_variant_alone():
    assignment = chapter_of("14").assignment
    entries = [each for each in mistakes(assignment) if "words" in each]
    for task in assignment.tasks:
        own = [each["words"] for each in entries if each["task"] == task.id]
        assert [mutant.words for mutant in listed(assignment, task, "base")] == own
        assert list(listed(assignment, task, "another")) == []


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
    twice = [
        exercise for _, exercise, wrong in TABLE if len({each[:2] for each in wrong}) < len(wrong)
    ]
    assert twice == []
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
    # zero where the last row is the best one, and a mistake without a name
    twice = "best = 2 * R[:, :-1].max(axis=0) - R[-1, :-1]"
    checked = judge(chapter, with_mistake(chapter, "14.3", best, twice), "14.3")
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


def test_answers_that_overflow_the_judge_print_no_warning(judge):
    chapter = chapter_of(5)
    power = "power = np.exp(UNITS * (np.log(alpha) - np.log(alpha + 1)))"
    wrong = with_mistake(chapter, "5.2", power, "power = (alpha / (alpha + 1)) ** (UNITS - 1)")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert not judge(chapter, wrong, "5.2")["5.2"].ok
    assert [str(each.message) for each in seen if each.category is RuntimeWarning] == []


def test_a_random_function_is_named_and_its_gradient_is_not_blamed(judge):
    chapter = chapter_of(0)
    shift = "e = np.exp(x - x.max())"
    noise = "x = x + np.random.default_rng().normal(size=x.shape)\n    "
    checked = judge(chapter, with_mistake(chapter, "0.1", shift, noise + shift), "0.1")["0.1"]
    words = {verdict.task: " ".join(verdict.words) for verdict in checked.verdicts}
    assert "draws random numbers" in words["0.1a"]
    assert words["0.1b"] == "not judged because softmax draws random numbers"
    # a control: a wrong function that draws nothing
    wrong = with_mistake(chapter, "0.1", shift, "e = np.exp(2 * x)")
    assert not any("random" in line for line in judge(chapter, wrong, "0.1")["0.1"].lines)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("np.sqrt(d.size)", "np.sqrt(d.size) / 3", {"error"}),
        ("d.mean(), ", "d.max(), ", {"mean"}),
        ("d = one - other", "d = other - one", set()),  # both results
    ],
)
def test_a_verdict_on_several_results_tells_which_are_wrong(judge, old, new, wrong):
    chapter = chapter_of(14)
    line = judge(chapter, with_mistake(chapter, "14.6", old, new), "14.6")["14.6"].lines[0]
    told = {name for name in ("mean", "error") if f" {name}: " in line or f"your {name} " in line}
    assert told == wrong, line


@pytest.mark.parametrize(
    ("exercise", "old", "new", "words"),
    [
        ("3.5", "return np.array([0.1]), 1.0", "return (0.0,)", "must return a tuple (x, delta)"),
        ("3.2", 'return "b"', "return np.ones(2)", "must return one of a, b"),
        ("16.9", "np.array([0.0, 1.0, 3.0, 2.0, 1.0])", "'abc'", "must return x"),
        ("16.9", "np.array([0.0, 1.0, 3.0, 2.0, 1.0])", "[0.0, 1.0, 3.0, 2.0, 1.0]", "right"),
    ],
)
def test_an_answer_of_another_type_is_taken_or_told_what_is_missing(
    judge, exercise, old, new, words
):
    chapter = chapter_of(exercise.partition(".")[0])
    checked = judge(chapter, with_mistake(chapter, exercise, old, new), exercise)[exercise]
    assert checked.ok == (words == "right")
    assert words in checked.lines[0]


NUMBERS = [
    (chapter, exercise, tasks[0])
    for chapter in chapters()
    for exercise, tasks in chapter.exercises.items()
    if tasks[0].kind == "number"
]


@pytest.mark.parametrize(
    ("chapter", "exercise", "task"), NUMBERS, ids=[exercise for _, exercise, _ in NUMBERS]
)
def test_a_verdict_on_a_number_does_not_give_it_away(judge, chapter, exercise, task):
    right = float(getattr(chapter.assignment.reference(), task.function)())
    for wrong in (1.7 * right, 0.61 * right, 23 * right, right / 31, -1.9 * right):
        source = f"def {task.function}():\n    return {wrong!r}\n"
        (line,) = judge(chapter, source, exercise)[exercise].lines
        assert not tells(line, wrong, right), line
        assert ("too large" in line) == (wrong > right)
    assert tells(check_value(1.7 * right, right).words, 1.7 * right, right)  # a control


def tells(line, wrong, right):
    """Return whether a number in a verdict is the right one, or its difference from the answer."""
    told = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", line)]
    return any(
        abs(guess - right) < 1e-3 * right
        for each in told
        for guess in (each, wrong - each, wrong + each)
    )
