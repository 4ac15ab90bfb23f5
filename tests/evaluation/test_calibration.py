"""Coverage of exact forecasts is nominal, wrong forecasts are detected, and figures show it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from ibpcl.evaluation import figures
from ibpcl.evaluation.calibration import (
    LEVELS,
    binomial_band,
    calibration_error,
    coverage,
    interval_scales,
    recalibrated_coverage,
)

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(2, 60)


def gaussians(examples, seed=0, factor=1.0):
    """Return means, deviations and observations of Gaussians, with sigma wrong by a factor."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=examples)
    sigma = np.exp(rng.normal(size=examples))
    return mean, factor * sigma, rng.normal(mean, sigma)


def test_the_coverage_of_exact_gaussians_is_nominal():
    """The quantiles of a Gaussian are its best sample: the only error left is that of counting."""
    examples = 10_001
    targets = norm.ppf((np.arange(examples) + 0.5) / examples)
    observed = coverage(np.zeros(examples), np.ones(examples), targets)
    np.testing.assert_allclose(observed, LEVELS, atol=1 / examples)
    assert calibration_error(observed) < 1 / examples


@pytest.mark.parametrize("seed", range(5))
def test_the_coverage_of_drawn_gaussians_lies_in_the_band_of_chance(seed):
    low, high = binomial_band(LEVELS, 4000, confidence=0.9999)
    observed = coverage(*gaussians(4000, seed))
    assert (low <= observed).all() and (observed <= high).all()


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2, 3.0])
def test_a_spread_told_wrong_by_a_factor_has_the_coverage_of_that_factor(factor):
    expected = 2 * norm.cdf(factor * norm.ppf((1 + np.array(LEVELS)) / 2)) - 1
    np.testing.assert_allclose(coverage(*gaussians(40_000, factor=factor)), expected, atol=0.012)


@given(SEEDS, SIZES)
def test_coverage_rises_with_the_level_and_does_not_know_units(seed, examples):
    mean, sigma, targets = gaussians(examples, seed)
    observed = coverage(mean, sigma, targets)
    assert (np.diff(observed) >= 0).all() and observed[0] >= 0 and observed[-1] <= 1
    # Powers of two: exact in floating point.
    np.testing.assert_array_equal(coverage(4 * mean, 4 * sigma, 4 * targets), observed)


@given(SEEDS, SIZES)
def test_scales_hold_their_share_of_a_new_example_whatever_the_distribution(seed, examples):
    """Of N + 1 exchangeable examples each is as likely the new one: leave one out, N + 1 times, and
    count.
    """
    errors = np.random.default_rng(seed).standard_cauchy(examples)  # no variance at all
    levels = [p for p in LEVELS if np.ceil(round(p * examples, 9)) < examples]
    if not levels:
        return
    held = np.zeros(len(levels))
    for n in range(examples):
        rest = np.delete(errors, n)
        scales = interval_scales(np.zeros(examples - 1), np.ones(examples - 1), rest, levels)
        held += np.abs(errors[n]) <= scales
    np.testing.assert_array_equal(held, np.ceil(np.round(np.multiply(levels, examples), 9)))


def test_scales_of_gaussians_are_their_quantiles_and_too_few_examples_give_the_largest_error():
    np.testing.assert_allclose(
        interval_scales(*gaussians(100_000)), norm.ppf((1 + np.array(LEVELS)) / 2), atol=0.02
    )
    np.testing.assert_array_equal(
        interval_scales([0.0] * 3, [2.0] * 3, [2.0, -6.0, 4.0], [0.5, 0.99]), [2, 3]
    )


@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0])
def test_recalibration_mends_a_spread_told_wrong(factor):
    forecasts = gaussians(4000, seed=1, factor=factor)
    observed = recalibrated_coverage(*forecasts)
    assert (
        calibration_error(observed) < 0.015 < calibration_error(coverage(*forecasts))
        or factor == 1.0
    )
    np.testing.assert_allclose(observed, LEVELS, atol=0.04)
    np.testing.assert_array_equal(observed, recalibrated_coverage(*forecasts, seed=0))


