"""Planted mistakes in densities, samplers, closed forms, divergences, bounds and estimators.

Every mistake is caught, nine in ten are named, and no right function is accused.
"""

import importlib.util
import itertools

import pytest
from forward_mistakes import HARMLESS, HEAD, PLANTED, RIGHT
from published import PUBLISHED, STANDARDIZE
from quick import quick

from ibpcl.verify.distributions.checking import check_group
from ibpcl.verify.distributions.reading import groups_in

UNNAMED = ("wrong", "biased", "sampler", "not_normalized", "not_the_inverse", "non_finite")
# Mistakes that are caught without a name, each with the reason.
WITHOUT_NAME = {
    ("softplus", "np.log(np.expm1(y))"): "two places are changed",
    ("second_moment", ") /"): "the lost term is inside a quotient",
    ("lognormal", "2 * mu"): "the lost term is inside an exponential",
    ("beta", ")"): "the lost factor is inside a quotient",
    ("kumaraswamy", "+ np.log(a) + np.log(b)"): "two signs are wrong",
    ("poisson", "+ lam_q - lam_p"): "two signs are wrong",
    ("laplace", "1 - np.abs"): "the lost number is inside an argument",
    ("conjugate", "return expected"): "a whole divergence is missing",
}
count = itertools.count()


@pytest.fixture
def loaded(tmp_path):
    """Return a function from a source to its module."""

    def load(text):
        path = tmp_path / f"mine{next(count)}.py"
        path.write_text(HEAD + text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def spoiled(text, function, old, new):
    """Return a source with a text of one function replaced."""
    start = text.index(f"def {function}(")
    end = text.find("\n\ndef ", start)
    body = text[start : end if end > 0 else len(text)]
    at = body.index(old, body.index("\n"))
    changed = body[:at] + new + body[at + len(old) :]
    return text.replace(body, changed)


def report_on(module):
    (group,) = groups_in(module)
    return check_group(group)


@pytest.mark.parametrize("family", RIGHT)
def test_right_functions_are_right(loaded, family):
    report = report_on(loaded(RIGHT[family]))
    assert report.ok, str(report)


@pytest.mark.parametrize(("family", "function", "old", "new"), HARMLESS)
def test_another_way_to_draw_is_right(loaded, family, function, old, new):
    report = report_on(loaded(spoiled(RIGHT[family], function, old, new)))
    assert report.ok, str(report)


@pytest.mark.parametrize(
    "mistake",
    quick(
        [
            "normal.log_density:",
            "normal.cdf:/ sigma**2)",
            "normal.kl:return (",
            "kumaraswamy.sample:(1 / a)) ** (1 / b)",
            "exponential.quantile:log(p)",
            "gamma.log_density:- x / b",
            "beta.entropy:return -betaln(a, b)",
            "gumbel.variance:np.pi**2 / 6 * beta",
            "weibull.sample:** k",
            "bernoulli.kl:(1 - p_p) / (1 - p_q)",
            "sigmoid.inverse:np.log(1 - y) - np.log(y)",
            "student.log_density:",
        ],
        PLANTED,
        "each kind of function is there, each kind of mistake, and both ends of a search",
        name=lambda m: f"{m.family}.{m.function}:{m.new}",
    ),
)
def test_a_mistake_is_caught_and_named(loaded, mistake):
    text = spoiled(RIGHT[mistake.family], mistake.function, mistake.old, mistake.new)
    report = report_on(loaded(text))
    verdict = report[mistake.function]
    assert verdict.verdict == "wrong"
    # no other function is accused
    assert [item.name for item in report.items if item.verdict == "wrong"] == [mistake.function]
    named = verdict.kind not in UNNAMED and any(words in verdict.words for words in mistake.says)
    assert named == ((mistake.family, mistake.new) not in WITHOUT_NAME), str(verdict)


def test_there_are_enough_mistakes():
    assert len(PLANTED) >= 100
    assert len({mistake.family for mistake in PLANTED}) >= 25
    assert len(WITHOUT_NAME) <= 0.1 * len(PLANTED)


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda c: f"{c.family}.{c.function}: {c.source}")
def test_a_published_mistake_is_caught(loaded, case):
    text = {**RIGHT, "standardize": STANDARDIZE}[case.family]
    if f"def {case.function}(" in text:
        start = text.index(f"def {case.function}(")
        end = text.find("\n\ndef ", start)
        text = text[:start] + (text[end:] if end > 0 else "")
    report = report_on(loaded(text + case.text))
    verdict = report[case.function]
    assert [item.name for item in report.items if item.verdict == "wrong"] == [case.function]
    named = verdict.kind not in UNNAMED
    assert named == bool(case.says), str(verdict)
    assert not named or any(words in verdict.words for words in case.says), str(verdict)
