"""The numbers and claims of tutorial 7 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.methods.npbcl import Settings
from ibpcl.numerics import logistic_kl, logit
from ibpcl.primitives import bernoulli, concrete
from ibpcl.verify import check

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def rows(after, count, skip=1):
    """Return the numbers of a printed table."""
    lines = tutorial.printed.split(after)[1].splitlines()[skip : skip + count]
    return [[float(word.rstrip("%")) for word in line.replace("+-", " ").split()] for line in lines]


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_temperature_moves_the_mean_and_not_the_rounded_mask():
    table = rows("share with z > 1/2", 7)
    assert table[0][1] > 0.45 and abs(table[-1][1] - 0.3) < 0.01
    assert (
        all(abs(row[4] - 0.3) < 0.01 for row in table) and table[-1][2] < 0.001 and table[0][3] == 0
    )


def test_cold_gradients_have_the_right_mean_and_a_wild_spread():
    table = rows("standard deviation   largest", 6)
    hot = table[0]
    cold = table[-1]
    assert abs(cold[1] - 0.21) < 4 * cold[2] and cold[3] > 5 * 0.21 and cold[4] > 20
    assert hot[1] < 0.05 and [row[3] for row in table] == sorted(row[3] for row in table)
    one, cache = concrete.sample(tutorial["noise"], logit(tutorial["theta"]), 0.01)
    assert np.mean(np.abs(concrete.sample_vjp(np.ones_like(one), cache)) < 1e-3) > 0.9


def test_the_printed_density_is_that_of_the_logit():
    for row in rows("q_z over z", 6):
        assert row[2] == row[4] == 1 and row[3] < 0.3


def test_the_closed_form_agrees_with_its_witnesses_and_bounds_the_coins():
    for row in rows("sampled, tau = 0.5     coins", 6):
        closed, cold, hot, sampled, error, coins = row[3:]
        np.testing.assert_allclose((cold, hot), closed, atol=2e-6)
        assert abs(sampled - closed) < 4 * error + 1e-3 and coins < closed


def test_a_colder_prior_costs_a_mask_that_has_learned_nothing():
    table = rows("best theta   KL there", 8)
    for pi, tau, prior_tau, kl, _, _, best, _ in table:
        assert (kl > 0.02) == (tau != prior_tau)
        assert pi == 0.5 or tau == prior_tau or best < pi


def test_the_plain_divergence_is_lost_near_zero():
    last = tutorial.printed.split("plain     package")[1].splitlines()[5].split()
    assert float(last[2]) == 0 and abs(float(last[3]) - 1e-16 / 6) < 1e-20
    assert last[4] in ("nan", "inf", "-inf", "0.000000")


def test_the_log_link_caps_the_prior_and_is_the_default():
    assert all(row[2] < 0.5 and abs(row[2] - row[3]) < 1e-9 for row in rows("pi / (1 + pi)", 5))
    assert Settings().mask_link == "log" and Settings.preset("paper").mask_link == "logit"
    assert "the default link is log and that of the preset 'paper' is logit" in tutorial.printed


def test_the_lost_path_is_named():
    report = check(
        tutorial["masks"],
        tutorial["one_path_vjp"],
        (tutorial["logistic"], tutorial["rho"], tutorial["log_pi"], 0.5),
        wrt=("rho", "log_pi"),
    )
    assert report["rho"].ok and report["log_pi"].kind == "missing_term"
    assert "the gradient is zero everywhere" in tutorial.printed


def test_coins_are_cheap_to_switch_off_and_concrete_masks_are_even():
    l = np.full((1, 1), logit(0.1))
    off, on = (bernoulli.kl(l[:, None, :] + rho, l)[0][0] for rho in (-30.0, 30.0))
    np.testing.assert_allclose((off, on), (-np.log(0.9), -np.log(0.1)), rtol=1e-6)
    np.testing.assert_allclose(logistic_kl(np.array([-20.0, 20.0])), 18, atol=1e-6)
