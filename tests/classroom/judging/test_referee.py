"""The referee: other exhibits for each student, and points for naming, locating, mending and
refuting them.
"""

import resource
from pathlib import Path

import numpy as np
import pytest
from classroom_common import BOX, KEY, judged, verdict
from quick import quick

from ibpcl.classroom.assignments import PUBLIC
from ibpcl.classroom.assignments import assignment as assignments
from ibpcl.classroom.assignments.assignment import find, module
from ibpcl.classroom.authoring import selftest
from ibpcl.classroom.authoring.handout import blank, new
from ibpcl.classroom.judging import referee
from ibpcl.classroom.judging.comparing import as_tuple
from ibpcl.classroom.judging.judge import judge
from ibpcl.errors import UserError

TOY = find(str(Path(__file__).parent / "toys" / "80_toy_referee"))
MISTAKES = referee.chosen(TOY, KEY, "selftest")


def solution():
    return selftest.solution(TOY, key=KEY)


def test_the_gate_holds():
    outcomes = list(selftest.run(TOY, BOX, jobs=1))
    assert len(outcomes) == 6 and all(each.ok and each.named is not False for each in outcomes), (
        outcomes
    )


def test_students_get_different_exhibits_and_always_the_same():
    every = {str(referee.chosen(TOY, KEY, f"student {n}")) for n in range(30)}
    assert len(every) == 6  # ordered pairs of three
    assert all(referee.chosen(TOY, KEY, "ada") == referee.chosen(TOY, KEY, "ada") for _ in range(3))


def test_the_lines_are_those_of_the_file_that_is_handed_out(tmp_path):
    new(TOY, tmp_path, "selftest", KEY)
    handed_out = (tmp_path / "exhibits.py").read_text().splitlines()
    _, lines = referee.exhibits(TOY, MISTAKES, KEY, "selftest")
    mended = referee.exhibits(TOY, MISTAKES, KEY, "selftest", mended=True)[0].splitlines()
    differ = [
        n for n, rows in enumerate(zip(handed_out, mended, strict=True), 1) if len({*rows}) > 1
    ]
    assert differ == sorted(lines.values())


def test_the_stub_names_the_function_of_each_task():
    text = blank(TOY, "base", "selftest", KEY)
    for task, mistake in MISTAKES.items():
        assert f'"{task}": {{"kind": "", "line": 0}},        # {mistake["function"]}_vjp\n' in text
        assert f"refute {mistake['function']}_vjp" in text[text.index(f"def proof_{task}") :]


def test_exhibits_that_were_handed_out_are_not_taken_for_a_copy():
    from ibpcl.classroom.judging import similarity

    eighth = find("8")
    text = selftest.solution(eighth, key=KEY)
    assert similarity.copied({"ada": text}, eighth) == []
    assert referee.pasted(eighth, text) == []


@pytest.mark.slow(reason="judges a hand-in for one flag")
def test_the_package_s_own_text_is_flagged():
    eighth = find("8")
    text = selftest.solution(eighth, key=KEY)
    own = text + eighth.source()[eighth.source().index("def attention_vjp") :]
    flags = judged(own, eighth, figures=False).flags
    assert any("attention_vjp" in flag and flag.startswith("line ") for flag in flags), flags


def test_no_line_of_an_exhibit_is_a_line_of_the_bank():
    eighth = find("8")
    bank = {line.strip() for line in eighth.source().splitlines() if " = " in line}
    shares = []
    for student in "abcdefgh":
        text, _ = referee.exhibits(eighth, referee.chosen(eighth, KEY, student), KEY, student)
        lines = [line.strip() for line in text.splitlines() if " = " in line]
        shares.append(sum(line in bank for line in lines) / len(lines))
    assert max(shares) < 0.35  # short lines such as ``dx = np.zeros_like(x)`` have no other words


def test_rewritten_exhibits_compute_the_same_numbers_bit_for_bit():
    eighth = find("8")
    for student in "abc":
        chosen = referee.chosen(eighth, KEY, student)
        text, _ = referee.exhibits(eighth, chosen, KEY, student, mended=True)
        made = module(text, "exhibits_of_a_test")
        for mistake in chosen.values():
            inputs = eighth.maker(mistake["inputs"])(np.random.default_rng(0), "odd").values()
            for name in (mistake["function"],):
                out, cache = getattr(made, name)(*inputs)
                other, kept = getattr(eighth.reference(), name)(*inputs)
                assert np.array_equal(out, other)
                dout = np.ones_like(out)
                gradients = getattr(made, f"{name}_vjp")(dout, cache)
                truths = getattr(eighth.reference(), f"{name}_vjp")(dout, kept)
                assert all(map(np.array_equal, as_tuple(gradients), as_tuple(truths)))


def test_without_the_teachers_files_students_check_and_teachers_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(assignments, "TEACHER", None)
    assignments.load.cache_clear()
    try:
        eighth = find("8")
        with pytest.raises(UserError, match="ibpcl-teacher"):
            new(eighth, tmp_path, "ada", KEY)
        assert judged("x = 1\n", eighth, key=PUBLIC, public_only=True).status == "graded"
    finally:
        assignments.load.cache_clear()


