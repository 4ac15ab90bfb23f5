"""Checks of single distributions accept those of SciPy, and reject each kind of mistake."""

import json

import numpy as np
import pytest
from scipy import special, stats

from ibpcl.verify.distributions.statistics import (
    density_integrates_to_one,
    expectation_matches,
    largest_gap,
    quadrature,
    reparameterization_unbiased,
    sampler_matches_cdf,
    support_and_limits,
)

FROZEN = [
    (stats.norm(0.3, 0.7), (-np.inf, np.inf)),
    (stats.gamma(2.5), (0, np.inf)),
    (stats.beta(0.7, 2.0), (0, 1)),
    (stats.logistic(), (-np.inf, np.inf)),
    (stats.weibull_min(1.5), (0, np.inf)),
    (stats.expon(), (0, np.inf)),
]


@pytest.mark.parametrize(("q", "support"), FROZEN)
def test_right_distributions_pass_all(q, support):
    def sample(rng, size):
        return q.rvs(size, random_state=rng)

    reports = [
        density_integrates_to_one(q.logpdf, support),
        sampler_matches_cdf(sample, q.cdf),
        support_and_limits(q.logpdf, support, sample, cdf=q.cdf),
        expectation_matches(-q.entropy(), q.logpdf, q.logpdf, support, sample),
    ]
    assert [report.text() for report in reports if not report.ok] == []
    assert all(report.score == 1 for report in reports)
    json.dumps([report.to_dict() for report in reports], allow_nan=False)


def test_a_density_that_lacks_its_normalizer_or_jacobian_fails():
    report = density_integrates_to_one(lambda x: -x * x / 2, (-np.inf, np.inf))
    assert not report.ok
    assert report.numbers["integral"] == pytest.approx(np.sqrt(2 * np.pi))
    assert "not 1" in report.text()
    # The density of the logit taken for the density of the probability.
    assert not density_integrates_to_one(
        lambda p: stats.logistic.logpdf(special.logit(p)), (0, 1)
    ).ok
    assert density_integrates_to_one(
        lambda p: stats.logistic.logpdf(special.logit(p)) - np.log(p * (1 - p)), (0, 1)
    ).ok


def test_an_error_of_a_millionth_in_a_density_is_seen():
    assert not density_integrates_to_one(
        lambda x: stats.norm.logpdf(x) + 1e-6, (-np.inf, np.inf)
    ).ok


def test_a_narrow_peak_is_found_if_the_interval_is_cut_there():
    q = stats.norm(12.3, 1e-4)
    assert density_integrates_to_one(q.logpdf, (-np.inf, np.inf), points=(12.29, 12.3, 12.31)).ok


@pytest.mark.parametrize("q", [stats.norm(0.05, 1), stats.norm(0, 1.06), stats.t(8)])
def test_a_sampler_of_another_distribution_fails(q):
    report = sampler_matches_cdf(
        lambda rng, size: q.rvs(size, random_state=rng), stats.norm.cdf, size=40_000
    )
    assert not report.ok
    assert "the gap is largest at" in report.words


def test_draws_may_be_given_as_they_are_and_must_be_finite():
    draws = np.random.default_rng(0).standard_normal(2000)
    assert sampler_matches_cdf(draws, stats.norm.cdf).ok
    draws[3] = np.nan
    assert "not finite" in sampler_matches_cdf(draws, stats.norm.cdf).words


def normal_kl(mean):
    return 0.5 * mean**2


def kl_of_normals(closed_form, mean=0.8, sampled_mean=0.8):
    q = stats.norm(mean)
    p = stats.norm()
    return expectation_matches(
        closed_form,
        lambda x: q.logpdf(x) - p.logpdf(x),
        q.logpdf,
        (-np.inf, np.inf),
        lambda rng, size: rng.normal(sampled_mean, 1, size),
    )


