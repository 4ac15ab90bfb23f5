"""Partial credit with reasons: each task on its own, each input on its own, and in words."""

import json
import sys
from dataclasses import replace

import here
import numpy as np
import pytest
from classroom_common import BOX, KEY, first, judged, states, verdict

from ibpcl.classroom import grading
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.feedback.student_page import feedback, lines
from ibpcl.classroom.judging.judge import AGAIN
from ibpcl.classroom.judging.naming.mutants import mutants_of
from ibpcl.classroom.judging.running import client
from ibpcl.classroom.judging.running.inside import MOST_CACHES
from ibpcl.classroom.judging.running.session import Session
from ibpcl.classroom.judging.verdict import Result

SOURCE = first().source()


def changed(*pairs):
    """Return the reference with texts replaced."""
    text = SOURCE
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_two_right_gradients_of_four_earn_half_and_more():
    result = judged(
        changed(
            (
                (
                    "return dmu, dscale, -dmu.sum(axis=0), -ddivergence * (excess + shift * "
                    "shift).sum()"
                ),
                "return dmu, dscale",
            )
        )
    )
    found = verdict(result, "1f")
    assert found.state == "partial" and found.points == found.most / 2
    words = " ".join(found.words)
    assert "returns 2 gradients" in words and "mu, scale, prior_mu, prior_scale" in words


@pytest.mark.slow(reason="judges a whole hand-in")
def test_a_named_mistake_is_worth_more_than_an_unnamed_one():
    sign = judged(
        changed(("return dv.sum(axis=0), (dv * noise)", "return -dv.sum(axis=0), (dv * noise)"))
    )
    noise = judged(
        changed(
            (
                "return dv.sum(axis=0), (dv * noise)",
                "return np.sin(dv ** 3).sum(axis=0), (dv * noise)",
            )
        )
    )
    sign = verdict(sign, "1b")
    assert sign.points == 0.8 * sign.most and sign.parts[0].kind == "sign"
    assert sign.most / 2 <= verdict(noise, "1b").points < sign.points


def test_a_task_that_raises_does_not_sink_the_others():
    result = judged(
        changed(("    nodes = np.linspace", "    raise KeyError('oops')\n    nodes = np.linspace"))
    )
    assert states(result)["1i"] == "raises"
    assert (
        verdict(result, "1i")
        .words[0]
        .startswith("kl_by_quadrature raises KeyError: 'oops' in line ")
    )
    assert result.score == 80


@pytest.mark.slow(reason="judges a whole hand-in")
def test_what_depends_on_a_task_that_raises_is_not_judged_and_says_so():
    result = judged(
        changed(("    inverse_sigma = np.exp(-scale)\n", "    raise ValueError('no')\n"))
    )
    assert verdict(result, "1d").words == ["not judged because 1c raises"]
    assert states(result)["1g"] == "not judged" and states(result)["1f"] == "right"


def test_a_gradient_that_fits_the_own_wrong_forward_earns_most_of_its_points():
    result = judged(
        changed(("    noise = np.exp(scale) * eps ", "    noise = 2 * np.exp(scale) * eps "))
    )
    scale = verdict(result, "1b").parts[1]
    assert states(result)["1a"] != "right" and scale.follows and scale.share == 0.9
    assert "right for your own" in verdict(result, "1b").words[1]


@pytest.mark.slow(reason="judges a whole hand-in")
def test_no_credit_for_a_gradient_of_a_forward_that_is_not_the_one_asked_for():
    text = stub(first()) + (
        "\n\ndef sample(eps, mu, scale):\n    return np.zeros(eps.shape) + 1e-3 * mu, eps.shape\n"
        "\n\ndef sample_vjp(dv, cache):\n    return 1e-3 * dv.sum(axis=0), np.zeros(dv.shape[2])\n"
    )
    assert not any(part.follows for part in verdict(judged(text), "1b").parts)


def test_the_proof_must_not_use_the_closed_form():
    result = judged(
        changed(
            (
                "    nodes = np.linspace",
                "    return kl(mu, scale, prior_mu, prior_scale)[0]\n    nodes = np.linspace",
            )
        )
    )
    assert states(result)["1i"] == "raises"
    assert "must not use kl: it is a second, independent way" in verdict(result, "1i").words[0]