@pytest.mark.slow(reason="judges four hand-ins")
def test_each_part_of_an_answer_has_its_share():
    text = solution()
    assert judged(text, TOY).score == 20
    for old, share in (('"line": ', 0.25), ('"kind": ', 0.25)):
        spoiled = text.replace(old.replace('"', "'"), old.replace('"', "'") + "'x' and ", 1)
        assert "and" in spoiled
        # An answer that is not a literal is no answer: both tasks lose kind and line.
        assert judged(spoiled, TOY).score == 20 - 2 * 2 * 10 * share
    assert judged(unmended(text), TOY).score == pytest.approx(20 * 0.65)


def unmended(text):
    """Return a solution with the exhibits as they were handed out."""
    planted, _ = referee.exhibits(TOY, MISTAKES, KEY, "selftest")
    return planted + text[text.index("\n\nfrom numpy import array") :]


def test_kind_and_proof_alone_can_be_guessed_and_earn_nothing():
    _, lines = referee.exhibits(TOY, MISTAKES, KEY, "selftest")
    guess = unmended(solution())
    for line in lines.values():
        guess = guess.replace(f"'line': {line}", "'line': 1")
    result = judged(guess, TOY)
    assert result.score == 0
    assert [part.kind for part in verdict(result, "80a").parts] == [
        "not_counted",
        "wrong",
        "wrong",
        "not_counted",
    ]
    assert judged(unmended(solution()), TOY).score == pytest.approx(20 * 0.65)


def test_a_kind_that_the_statement_does_not_name_earns_nothing():
    text = solution()
    mistake = next(each for each in MISTAKES.values())
    answered = text.replace(f"'kind': {mistake['kinds'][0]!r}", "'kind': 'wrong'", 1)
    toy = {**mistake, "kinds": [*mistake["kinds"], "wrong"]}
    task = next(iter(MISTAKES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(referee, "chosen", lambda *_: {**MISTAKES, task: toy})
        assert judged(answered, TOY).score == pytest.approx(20 - 10 * 0.25)
        assert judged(text, TOY).score == 20


def test_the_exhibits_as_they_were_earn_nothing_and_the_feedback_says_why():
    result = judged(blank(TOY, "base", "selftest", KEY), TOY)
    assert result.score == 0
    words = verdict(result, "80a").words
    assert [line.partition(":")[0] for line in words] == [
        "kind",
        "line",
        "mended gradient",
        "proof",
    ]
    assert "not filled in" in words[-1]


@pytest.mark.parametrize(
    "given",
    quick(
        ["(np.zeros(20_000),), 1.0", "('a',), 1.0"],
        [
            "(10 ** 12,), 1.0",
            "(np.zeros(20_000),), 1.0",
            "('a',), 1.0",
            "5",
            "None, None",
            "(np.ones(2) * 1j,), 1.0",
        ],
        "each judges a hand-in; one is too large, and one is no number",
    ),
)
def test_a_proof_must_be_numbers_that_the_judge_can_compute_with(given):
    text = solution() + "".join(
        f"\n\ndef proof_{task}():\n    return {given}\n" for task in MISTAKES
    )
    assert judged(text, TOY).score == pytest.approx(20 * 0.85)


def test_a_point_where_the_planted_gradient_is_right_refutes_nothing():
    text = solution()
    for task, mistake in MISTAKES.items():
        inputs = (
            "(np.zeros(3),)" if mistake["function"] != "gate" else "(np.zeros((1, 3)), np.zeros(3))"
        )
        text += f"\n\ndef proof_{task}():\n    return {inputs}, 0.0\n"
    proofs = [
        part.words
        for each in judged(text, TOY).verdicts
        for part in each.parts
        if part.name == "proof"
    ]
    assert all(
        "is right at" in words or "cannot be evaluated" in words or not words for words in proofs
    )


@pytest.mark.parametrize(
    "shapes",
    quick(
        ["((9000,), (9, 1), (5, 1, 1), (1,))"],
        ["((80, 1, 1, 1), (80, 1, 1), (80, 1), (80,))", "((9000,), (9, 1), (5, 1, 1), (1,))"],
        "each judges a hand-in, whose entries are counted in one place",
    ),
)
def test_point_of_a_proof_that_would_take_gigabytes_is_refused(shapes):
    assignment = find("8")
    chosen = {f"s{at}": referee.chosen(assignment, KEY, f"s{at}") for at in range(200)}
    student, task = next(
        (student, task)
        for student, mistakes in chosen.items()
        for task, mistake in mistakes.items()
        if mistake["function"] == "student_t"
    )
    text = (
        f"import numpy as np\n\n\ndef proof_{task}():\n    return [np.ones(n) for n in {shapes}], "
        "1.0\n"
    )
    submission = selftest.submission_of(assignment, text)._replace(student=student)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = judge(assignment, submission, "none", KEY, figures=False)
    assert "more than 200000 entries" in " ".join(verdict(result, task).words)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_point_with_nan_refutes_nothing():
    def largest(x):
        return np.max(x), x

    def first_of_the_largest(dout, x):
        return (dout * (np.arange(len(x)) == np.argmax(x)),)

    def all_of_the_largest(dout, x):
        return (dout * (x == np.max(x)),)

    pairs = [(largest, first_of_the_largest), (largest, all_of_the_largest)]
    assert "finite" in referee.refutes(pairs, (np.array([1.0, np.nan]),), 1.0)
    assert referee.refutes(pairs, (np.array([1.0, 1.0]),), 1.0) == ""
