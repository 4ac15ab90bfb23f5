"""The numbers and claims of tutorial 15 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.exact import points, study

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)
DIAGONAL = ("Laplace", "VCL", "BGD")


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


@tutorial.holds("A grid of 120 cells")
def test_sequential_inference_is_joint_inference():
    assert tutorial["difference"] < 1e-12
    assert abs(len(tutorial["prior"].axes[0]) - 120) <= 1
    assert len(tutorial["prior"].weights) == len(tutorial["prior"].axes[0]) ** 2


@tutorial.holds("contains 90%")
def test_an_ellipse_contains_its_share():
    # the squared radius of a standard normal in the plane is exponential with mean 2
    assert np.allclose(1 - np.exp(-(np.linalg.norm(tutorial["circle"], axis=0) ** 2) / 2), 0.9)


def test_a_diagonal_covariance_has_half_of_the_exact_deviations():
    exact = np.sqrt(np.diag(points.covariance(tutorial["exact"][0])))
    for name in ("Laplace", "VCL"):
        belief = tutorial["beliefs"][name][0]
        assert (np.abs(np.sqrt(np.diag(belief.covariance)) / exact - 0.5) < 0.06).all()


def test_full_laplace_follows_the_exact_posterior_and_the_others_stay_behind():
    first, second, _ = (points.mean(each) for each in tutorial["exact"])
    assert second[0] < first[0] - 1
    deviation = np.sqrt(np.diag(points.covariance(tutorial["exact"][1])))[0]
    for name, after in tutorial["beliefs"].items():
        away = abs(after[1].mean[0] - second[0]) / deviation
        assert away < 0.5 if name == "full Laplace" else away > 3


def test_the_gap_of_the_second_task_is_larger_than_the_forgetting_of_the_first():
    parts = tutorial["two_weights"]
    full = parts["full Laplace"]
    assert abs(full.approximation[0]) < 0.02 < 0.05 < full.model[0] and abs(full.gap[1]) < 0.02
    for name, each in parts.items():
        if name != "full Laplace":
            assert each.total[0] > full.total[0] + 0.03
            assert each.gap[1] > each.approximation[0] > 0


def test_the_sampler_agrees_with_the_grid():
    away = np.abs(tutorial["sampled"] - points.mean(tutorial["exact"][-1]))
    standard_error = tutorial["hmc"].standard_error(tutorial["chains"].draws)
    assert (away < 4 * standard_error).all() and (standard_error < 0.02).all()
    assert tutorial["chains"].draws.shape == (250, 12, 2)
    assert tutorial["chains"].divergences == 0


def test_compatible_tasks_are_forgotten_by_approximations_only():
    parts = tutorial["results"]["compatible"]
    assert tuple(parts) == tuple(study.SETTINGS)
    assert np.abs(parts["vcl"].model).max() < 0.02
    assert max(parts[name].total.max() for name in ("laplace", "vcl")) < 0.06
    assert min(parts[name].approximation.max() for name in ("naive", "ewc", "npbcl")) > 0.2


def test_conflicting_tasks_are_forgotten_by_exact_inference_too():
    parts = tutorial["results"]["conflicting"]
    assert parts["vcl"].model[0] > 0.25
    for name, each in parts.items():
        rest = each.approximation[0]
        assert rest < -0.25 if name == "npbcl" else rest > 1.2 * each.model[0]


@tutorial.holds("first standard deviation is $0.1$")
def test_the_caveats_are_the_settings():
    assert study.SETTINGS["bgd"]["start_sigma"] == 0.1
    assert study.NETWORK.size == 17 and study.TASKS == 3