@pytest.mark.parametrize("examples", [1, 2, 7, 437])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_band_is_that_of_the_binomial_distribution(examples, confidence):
    low, high = binomial_band(LEVELS, examples, confidence)
    tail = (1 - confidence) / 2
    np.testing.assert_allclose(low, binom.ppf(tail, examples, LEVELS) / examples)
    np.testing.assert_allclose(high, binom.ppf(1 - tail, examples, LEVELS) / examples)


@pytest.mark.parametrize("function", [coverage, interval_scales, recalibrated_coverage])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 0.0], [1.0], [0.0, 0.0]), "must have one shape"),
        (([], [], []), "not be empty"),
        (([0.0, 1.0], [1.0, 0.0], [0.0, 0.0]), "sigma must be > 0, got min 0.0"),
        (([np.nan, 1.0], [1.0, 1.0], [0.0, 0.0]), "must be finite"),
        (
            ([0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.5, 1.0]),
            r"levels must be numbers strictly between 0 and 1, got \[0.5",
        ),
        (([0.0, 0.0], [1.0, 1.0], [0.0, 0.0], 0.5), "levels must be"),
    ],
)
def test_invalid_forecasts_are_refused(function, arguments, message):
    with pytest.raises(ValueError, match=rf"calibration\.{function.__name__}: .*{message}"):
        function(*arguments)


def test_the_other_arguments_are_checked_too():
    with pytest.raises(ValueError, match=r"targets .* at least 2 .* got 1"):
        recalibrated_coverage([0.0], [1.0], [0.0])
    with pytest.raises(ValueError, match="observed must have 10 columns"):
        calibration_error([0.5])
    with pytest.raises(ValueError, match="examples must be at least 1"):
        binomial_band([0.5], 0)


def test_reliability_draws_the_coverage_of_each_task_in_percent():
    observed = np.array([coverage(*gaussians(50, seed)) for seed in range(3)])
    ax = figures.reliability(LEVELS, observed, 50, ["a", "b", "c"])
    diagonal, *lines = ax.lines
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    for line, expected in zip(lines, observed, strict=True):
        np.testing.assert_allclose(line.get_xdata(), 100 * np.array(LEVELS))
        np.testing.assert_allclose(line.get_ydata(), 100 * expected)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "chance, 95 %",
        "a",
        "b",
        "c",
    ]
    band = ax.collections[0].get_paths()[0].vertices
    at_half = band[np.isclose(band[:, 0], 50)][:, 1]
    low, high = binomial_band([0.5], 50)
    np.testing.assert_allclose([at_half.min(), at_half.max()], [100 * low[0], 100 * high[0]])
    with pytest.raises(
        ValueError, match=r"figures.reliability: observed must have shape \(T, 10\)"
    ):
        figures.reliability(LEVELS, observed[:, :4], 50)


def test_reliability_of_many_tasks_names_three():
    ax = figures.reliability([0.5], np.full((20, 1), 0.5), 50)
    assert len(ax.lines) == 21 and len(ax.get_legend().get_texts()) == 4


def test_intervals_draw_bands_model_mean_and_observations():
    place = np.arange(4.0)
    mean = place**2
    observed = place**2 + 0.5
    bands = {0.5: (mean - 1, mean + 1), 0.9: (mean - 2, mean + 3)}
    ax = figures.intervals(place, observed, mean, bands, (mean - 0.3, mean + 0.3), breaks=[1.5])
    heights = [
        (area.get_paths()[0].vertices[:, 1].min(), area.get_paths()[0].vertices[:, 1].max())
        for area in ax.collections
    ]
    assert heights == [(-2, 12), (-1, 10)]  # widest first
    for line, expected in zip(ax.lines, (mean - 0.3, mean + 0.3, mean, observed), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert ax.lines[4].get_xdata()[0] == 1.5
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == [
        "90 % of observations",
        "50 % of observations",
        "90 %, model alone",
        "predicted",
        "observed",
    ]
    for wrong in (
        (place, observed[:3], mean, bands, bands[0.5]),
        (place, observed, mean, {}, bands[0.5]),
    ):
        with pytest.raises(ValueError, match=r"figures\.intervals: .* must have one shape"):
            figures.intervals(*wrong)
