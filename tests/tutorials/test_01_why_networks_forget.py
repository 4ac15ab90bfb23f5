"""The numbers and claims of tutorial 1 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


@tutorial.holds("give 50%")
def test_one_head_forgets_and_training_on_both_tasks_does_not():
    test, first, second = (tutorial[name] for name in ("test", "first", "second"))
    assert np.mean(first.y_test) == 0.5
    assert tutorial["before"] > 0.95 and 0.5 < test(tutorial["naive"], first) < 0.65
    assert test(tutorial["joint"], first) > 0.9 and test(tutorial["joint"], second) > 0.8


def test_the_first_task_s_loss_is_flat_at_first_and_then_climbs():
    first, second = (
        dict(zip(tutorial["shares"].round(2), tutorial["losses"][tutorial[task].name], strict=True))
        for task in ("first", "second")
    )
    third = 0.35
    three_quarters = 0.75
    gain = second[0.0] - second[1.0]
    loss = first[1.0] - first[0.0]
    assert first[third] - first[0.0] < 0.05 and 0.4 < (second[0.0] - second[third]) / gain < 0.6
    assert (second[three_quarters] - second[1.0]) / gain < 0.1
    assert (first[1.0] - first[three_quarters]) / loss > 0.55
    mean = np.mean(list(tutorial["losses"].values()), axis=0)
    assert 0.3 < tutorial["shares"][mean.argmin()] < 1


def test_the_first_task_does_not_pull_and_the_second_does():
    assert tutorial["sizes"][1] > 20 * tutorial["sizes"][0]


def test_the_plane_goes_through_its_three_points():
    project = tutorial["project"]
    for name, (x, y) in (("theta_1", (0, 0)), ("theta_2", (1, 0))):
        np.testing.assert_allclose(project(tutorial[name]), (x, y), atol=1e-5)
    x, y = project(tutorial["theta_both"])
    offset = tutorial["length"] * (x * tutorial["across"] + y * tutorial["up"])
    np.testing.assert_allclose(tutorial["theta_1"] + offset, tutorial["theta_both"], atol=1e-5)
    assert max(tutorial["off"]) > 0.1 * tutorial["length"]


def test_the_parabola_is_too_flat_and_its_weight_trades_one_task_for_the_other():
    end, start = (np.abs(tutorial["shares"] - s).argmin() for s in (1, 0))
    losses = tutorial["losses"][tutorial["first"].name]
    rise = tutorial["rise"]
    assert 0 < rise[end] - rise[start] < (losses[end] - losses[start]) / 20
    kept = np.array(tutorial["kept"])
    gained = np.array(tutorial["gained"])
    assert kept[-1] > kept[0] + 20 and gained[-1] < gained[0] - 20
    star = [100 * tutorial["test"](tutorial["joint"], tutorial[n]) for n in ("first", "second")]
    assert not ((kept >= star[0]) & (gained >= star[1])).any()


def test_without_its_penalty_ewc_is_naive_training():
    naive = [
        100 * tutorial["test"](tutorial["naive"], tutorial[n], i)
        for i, n in enumerate(("first", "second"))
    ]
    assert [tutorial["kept"][0], tutorial["gained"][0]] == naive
