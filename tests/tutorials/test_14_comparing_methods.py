"""The numbers and claims of tutorial 14 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.methods.npbcl_settings import Settings

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)
NAMES = ("naive", "ewc", "vcl", "npbcl")


def matrix(name, heads="one head"):
    return tutorial["matrices"][heads, name]


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_methods_train_for_as_many_epochs_at_their_own_rates():
    settings = tutorial["SETTINGS"]
    epochs = {
        name: values["epochs"] + values.get("finetune_epochs", 0)
        for name, values in settings.items()
    }
    assert set(epochs.values()) == {tutorial["EPOCHS"]} and tuple(epochs) == NAMES
    assert len({learner.settings.batch for learner in tutorial["learners"].values()}) == 1
    assert settings["vcl"]["rate"] > settings["naive"]["rate"]
    assert settings["ewc"]["weight"] == 300


def test_the_departures_from_the_paper_are_the_defaults():
    used, default = tutorial["learners"]["one head", "npbcl"].settings, Settings()
    assert used.mask_kl_weight == default.mask_kl_weight == 0.0021
    assert used.mask_link == default.mask_link == "log"
    assert used.unused_prior == default.unused_prior == "none"


def test_one_head_forgets_except_with_npbcl_and_one_head_per_task_hardly():
    for name in ("naive", "ewc", "vcl"):
        R = matrix(name)
        assert R[0, 0] - R[1, 0] > 0.2 and R[1, 0] < 0.65 and R[2, 0] - R[1, 0] > 0.1
        line = tutorial["lines"]["one head", name]
        assert line[-4] > line[3] + 0.4
    assert np.abs(matrix("npbcl")[:, 0] - matrix("npbcl")[0, 0]).max() <= 0.01
    losses = []
    for name in NAMES:
        R = matrix(name, "one head per task")
        assert abs(R[1, 0] - R[0, 0]) < 0.04
        losses.append((R[2] - np.diag(R)).min())
    assert min(losses) < -0.02


def test_ewc_has_the_lowest_average_with_one_head():
    means = {name: np.mean(matrix(name)[-1]) for name in NAMES}
    assert min(means, key=means.get) == "ewc"
    assert matrix("ewc")[2, 2] == min(matrix(name)[2, 2] for name in NAMES)


def test_with_the_wrong_mask_npbcl_is_at_chance_level():
    learner = tutorial["learners"]["one head", "npbcl"]
    assert abs(tutorial["test"](learner, tutorial["first"], 1) - 0.5) < 0.06
    assert tutorial["test"](learner, tutorial["first"], 0) > 0.95


def test_ewc_slows_the_weights_with_most_information_down_by_a_third():
    assert 0.55 < tutorial["ratios"][-1] < 0.75 and tutorial["ratios"][0] > 0.9


def test_nearly_all_means_of_vcl_move_by_less_than_a_sigma():
    assert np.mean(tutorial["moves"] < 1) > 0.97 and tutorial["moves"].size > 2000


def test_npbcl_leaves_the_connections_of_the_first_task_in_place():
    move, users = tutorial["move"], tutorial["users"]
    assert (move[users["A/B\nonly"]] == 0).all() and (move[users["neither"]] != 0).all()
    moves = tutorial["mean_moves"]
    assert moves["both"] < 0.05 * moves["E/F\nonly"]


@tutorial.holds("about 60 nats")
def test_both_predictions_are_far_too_low():
    predicted, actual = tutorial["predicted"], tutorial["actual"]
    assert predicted["ewc"] < actual["ewc"] / 1000 and predicted["vcl"] < actual["vcl"] / 2
    assert 55 < 300 * predicted["ewc"] < 65 < actual["ewc"] / 5
