"""The claims of tutorial 18 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_sum_over_all_masks_is_exact():
    assert len(tutorial["every"]) == 4096
    assert tutorial["exact_error"] < 1e-7
    assert tutorial["mean"] > 10


def test_a_baseline_lowers_the_variance_by_a_large_factor():
    without, with_baseline = (
        tutorial["quality"](tutorial[name])[0] for name in ("without", "with_baseline")
    )
    assert without > 3 * with_baseline


def test_disarm_of_a_fair_coin_has_no_variance_and_is_the_mean_of_arm():
    square, noise = tutorial["square"], tutorial["noise"]
    disarm = tutorial["lab"].disarm(square, tutorial["fair"], noise)
    np.testing.assert_allclose(disarm, 0.025, rtol=1e-12)
    assert np.ptp(tutorial["lab"].arm(square, tutorial["fair"], noise)) > 0.001
    assert tutorial["arm_mean"] == pytest.approx(tutorial["disarm_there"], rel=1e-6)


def test_the_bias_of_the_relaxation_can_turn_the_gradient():
    curves, others = tutorial["curves"], tutorial["others"]
    assert curves["bias"][0] < 1 < max(curves["bias"])
    assert np.all(np.diff(curves["deviation"]) < 0)
    assert others["straight-through"].bias > 1
    assert max(others[name].bias for name in ("ARM", "DisARM")) < 1e-9


def test_biased_estimators_stop_near_the_minimum_of_the_relaxed_loss():
    ways = tutorial["ways"]
    assert ways["DisARM"][-1] < 0.01
    for name, way in ways.items():
        assert name == "DisARM" or 0.2 < way[-1] < 0.5


def test_the_checker_judges_the_relaxed_mask_given_the_binary_one():
    right, wrong = tutorial["reports"]
    assert right.ok and not wrong.ok
    between = [np.quantile(tutorial[name], tutorial["levels"]) for name in ("free", "again")]
    np.testing.assert_allclose(*between, atol=0.02)


def test_only_two_estimators_are_biased():
    table, estimators = tutorial["table"], tutorial["mask_study"].ESTIMATORS
    for (name, tau), found in table.items():
        if estimators[name].unbiased:
            assert found.bias < 4 * found.error
        elif tau >= 0.5:
            assert found.bias > 4 * found.error


def test_every_estimator_trains_the_learner():
    accuracy = tutorial["accuracy"]
    assert set(accuracy) == {"concrete", "score", "disarm", "rebar"}
    assert min(accuracy.values()) > 0.8
