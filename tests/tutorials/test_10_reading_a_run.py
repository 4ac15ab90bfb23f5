"""The numbers and claims of tutorial 10 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_folder_has_the_files_that_are_listed():
    for name in (
        "config.toml",
        "result.json",
        "history.csv",
        "learner.npz",
        "report.html",
        "masks.png",
        "sharing.png",
    ):
        assert f"\n{name}\n" in tutorial.printed
    assert not tutorial["folder"].exists(), "the tutorial left its folder behind"


def test_the_numbers_of_the_file_are_those_by_hand():
    for name, value in tutorial["by_hand"].items():
        np.testing.assert_allclose(tutorial["result"][name], value)
    assert np.isnan(tutorial["R"][0, 1]) and np.isnan(tutorial["R"]).sum() == 3


def test_the_union_is_nearly_that_of_random_masks():
    assert 0 < tutorial["at_random"] - tutorial["result"]["share_used"][-1] < 0.05
    assert tutorial["densities"].sum() > tutorial["result"]["share_used"][-1] + 0.1


@tutorial.holds("KL divergence by 0.0021")
def test_the_elbo_falls_while_the_objective_rises():
    parts = tutorial["parts"]
    masked = tutorial["masked"]
    assert tutorial["weight"] == 0.0021
    first, last, next_one = parts["elbo"][[0, masked - 1, masked]]
    assert last < first - 1000 and next_one > last + 1000
    assert tutorial["objective"][masked - 1] > tutorial["objective"][0] + 100
    assert (
        parts["kl_masks"][masked - 1] > 1000
        and parts["kl_masks"][masked - 1] * tutorial["weight"] < 20
    )
    assert (parts["kl_masks"][masked:] == 0).all()


def test_faint_pixels_have_fewer_weights():
    faint, strong = tutorial["in_use"]
    assert faint < 0.7 * strong


@tutorial.holds("96% of the unfamiliar letters", "more than 95% for", "accepts 19 of 20 images")
def test_unfamiliar_letters_get_confident_predictions_and_noise_does_not():
    sure = {
        name: np.mean(one.probabilities.max(axis=1) > 0.95)
        for name, one in tutorial["uncertain"].items()
    }
    assert (
        abs(sure["E or F"] - 0.96) < 0.03
        and abs(sure["E or F"] - sure["A or B"]) < 0.04
        and sure["noise"] < 0.2
    )
    information = {
        name: one.mutual_information.mean() for name, one in tutorial["uncertain"].items()
    }
    assert information["noise"] > 10 * max(information["E or F"], information["A or B"])


def test_coresets_change_next_to_nothing():
    means = [accuracies.mean() for accuracies in tutorial["kept"].values()]
    assert max(means) - min(means) < 0.012


def test_the_network_grows_and_a_small_one_suffers():
    units = [
        int(word)
        for word in tutorial.printed.split("units after each task: [")[1].split("]")[0].split(", ")
    ]
    assert units == sorted(set(units)) and units[0] > 8
    assert tutorial["cramped_accuracies"].min() < tutorial["grown_accuracies"].min() - 0.03


def test_a_learned_alpha_jumps_once_and_the_ratchet_rises():
    ratchet = tutorial["alphas"]["max", 10.0]
    assert ratchet == sorted(set(ratchet))
    ends = []
    for start in (2.0, 10.0, 60.0):
        _, first, *later = tutorial["alphas"]["learned", start]
        assert first > start and max(abs(alpha - first) / first for alpha in later) < 0.1
        ends.append(later[-1])
    assert ends[1] > 2 * ends[0] and ends[2] > 2 * ends[1]
    means = [100 * mean for mean in tutorial["means"].values()]
    assert len(means) == 4 and max(means) - min(means) < 1.5