@pytest.mark.slow(reason="judges a whole hand-in")
def test_hidden_tasks_tell_kind_and_hint_but_no_numbers():
    result = judged(
        changed(
            (
                "dx = -dlog_p * standard * inverse_sigma",
                "dx = -dlog_p * standard * inverse_sigma * 0.7310",
            )
        )
    )
    found = verdict(result, "1d")
    assert found.words[0] == "x: constant factor" and "0.731" in " ".join(found.details)
    for level in ("none", "kind", "line", "full"):
        told = feedback(result, first(), level) + "\n".join(lines(result, level))
        assert "0.731" not in told


@pytest.mark.slow(reason="judges a whole hand-in")
def test_more_hints_at_higher_levels():
    result = judged(
        changed(("return dv.sum(axis=0), (dv * noise)", "return -dv.sum(axis=0), (dv * noise)"))
    )
    sizes = [
        sum("hint:" in line for line in lines(result, level))
        for level in ("none", "kind", "line", "full")
    ]
    assert sizes[0] == 0 and sizes[1] < sizes[2] < sizes[3]


@pytest.mark.slow(reason="judges a whole hand-in")
def test_the_page_is_self_contained_and_escapes_what_a_hand_in_says():
    text = changed(
        (
            "    noise = np.exp(scale) * eps ",
            "    raise ValueError('<script>alert(1)</script>')\n    noise = eps ",
        )
    )
    result = judged(text, figures=True)
    page = feedback(result, first(), "full")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "") and "src=" not in page.replace(
        "default-src", ""
    )


@pytest.mark.slow(reason="judges a whole hand-in")
def test_public_gradients_come_with_their_figures():
    page = feedback(judged(SOURCE, figures=True), first())
    assert page.count("<svg") == 4 and "Taylor" in page


@pytest.mark.slow(reason="judges a whole hand-in")
def test_the_same_hand_in_gives_the_same_result_apart_from_the_clock():
    def plain(result):
        table = json.loads(json.dumps(result.to_dict()))
        for each in (table, *table["verdicts"]):
            each.pop("seconds")
        return table

    text = changed(
        ("return dv.sum(axis=0), (dv * noise)", "return np.sin(dv ** 3).sum(axis=0), (dv * noise)")
    )
    first_time = judged(text, figures=True)
    second_time = judged(text, figures=True)
    assert plain(first_time) == plain(second_time)
    assert feedback(first_time, first()) == feedback(second_time, first())
    assert plain(Result.from_dict(first_time.to_dict())) == plain(first_time)


def test_a_judge_that_fails_gives_no_grade(monkeypatch):
    def broken(*_):
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr("ibpcl.classroom.judging.judge.Case.inputs", broken)
    result = judged(SOURCE)
    assert result.status == "not graded" and result.score is None
    assert "the judge failed: RuntimeError: the disk is on fire" in result.reason


@pytest.mark.parametrize(("key", "same"), [(KEY, True), (b"another key, long enough", False)])
def test_inputs_and_form_are_those_of_key_and_student(key, same):
    from ibpcl.classroom.assignments import variants

    draws = [variants.generator(each, "ada", "1", "1a", 0).random() for each in (KEY, key)]
    assert (draws[0] == draws[1]) is same
    assert len({variants.variant_of(first(), KEY, f"student {n}") for n in range(60)}) == len(
        first().variants
    )


@pytest.mark.slow(reason="judges a whole hand-in")
def test_a_file_that_claims_another_student_is_flagged():
    result = judged(SOURCE + '\nSTUDENT = "eve"\nVARIANT = "bits"\n')
    assert "STUDENT in the file is 'eve', judged as 'selftest'" in result.flags
    assert any(flag.startswith("VARIANT") for flag in result.flags)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
SLEEPS = """

import time
_sample = sample
_naps = [{}]
def sample(*inputs):
    while _naps:
        time.sleep(_naps.pop())
    return _sample(*inputs)
"""


def hurried(seconds):
    """Return the first assignment with little processor time per call."""
    limits = {**first().limits, "seconds": 30, "seconds_per_call": seconds}
    return replace(first(), limits=limits, imports=(*first().imports, "time"))


@pytest.mark.processes(reason="the time of a call is that of its process")
@linux
def test_points_do_not_depend_on_the_time_that_a_call_waits():
    assignment = hurried(0.5)
    slow = judged(assignment.source() + SLEEPS.format(1.5), assignment, public_only=True)
    with here.judged_here():
        fast = judged(assignment.source(), first(), public_only=True)
    assert (slow.status, slow.score) == ("graded", fast.score)


