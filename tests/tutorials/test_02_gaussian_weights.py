"""The numbers and claims of tutorial 2 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_difference_has_fewer_digits_than_the_derivation():
    derived, difference = (
        float(tutorial.printed.split(name)[1].split()[0]) for name in ("by hand", "difference   ")
    )
    assert derived != difference and abs(derived - difference) < 1e-9


def test_the_wrong_gradient_gives_every_sample_a_mean():
    assert "(6, 4)" in tutorial.printed and "not_summed" in tutorial.printed
    assert (tutorial["S"], tutorial["K"]) == (6, 4)


@tutorial.holds("1000 times", "100 times", "5 to 50 times")
def test_the_estimators_agree_and_their_variances_do_not():
    ratios = {}
    for which in (0, 1):
        reference = tutorial["estimators"]["reparameterized"][which].var()
        for name, both in tutorial["estimators"].items():
            error = both[which].std() / np.sqrt(both[which].size)
            assert abs(both[which].mean() - tutorial["truth"][which]) < 4 * error
            ratios[name, which] = both[which].var() / reference
    assert ratios["score", 0] > 1000 and ratios["score", 1] > 100
    assert all(5 < ratios["score, f - E[f]", which] < 50 for which in (0, 1))


def test_the_plain_divergence_vanishes_near_the_prior():
    rows = [line.split() for line in tutorial.printed.split("plain formula")[1].splitlines()[1:5]]
    r, exact, plain, package = map(float, rows[-1])
    assert plain == 0 and abs(package - exact) < 1e-3 * exact and r == 1e-8


def test_task_by_task_is_all_data_at_once():
    np.testing.assert_allclose(tutorial["beliefs_online"][-1], tutorial["batch"], rtol=1e-12)
    belief = (0.0, 2.0)
    for y in tutorial["tasks"][::-1]:
        belief = tutorial["posterior"](y, *belief)
    np.testing.assert_allclose(belief, tutorial["batch"], rtol=1e-12)
    np.testing.assert_allclose(
        [tutorial["q_mu"][0], np.exp(tutorial["q_log_sigma"][0])], tutorial["batch"], atol=1e-9
    )


def test_a_fresh_prior_forgets():
    assert (
        abs(tutorial["forgetful"][0] - tutorial["batch"][0]) > 0.3
        and tutorial["forgetful"][1] > 1.5 * tutorial["batch"][1]
    )
    np.testing.assert_allclose(
        tutorial["forgetful"], tutorial["posterior"](tutorial["tasks"][-1], 0.0, 2.0)
    )