def test_a_closed_form_is_held_against_quadrature_and_sampling():
    assert kl_of_normals(normal_kl(0.8)).ok
    assert "contradicts both" in kl_of_normals(0.8).words
    nearly = kl_of_normals(normal_kl(0.8) + 1e-5)
    assert not nearly.ok  # far below what sampling can see
    assert "contradicts quadrature" in nearly.words
    assert (
        "density and sampler contradict each other"
        in kl_of_normals(normal_kl(0.8), sampled_mean=0.9).words
    )
    q = stats.norm(0.8)
    assert expectation_matches(0.8, lambda x: x, q.logpdf, (-np.inf, np.inf)).ok
    assert not expectation_matches(0.81, lambda x: x, q.logpdf, (-np.inf, np.inf)).ok


def expectation_of_square(sigma):
    return quadrature(lambda x: x**2 * stats.norm.pdf(x, 1, sigma), (-np.inf, np.inf))[0]


def test_an_unbiased_gradient_passes_and_a_biased_one_fails():
    def right(sigma, rng, size):
        eps = rng.standard_normal(size)
        return 2 * (1 + sigma * eps) * eps

    def biased(sigma, rng, size):
        eps = rng.standard_normal(size)
        return 2 * (1 + sigma * eps) * (eps + 0.05)

    report = reparameterization_unbiased(right, expectation_of_square, 0.7)
    assert report.ok
    assert report.numbers["derivative"] == pytest.approx(1.4, rel=1e-7)
    report = reparameterization_unbiased(biased, expectation_of_square, 0.7)
    assert not report.ok
    assert "biased" in report.words


def test_an_expectation_that_cannot_be_differentiated_is_no_proof():
    def estimator(sigma, rng, size):
        return 5 + rng.standard_normal(size)  # the derivative is 1.4

    noise = np.random.default_rng(0)
    for expectation in (
        lambda sigma: 1 + sigma**2 + noise.normal(),
        lambda sigma: float(sigma >= 0.7),
    ):
        report = reparameterization_unbiased(estimator, expectation, 0.7)
        assert not report.ok
        assert "cannot be differentiated" in report.words
    for expectation, gradient, words in (
        (lambda sigma: np.nan, 5.0, "cannot be differentiated"),
        (expectation_of_square, np.nan, "gradients are not finite"),
    ):
        report = reparameterization_unbiased(
            lambda sigma, rng, size, g=gradient: np.full(size, g), expectation, 0.7
        )
        assert not report.ok
        assert words in report.words
        assert "biased" not in report.words


def test_support_and_limits_find_what_lies_outside():
    def uniform(rng, size):
        return rng.uniform(-0.1, 1, size)

    assert "lie outside" in support_and_limits(None, (0, 1), uniform).words
    assert "outside the support" in support_and_limits(lambda x: -x, (0, np.inf)).words
    assert "not from 0 to 1" in support_and_limits(None, (0, 1), cdf=lambda x: 0.5 * x).words
    assert (
        "falls" in support_and_limits(None, (0, 1), cdf=lambda x: x + np.sin(2 * np.pi * x)).words
    )
    assert support_and_limits(stats.expon.logpdf, (0, np.inf), cdf=stats.expon.cdf).ok


def test_quadrature_refuses_an_empty_interval():
    with pytest.raises(ValueError, match="support"):
        quadrature(np.exp, (1, 0))


@pytest.mark.parametrize("size", [20, 500, 20_000])
@pytest.mark.parametrize("shift", [0.0, 0.02, 0.4])
def test_the_largest_gap_is_that_of_scipy(size, shift):
    draws = np.random.default_rng(size).normal(size=size) + shift
    gap = largest_gap(draws, stats.norm.cdf)
    exact = stats.kstest(draws, stats.norm.cdf)
    assert gap.size == pytest.approx(exact.statistic, rel=1e-12)
    assert gap.place == exact.statistic_location
    assert gap.p_value == pytest.approx(exact.pvalue, rel=0.1, abs=1e-12)


def test_a_distribution_function_that_is_not_finite_is_no_match():
    assert not sampler_matches_cdf(np.ones(9), lambda x: np.nan * x).ok
