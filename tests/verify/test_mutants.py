"""Planted mistakes are caught and named; what counts as a name is decided without the checker's
help.
"""

import ast
import doctest
import importlib
import json

import numpy as np
import pytest
import saturating
from mutants import naming
from mutants import run as mutants
from mutants.mutations import KINDS, mutations
from mutants.subject import Subject

from ibpcl.codeview.location import Location
from ibpcl.paper import pairs
from ibpcl.primitives import gaussian, likelihoods
from ibpcl.verify import InputVerdict
from ibpcl.verify.reports.kinds import Factor


@pytest.fixture(scope="module")
def sample():
    return mutants.run(progress=False, sample=2)


def test_a_sample_of_every_kind_is_caught_and_named(sample):
    table = mutants.report(sample, verbose=True)
    assert {verdict.kind for verdict in sample.verdicts} == set(KINDS)
    assert all(sample.row(kind).changed > 0 for kind in KINDS)
    assert not sample.missed, table
    # The share that is asked of all of them (slow, below); of a sample, what it may miss that by,
    # at two deviations.
    n = sum(sample.row(kind).changed for kind in KINDS)
    assert sample.row().share_named >= mutants.ENOUGH - 2 * np.sqrt(
        mutants.ENOUGH * (1 - mutants.ENOUGH) / n
    ), table


def test_the_report_fits_80_columns_and_json_knows_it_all(sample):
    lines = mutants.report(sample).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1:11]] == [*KINDS, "all"]
    told = json.loads(json.dumps(sample.to_dict()))
    assert told["ok"] == sample.ok and not told["missed"]
    assert (
        told["kinds"]["all"]["made"]
        == sum(told["kinds"][kind]["made"] for kind in KINDS)
        == len(sample.verdicts)
    )


@pytest.mark.slow(reason="checks more than a thousand mistakes")
@pytest.mark.parametrize("seed", [0, 1])
def test_every_mutant_is_caught_and_nine_in_ten_are_named(seed):
    summary = mutants.run(progress=False, seed=seed)
    assert summary.row().made > 1000
    assert summary.ok, mutants.report(summary, verbose=True)


@pytest.mark.parametrize("module", ["changes", "mutations", "naming", "run", "subject"])
def test_doctests(module):
    assert doctest.testmod(importlib.import_module(f"mutants.{module}")).failed == 0


def subject_of(name):
    own = pairs.Pair("saturating.tanh", saturating.tanh, saturating.tanh_vjp, {}, saturating.tanh)
    return Subject(next(pair for pair in (own, *pairs.documented_pairs()) if str(pair) == name))


def mutant(name, words):
    subject = subject_of(name)
    function = subject.pair.f_vjp
    found = [m for m in mutations(function, subject.same_shape(function)) if m.words == words]
    assert len(found) == 1, [m.words for m in mutations(function, subject.same_shape(function))]
    return mutants.Mutant(subject, found[0])


def test_mutations_change_one_place_and_no_two_are_alike():
    made = mutations(gaussian.log_density_vjp, {"standard": ["inverse_sigma"]})
    sources = [mutation.source for mutation in made]
    assert len(set(sources)) == len(sources)
    assert {mutation.kind for mutation in made} == {
        "sign",
        "factor",
        "term",
        "axis",
        "sum",
        "operands",
        "cache",
        "constant",
    }
    original = ast.unparse(ast.parse(sources[0])).count("\n")
    for mutation in made:
        assert mutation.source.count("\n") == original
        assert all(1 <= line <= original + 1 for line in mutation.lines)


def test_axes_indices_and_signatures_are_no_constants():
    words = [
        mutation.words
        for mutation in mutations(likelihoods.gaussian_vjp, {})
        if mutation.kind == "constant"
    ]
    assert words == ["2 for the constant 1", "0.5 for the constant 1"]


def several_vjp(dx, cache):
    return (dx * cache, *cache)


def test_several_results_at_once_have_no_sign():
    found = [mutation.source for mutation in mutations(several_vjp, {})]
    assert all(ast.parse(source) for source in found)
    assert any("return (-(dx * cache), *cache)" in source for source in found)
    assert any("return (*cache, dx * cache)" in source for source in found)


def test_roles_and_exponents_are_read_from_the_tree():
    made = {mutation.words: mutation for mutation in mutations(gaussian.kl_vjp, {})}
    assert made["`-prior_log_sigma` without its minus"].exponent
    assert not made["`excess + shift * shift` with the other sign"].exponent
    assert made["`excess + shift * shift` without `excess`"].role == "term"
    assert made["`shift * shift` without `shift`"].role == "factor"


def test_a_changed_function_computes_what_its_source_says():
    changed = mutant("saturating.tanh", "`1 - cache * cache` without `1`")
    h = np.array([0.3, -0.5])
    np.testing.assert_allclose(changed.mutated()(np.ones(2), h), -h * h)
    np.testing.assert_allclose(saturating.tanh_vjp(np.ones(2), h), 1 - h * h)


def test_values_of_expressions_are_those_of_the_run():
    subject = subject_of("gaussian.sample")
    dropped = mutant("gaussian.sample", "`dv * noise` without `noise`").mutation
    point = subject.inputs
    np.testing.assert_array_equal(
        subject.values("sample_vjp")[dropped.path][0], np.exp(point["log_sigma"]) * point["eps"]
    )
    assert subject_of("gaussian.kl").same_shape(gaussian.kl_vjp)["shift"] == [
        "excess",
        "prior_log_sigma",
    ]


