"""The numbers and claims of tutorial 5 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


@tutorial.holds("5 on average", "about 26")
def test_customers_take_alpha_dishes_and_all_together_alpha_times_a_harmonic_number():
    assert tutorial["alpha"] == 5 and tutorial["customers"] == 100
    assert round(tutorial["expected_dishes"]) == 26
    for counts, mean in tutorial["rows"].values():
        assert abs(counts.mean() - mean) < 4 * counts.std() / np.sqrt(counts.size)
        assert 0.75 < counts.var() / mean < 1.3
    np.testing.assert_allclose(np.sum(1 / np.arange(1, 10**6 + 1)), np.log(10**6) + 0.58, atol=0.01)


@tutorial.holds("2000 dishes", "is 4.99 instead of 5")
def test_the_finite_sticks_fit_and_only_few_dishes_reject_the_limit():
    p_values, alpha = tutorial["p_values"], tutorial["alpha"]
    assert list(p_values) == [10, 2000] and (alpha * 1996 / 2000, alpha) == (4.99, 5)
    assert p_values[10][0] > 0.01 and min(p_values[2000]) > 0.05
    assert p_values[10][1] < 1e-6


def test_the_finite_sticks_are_independent():
    rng = np.random.default_rng(0)
    pi = np.sort(rng.beta(5 / 10, 1, size=(20_000, 10)), axis=1)[:, ::-1]
    sticks = np.log(pi[:, 1:6] / pi[:, :5])
    correlations = np.corrcoef(sticks.T) - np.eye(5)
    assert np.abs(correlations).max() < 4 / np.sqrt(20_000)


@tutorial.holds("data: 14.98%", "around 15 %")
def test_the_prior_alone_expects_fifteen_percent():
    assert round(100 * tutorial["share"], 2) == 14.98
    assert (tutorial["units"], tutorial["concentration"]) == (200, 30)
    np.testing.assert_allclose(tutorial["expected"], tutorial["share"] * tutorial["units"])
    error = tutorial["masks_on"].std() / np.sqrt(tutorial["masks_on"].size)
    assert abs(tutorial["masks_on"].mean() - tutorial["share"]) < 4 * error


@tutorial.holds("only 15%")
def test_tasks_share_half_by_the_same_sticks_and_nearly_as_much_by_separate_ones():
    names = ("same sticks", "separate sticks", "no order")
    same, separate, none = (tutorial["shared"][name] / tutorial["share"] for name in names)
    assert abs(same - 0.5) < 0.01 and 0.47 < separate < same and round(none, 2) == 0.15


def test_the_second_customer_takes_half_of_the_first_one_s_dishes():
    for alpha in (1.0, 5.0):
        rng = np.random.default_rng(0)
        pairs = [tutorial["buffet"](2, alpha, rng) for _ in range(2000)]
        shared = np.mean([(B[0] & B[1]).sum() for B in pairs])
        assert abs(shared / np.mean([B[0].sum() for B in pairs]) - 0.5) < 0.05


@tutorial.holds("of 200 units")
def test_the_exercise_is_about_the_network_of_the_text():
    assert tutorial["units"] == 200
