"""The numbers and claims of tutorial 0 agree with its run."""

import numpy as np
from tutorial import Tutorial

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_two_vjps_agree_with_differences():
    np.testing.assert_allclose(tutorial["dx"], tutorial["differences"], rtol=1e-7)


def test_a_weighted_sum_of_gaussians_has_the_derived_moments():
    total, mean, sigma = (tutorial[name] for name in ("total", "sum_mean", "sum_sigma"))
    assert abs(total.mean() - mean) < 4 * sigma / np.sqrt(total.size)
    assert abs(total.std() / sigma - 1) < 0.02


@tutorial.holds("About 95%")
def test_about_95_percent_of_the_estimates_are_within_two_standard_errors():
    assert 0.93 < tutorial["within_two"] < 0.97
    assert tutorial["repeats"].shape == (2000, 1000)


@tutorial.holds("1 nat is about 1.44 bits")
def test_a_nat_is_one_over_log_two_bits():
    assert round(1 / np.log(2), 2) == 1.44


def test_sampling_agrees_with_the_bernoulli_divergence():
    exact = tutorial["bernoulli_kl"](0.9, 0.5)
    assert abs(tutorial["log_ratio"].mean() - exact) < 4 * tutorial["kl_error"]
    assert tutorial["bernoulli_kl"](0.5, 0.9) > exact


@tutorial.holds("one of them is 1", "an axis of size 1", "4 is not 6")
def test_shapes_broadcast_as_the_table_shows():
    assert np.broadcast_shapes((6, 4), (4,)) == (6, 4)
    logit_pi = tutorial["logit_pi"]
    assert logit_pi.shape == (3, 4) and logit_pi[:, None, :].shape == (3, 1, 4)
    assert (tutorial["rho"] + logit_pi[:, None, :]).shape == (3, 5, 4)
    try:
        np.broadcast_shapes((6, 4), (6,))
    except ValueError:
        return
    raise AssertionError("the shapes (6, 4) and (6,) must not broadcast")


@tutorial.holds("from 10,000 random points", "0 or 1 has")
def test_the_variance_of_a_binary_variable_is_p_times_one_minus_p():
    values = np.array([0.0] * 3 + [1.0])
    assert values.var() == 0.25 * 0.75