@pytest.mark.slow(reason="checks of many mutants")
def test_a_mutant_that_changes_nothing_is_no_mistake():
    # Where no pi is near one, it does not matter where 1 - pi is cut off; the point of the check
    # decides.
    fates = [
        mutants.judge(m).fate
        for m in mutants.make()
        if m.subject.pair.name == "stick_breaking.logit_probabilities"
        and m.mutation.words == "`LEAST_LOG_REST + 1` for `LEAST_LOG_REST`"
    ]
    assert fates == ["same"]


def test_a_mutant_that_raises_counts_as_caught():
    verdict = mutants.judge(
        mutant("linear.apply", "`dh @ np.swapaxes(w, -1, -2)` the other way round")
    )
    assert verdict.fate == "raises"
    assert "ValueError" in verdict.words
    assert mutants.Summary([verdict], 0.0).row("operands") == mutants.Row(1, 1, 1, 1, 0)


class Report:
    """What a checker would return."""

    def __init__(self, inputs):
        self.inputs = inputs


def judged(monkeypatch, which, **verdict):
    """Judge a mutant of ``saturating.tanh`` or ``gaussian.kl`` with a checker that always says the
    same.
    """
    fields = {key: verdict[key] for key in ("where", "factor") if key in verdict}
    monkeypatch.setattr(
        mutants,
        "check",
        lambda f, f_vjp, inputs, wrt, seed: Report(
            [
                InputVerdict(name, words=verdict.get("words", ""), kind=verdict["kind"], **fields)
                for name in wrt
            ]
        ),
    )
    return mutants.judge(which)


def test_a_checker_that_sees_nothing_misses_the_mutant(monkeypatch):
    verdict = judged(
        monkeypatch, mutant("saturating.tanh", "`1 - cache * cache` without `1`"), kind="ok"
    )
    summary = mutants.Summary([verdict], 0.0)
    assert verdict.fate == "missed"
    assert not summary.ok
    assert "missed: saturating.tanh" in mutants.report(summary)


def test_a_checker_that_blames_right_inputs_names_nothing(monkeypatch):
    which = mutant("gaussian.kl", "`ddivergence * excess` negated")
    assert mutants.judge(which).named
    # right for one input, and wrong for three
    verdict = judged(monkeypatch, which, kind="sign")
    assert (verdict.fate, verdict.named) == ("caught", False)


@pytest.mark.parametrize(
    ("words", "told", "named"),
    [
        ("`1 - cache * cache` without `1`", {"kind": "missing_term"}, True),
        (
            "`1 - cache * cache` without `1`",
            {"kind": "elementwise_factor", "words": "cache"},
            False,
        ),
        ("`1 - cache * cache` without `1`", {"kind": "wrong"}, False),
        (
            "`1 - cache * cache` without `cache * cache`",
            {"kind": "elementwise_factor", "words": "off"},
            False,
        ),
        (
            "`1 - cache * cache` without `cache * cache`",
            {"kind": "elementwise_factor", "words": "1 - cache^2"},
            True,
        ),
        (
            "`dh * (1 - cache * cache)` without `1 - cache * cache`",
            {"kind": "elementwise_factor", "words": "x"},
            False,
        ),
        (
            "`dh * (1 - cache * cache)` without `dh`",
            {"kind": "elementwise_factor", "words": "dout is missing"},
            True,
        ),
        ("`dh * (1 - cache * cache)` negated", {"kind": "constant_factor"}, False),
        ("2 for the constant 1", {"kind": "constant_factor"}, False),
        (
            "2 for the constant 1",
            {
                "kind": "constant_factor",
                "where": Location("m.py", 2, text="return dh * (2 - cache * cache)"),
            },
            True,
        ),
        (
            "2 for the constant 1",
            {
                "kind": "constant_factor",
                "where": Location("m.py", 1, text="def tanh_vjp(dh, cache):"),
            },
            False,
        ),
    ],
)
def test_a_name_must_be_the_right_one(monkeypatch, words, told, named):
    verdict = judged(monkeypatch, mutant("saturating.tanh", words), **told)
    assert (verdict.fate, verdict.named) == ("caught", named)


def test_a_factor_is_known_by_its_values(monkeypatch):
    which = mutant("saturating.tanh", "`dh * (1 - cache * cache)` without `1 - cache * cache`")
    derivative = 1 - np.tanh(which.subject.inputs["x"]) ** 2
    for scale, named in ((1, True), (1.1, False)):
        factor = Factor("missing", scale * derivative.min(), scale * derivative.max())
        assert judged(monkeypatch, which, kind="elementwise_factor", factor=factor).named == named


def test_what_a_mutation_does_is_a_name_as_well():
    subject = subject_of("gaussian.kl")
    change = mutant("gaussian.kl", "`ddivergence * excess` negated").mutation
    right = subject.truth

    def effect(changed):
        return naming.by_effect(change, subject, 1, [(g[0], changed(g[1]), *g[2:]) for g in right])

    assert effect(lambda g: -g) == {"sign"}
    assert effect(lambda g: 3.5 * g) == {"constant_factor"}
    assert effect(lambda g: g / 5) == {"constant_factor", "mean"}
    assert effect(lambda g: 0 * g) == {"missing_term"}
    assert effect(lambda g: g.sum(axis=0)) == {"summed"}
    assert effect(lambda g: g.T) == {"transposed"}
    assert effect(lambda g: g[:3]) == {"wrong_shape"}
    assert effect(lambda g: g[::-1]) == {"shifted"}
    assert effect(lambda g: np.where(g == g.max(), np.nan, g)) == {"non_finite"}
    assert effect(lambda g: g + (np.arange(g.size) == 4).reshape(g.shape)) == {"few_entries"}
    assert effect(np.exp) == set()
    swapped = [(g[1], g[0], *g[2:]) for g in right]
    assert naming.by_effect(change, subject, 1, swapped) == {"swapped"}
