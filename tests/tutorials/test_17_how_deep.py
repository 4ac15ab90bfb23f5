"""The claims of tutorial 17 agree with its run."""

import numpy as np
import pytest
from scipy.stats import poisson
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_copies_keep_the_gradient_and_a_chain_loses_it():
    norms = tutorial["norms"]
    assert norms["chain"][-1] < 1e-5
    assert 1 < norms["residual"][-1] < 100


def test_switches_give_the_shallower_and_the_residual_network_bit_for_bit():
    x, start = tutorial["x"], tutorial["start"]
    for count in range(7):
        switched = tutorial["network"](x, np.arange(6) < count)
        np.testing.assert_array_equal(switched, tutorial["plain"](start, count))


def test_mistakes_are_caught_at_their_input():
    right, copy, value = tutorial["reports"].values()
    assert right.ok
    assert not copy["h"].ok and copy["w"].ok and copy["z"].ok
    assert not value["z"].ok and value["h"].ok and value["w"].ok


def test_the_gradient_at_a_switch_finds_the_missing_blocks():
    values, changes = tutorial["values"], tutorial["changes"]
    np.testing.assert_allclose(values, tutorial["by_differences"], atol=1e-8)
    assert (values[2:4] < changes[2:4]).all() and (changes[2:4] < 0).all()
    assert np.abs(values[4:]).max() < -values[2:4].max() / 4
    assert (changes[4:] > 0).all()


def test_the_depth_is_poisson():
    for alpha in (0.5, 1.0, 2.0):
        depth = tutorial["depth_draws"][alpha]
        found = np.bincount(depth, minlength=8)[:8] / len(depth)
        np.testing.assert_allclose(found, poisson.pmf(np.arange(8), alpha), atol=0.02)
    assert np.mean(tutorial["depth_draws"][2.0] > 6) < 0.01


def test_the_line_takes_no_block_and_the_disc_two():
    line, disc = (tutorial["learned"][kind][2] for kind in ("line", "disc"))
    assert not line.any()
    assert disc.tolist() == [True, True, False, False]
    for kind, least in (("line", 0.8), ("disc", 0.95)):
        vector, _, on = tutorial["learned"][kind]
        assert tutorial["accuracy"](vector, on, kind) > least


def test_the_later_task_adds_blocks_and_the_earlier_predictions_stay():
    np.testing.assert_array_equal(tutorial["before"], tutorial["after"])
    assert tutorial["moved"] > 0.9
    new = tutorial["second_on"] & ~tutorial["first_on"]
    assert new.any()
    right = tutorial["accuracy"](tutorial["second"], tutorial["second_on"], "half")
    assert right > 0.92 and tutorial["old_only"] < right - 0.08
    assert np.abs(tutorial["with_new"] - tutorial["before"]).max() > 0.1