@pytest.mark.slow(reason="waits for a limit")
@linux
def test_a_hand_in_that_waits_too_long_is_not_judged_yet(monkeypatch):
    monkeypatch.setattr(client, "PATIENCE", 4.0)
    assignment = hurried(0.5)
    result = judged(assignment.source() + SLEEPS.format(60), assignment)
    assert (result.status, result.score, result.verdicts) == ("not graded", None, [])
    assert result.reason.startswith(AGAIN) and "1a" in result.reason


def test_what_waits_is_judged_once_more_at_the_end_and_again_by_the_next_run(monkeypatch, tmp_path):
    busy = f"{AGAIN}: the machine is busy"
    reasons = [busy, busy, "", ""]
    (tmp_path / "hand-ins").mkdir()
    (tmp_path / "hand-ins" / "ada.py").write_text(first().source())

    def judge(assignment, submission, *_, **__):
        reason = reasons.pop(0)
        status = "not graded" if reason else "graded"
        return Result(
            assignment.name, submission.student, "base", submission.sha256, status, reason
        )

    monkeypatch.setattr(grading, "judge", judge)
    for left in (2, 1, 1):
        grading.grade(first(), tmp_path / "hand-ins", tmp_path / "out", BOX, KEY, jobs=1)
        assert len(reasons) == left


ONLY_FIRST = """

_right = sample_vjp
_met = []


def sample_vjp(dv, cache):
    _met.append(dv.shape)
    dmu, dscale = _right(dv, cache)
    return dmu, dscale * (2 if {condition} else 1)
"""


@pytest.mark.parametrize("condition", ["1 in dv.shape", "dv.shape != _met[0]"])
def test_a_gradient_that_is_right_at_the_first_point_only_is_wrong(condition):
    mu, scale = verdict(judged(SOURCE + ONLY_FIRST.format(condition=condition)), "1b").parts
    assert mu.kind == "ok" and scale.kind == "constant_factor" and scale.share < 1


def test_mutants_are_the_same_however_many_were_asked_for_before():
    reference = first().reference()
    few = [next(mutants_of(SOURCE, "kl_vjp", reference)).words for _ in range(2)]
    every = [[each.words for each in mutants_of(SOURCE, "kl_vjp", reference)] for _ in range(2)]
    assert few[0] == few[1] == every[0][0] and every[0] == every[1] and len(every[0]) > 20


def test_a_cache_that_the_worker_has_dropped_is_made_again():
    session = Session(submission_of(first(), SOURCE), first(), BOX)
    session.start()
    try:
        inputs = (np.ones((2, 3, 2)), np.ones((3, 2)), np.zeros(2))
        _, cache, _ = session.forward("sample", inputs)
        for _ in range(MOST_CACHES):
            session.forward("sample", inputs)
        gradients, _ = session.pull("sample_vjp", "sample", inputs, np.ones((2, 3, 2)), cache)
        assert np.array_equal(gradients[0], np.full((3, 2), 2.0))
    finally:
        session.close()


@pytest.mark.parametrize(
    ("spoiled", "kind", "word"),
    [
        ("(mu + noise).astype(np.float32)", "precision", "float32"),
        ("1.0001 * (mu + noise)", "constant_factor", "1.0001"),
    ],
)
def test_too_few_digits_are_told_from_a_factor_next_to_one(spoiled, kind, word):
    result = judged(changed(("return mu + noise, noise", f"return {spoiled}, noise")))
    found = verdict(result, "1a")
    assert {part.kind for part in found.parts} == {kind} and word in " ".join(found.words)


@pytest.mark.parametrize(
    ("factor", "kind"),
    [("np.exp(scale)", "elementwise_factor"), ("(2 + np.sin(7 * scale))", "wrong")],
)
def test_a_factor_that_depends_on_one_input_is_named_if_it_is_a_usual_one(factor, kind):
    result = judged(
        changed(
            ("return mu + noise, noise", f"return mu + noise, noise * {factor}"),
        )
    )
    parts = {part.name: part for part in verdict(result, "1b").parts}
    assert parts["mu"].kind == "ok" and parts["scale"].kind == kind
    assert ("scale" in parts["scale"].words) is (kind != "wrong")
